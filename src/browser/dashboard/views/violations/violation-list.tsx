import type { ComponentProps } from 'preact'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { actColumn } from '../../parts/act-link.js'
import { TabsLine } from '../../parts/agent-side.js'
import { claimedName, isOnlyClaimed, operatorName } from '../../parts/claimed-name.js'
import { agoColumn, changeColumn, countColumn, lineColumn, pageColumn, severityColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { RowName } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import type { Column } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { place, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { envelope } from '../../state/question.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

type ByRule = DataOf<'/api/policy/violations/rules'>[number]
type ByPage = DataOf<'/api/policy/violations/pages'>[number]
type One = DataOf<'/api/policy/violations'>[number]

const REPORTS = { agents: 'policy/violations/rules', pages: 'policy/violations/pages', all: 'policy/violations' }

/** The violations by agent and rule, by page, or one row per agent, page and class. */
export function ViolationList() {
  const { own } = place.value
  const by = own.by === 'pages' || own.by === 'all' ? own.by : 'agents'
  const ask = {
    ...envelope('agent'),
    severity: own.severity || undefined,
    limit: LIMIT,
    page: pageNumber(),
  }
  const rules = useRead('/api/policy/violations/rules', by === 'agents' ? ask : undefined)
  const pages = useRead('/api/policy/violations/pages', by === 'pages' ? ask : undefined)
  const all = useRead('/api/policy/violations', by === 'all' ? ask : undefined)
  if (by === 'pages')
    return <List of={pages} by={by} rowKey={({ hostname, pathname }) => hostname + pathname} columns={pageColumns()} />
  if (by === 'all')
    return (
      <List
        of={all}
        by={by}
        rowKey={(row) => [row.agent_id, row.verified, row.severity, row.hostname, row.pathname, row.line].join(' ')}
        columns={allColumns()}
      />
    )
  return (
    <List
      of={rules}
      by={by}
      rowKey={({ agent_id, severity, rule, line }) => [agent_id, severity, rule, line].join(' ')}
      columns={ruleColumns()}
    />
  )
}

interface ListProps<Row> {
  of: ComponentProps<typeof ListPanel<Row>>['answer'] & { data?: readonly Row[] }
  by: keyof typeof REPORTS
  rowKey: (row: Row) => string
  columns: readonly Column<Row>[]
}

function List<Row>({ of, by, rowKey, columns }: ListProps<Row>) {
  const texts = t().violations
  const { severity } = place.value.own
  return (
    <ListPanel
      class="agent-rows"
      title={severity ? (t().parts.severity[severity] ?? severity) : texts.title}
      aside={t().agents.atTheTime}
      right={
        <>
          <TabsLine
            name="by"
            label={texts.by}
            tabs={[
              ['agents', texts.byAgent],
              ['pages', t().gap.byPage],
              ['all', t().agents.all],
            ]}
          />
          <ExportMenu report={REPORTS[by]} only="agent" picture={false} more={severity ? { severity } : {}} />
        </>
      }
      answer={of}
      rows={of.data ?? []}
      emptyText={place.value.filters.length > 0 || severity ? undefined : texts.none}
      skeleton={8}
      rowKey={rowKey}
      columns={columns}
      limit={LIMIT}
      foot={by === 'pages' ? undefined : `${texts.quotes}${by === 'agents' ? ` ${texts.rows}` : ''}`}
    />
  )
}

/** The line that decided, the number of fetches with its change, and the last of them. */
const evidence = () => [
  lineColumn({ phone: 'below', width: '22%' }),
  countColumn('fetches', { phone: 'end', width: '10%' }),
  changeColumn('fetches', { phone: 'below-end', width: '11%' }),
  agoColumn('last_seen', t().agents.last, { width: '11%', wide: true, rare: true }),
]

/** The name of an agent and its operator, which is not named if the fetches may be of another client. */
const agentName = (name: string, row: Pick<One, 'agent_id' | 'operator' | 'severity'> & { verified?: boolean }) => (
  <span class="row-name">
    <RowName label={claimedName(name, row)} filter={['agent_id', row.agent_id]} to={viewPath('agents', row.agent_id)} />
    {!isOnlyClaimed(row) && <span class="muted small cut">{operatorName(row.operator)}</span>}
  </span>
)

/** A new rule about the agent of a row, and the evidence about it. */
const linksColumn = <R extends { agent_id: string }>(nameOf: (row: R) => string) =>
  actColumn<R>(
    (row) => ({ name: nameOf(row), agents: row.agent_id, disallowed: 'yes' }),
    ({ agent_id }) => agent_id,
  )

const ruleColumns = (): Column<ByRule>[] => [
  { key: 'agent', head: t().agents.agent, cell: (row) => agentName(row.name, row) },
  severityColumn({ phone: 'beside', width: '15%' }),
  countColumn('urls', { width: '9%' }, t().violations.pages),
  ...evidence(),
  ...linksColumn<ByRule>(({ name }) => name),
]

const pageColumns = (): Column<ByPage>[] => [
  pageColumn(),
  {
    key: 'class',
    head: t().agents.class,
    width: '22%',
    phone: 'third',
    cell: ({ severities, severity }) => (
      <span class="tags">
        {Object.entries(severities)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => (
            <SeverityTag key={name} of={name} count={count} />
          ))}
        {Object.values(severities).every((count) => count === 0) && <SeverityTag of={severity} />}
      </span>
    ),
  },
  countColumn('agents', { width: '8%' }),
  ...evidence(),
]

const allColumns = (): Column<One>[] => [
  { key: 'agent', head: t().agents.agent, cell: (row) => agentName(row.agent_id, row) },
  pageColumn(t().overview.page, { phone: 'third', width: '22%' }),
  severityColumn({ phone: 'beside', width: '12%' }),
  ...evidence(),
  ...linksColumn<One>(({ agent_id }) => agent_id),
]
