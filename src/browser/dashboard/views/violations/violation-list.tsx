import type { ComponentProps } from 'preact'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { TabsLine } from '../../parts/agent-side.js'
import { agoColumn, countColumn, lineColumn, pageColumn, severityColumn } from '../../parts/columns.js'
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

type ByAgent = DataOf<'/api/policy/violations/agents'>[number]
type ByPage = DataOf<'/api/policy/violations/pages'>[number]
type One = DataOf<'/api/policy/violations'>[number]

const REPORTS = { agents: 'policy/violations/agents', pages: 'policy/violations/pages', all: 'policy/violations' }

/** The violations by agent, by page, or one row per agent, page and class. */
export function ViolationList() {
  const { own } = place.value
  const by = own.by === 'pages' || own.by === 'all' ? own.by : 'agents'
  const ask = {
    ...envelope('agent'),
    compare: undefined,
    severity: own.severity || undefined,
    limit: LIMIT,
    page: pageNumber(),
  }
  const agents = useRead('/api/policy/violations/agents', by === 'agents' ? ask : undefined)
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
    <List of={agents} by={by} rowKey={({ agent_id, severity }) => `${agent_id} ${severity}`} columns={agentColumns()} />
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
    />
  )
}

/** The line that decided, the number of fetches and the last of them. */
const evidence = () => [
  lineColumn({ wide: true, width: '22%' }),
  countColumn('fetches', { width: '10%' }),
  agoColumn('last_seen', t().agents.last, { width: '11%', wide: true }),
]

const agentName = (name: string, agent: string, operator: string | undefined) => (
  <span class="row-name">
    <RowName label={name} filter={['agent_id', agent]} to={viewPath('agents', agent)} />
    {operator !== undefined && <span class="muted small cut">{operator}</span>}
  </span>
)

const agentColumns = (): Column<ByAgent>[] => [
  {
    key: 'agent',
    head: t().agents.agent,
    cell: ({ agent_id, name, operator }) => agentName(name, agent_id, operator),
  },
  severityColumn({ width: '20%' }),
  countColumn('urls', { width: '9%', wide: true }, t().violations.pages),
  ...evidence(),
]

const pageColumns = (): Column<ByPage>[] => [
  pageColumn(),
  {
    key: 'class',
    head: t().agents.class,
    width: '26%',
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
  countColumn('agents', { width: '8%', wide: true }),
  ...evidence(),
]

const allColumns = (): Column<One>[] => [
  { key: 'agent', head: t().agents.agent, cell: ({ agent_id, operator }) => agentName(agent_id, agent_id, operator) },
  pageColumn(t().overview.page, { width: '22%' }),
  severityColumn({ wide: true, width: '12%' }),
  ...evidence(),
]
