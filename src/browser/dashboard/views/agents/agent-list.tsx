import { ExportMenu } from '../../charts/export-menu.js'
import { SparkBars } from '../../charts/spark-bars.js'
import type { DataOf } from '../../client/index.js'
import { TabsLine } from '../../parts/agent-side.js'
import { claimedName, operatorName } from '../../parts/claimed-name.js'
import { agoColumn, changeColumn, countColumn } from '../../parts/columns.js'
import { IdentityText } from '../../parts/identity.js'
import { RowName } from '../../parts/names.js'
import { Paging, pageNumber } from '../../parts/paging.js'
import { Panel } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { type FilterNode, place, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { interval } from '../../state/interval.js'
import { envelope, useOne } from '../../state/question.js'
import { windowName } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { PURPOSE_TABS } from './agents-sentence.js'

const LIMIT = 25

type AgentRow = DataOf<'/api/agents/breakdown'>[number]
type Series = DataOf<'/api/agents/timeseries'>['series'][number]
type Disobeyed = DataOf<'/api/policy/violations/agents'>[number]

/** The filter of the chosen purpose. */
function purposeFilter(): FilterNode[] {
  const { purpose } = place.value.own
  if (purpose === undefined || purpose === '') return []
  return purpose === 'other'
    ? [{ dimension: 'purpose', op: 'is_not', value: PURPOSE_TABS }]
    : [{ dimension: 'purpose', op: 'is', value: purpose }]
}

/** Every agent with its fetches over time on its own scale, its identity, and the worst that it ignored. */
export function AgentList() {
  const texts = t().agents
  const agents = useOne('/api/agents/breakdown', 'agent', {
    filters: filtersWith(...purposeFilter()),
    dimension: 'agent_id',
    limit: LIMIT,
    page: pageNumber(),
  })
  const rows = agents.data ?? []
  const ids = rows.map(({ value }) => `${value}`)
  const shown = { filters: filtersWith({ dimension: 'agent_id', op: 'is', value: ids }), compare: undefined }
  const asks = ids.length > 0 ? { ...envelope('agent'), ...shown } : undefined
  const series = useRead('/api/agents/timeseries', asks && { ...asks, limit: LIMIT, granularity: interval.value })
  const disobeyed = useRead('/api/policy/violations/agents', asks && { ...asks, limit: LIMIT * 4 })
  return (
    <Panel
      title={t().shell.view.agents}
      aside={agents.meta?.total === undefined ? '' : texts.seen(agents.meta.total)}
      right={
        <>
          <TabsLine
            name="purpose"
            label={texts.purpose}
            tabs={[
              ['', texts.all],
              ...PURPOSE_TABS.map((name) => [name, t().parts.purpose[name] ?? name] as const),
              ['other', t().agents.other],
            ]}
          />
          <ExportMenu report="agents/breakdown" more={{ dimension: 'agent_id' }} only="agent" picture={false} />
        </>
      }
      class="of-rows"
      answers={[agents]}
      also={[series, disobeyed]}
      empty={rows.length === 0}
      emptyText={place.value.filters.length > 0 ? undefined : texts.none}
      skeleton={8}
    >
      {() => (
        <div class="agent-rows">
          <Table
            label={t().shell.view.agents}
            rows={rows}
            rowKey={({ value }) => `${value}`}
            columns={columns(series.data?.series ?? [], disobeyed.data)}
          />
          <Paging total={agents.meta?.total} limit={LIMIT} />
          <Warnings of={[series.meta]} />
        </div>
      )}
    </Panel>
  )
}

function columns(series: readonly Series[], disobeyed: readonly Disobeyed[] | undefined): Column<AgentRow>[] {
  const texts = t().agents
  const worst = (id: string) => disobeyed?.find(({ agent_id }) => agent_id === id)
  return [
    {
      key: 'agent',
      head: texts.agent,
      cell: ({ value, name, operator, ...row }) => (
        <span class="row-name">
          <RowName
            label={claimedName(name ?? `${value}`, row)}
            filter={['agent_id', `${value}`]}
            to={viewPath('agents', `${value}`)}
          />
          {operator !== undefined && !operator.startsWith(name ?? operator) && (
            <span class="muted small cut">{operatorName(operator)}</span>
          )}
        </span>
      ),
    },
    {
      key: 'purpose',
      head: texts.purpose,
      rare: true,
      width: '10%',
      cell: ({ purpose }) => (purpose === undefined ? '' : (t().parts.purpose[purpose] ?? purpose)),
    },
    {
      key: 'time',
      head: texts.ownScale(windowName()),
      phone: 'trend',
      width: '15%',
      cell: ({ value, name }) => {
        const own = series.find(({ agent_id }) => agent_id === `${value}`)
        return own && <SparkBars label={texts.barsOf(name ?? `${value}`)} buckets={own.buckets} />
      },
    },
    countColumn('fetches', { phone: 'end', width: '7%' }),
    changeColumn('fetches', { phone: 'below-end', width: '9%' }),
    {
      key: 'identity',
      head: t().agents.identityHead,
      phone: 'below',
      width: '20%',
      cell: (row) => <IdentityText of={row} />,
    },
    {
      key: 'robots',
      head: 'robots.txt',
      phone: 'beside',
      width: '132px',
      cell: ({ value }) => {
        const found = worst(`${value}`)
        if (found) return <SeverityTag of={found.severity} count={found.fetches} />
        return disobeyed && <span class="muted small">{texts.nothingForbidden}</span>
      },
    },
    agoColumn('last_seen', texts.lastRead, { width: '96px' }),
  ]
}
