import { GapKey, gapColumns } from '../../charts/gap-columns.js'
import { claimedName, isOnlyClaimed, operatorName } from '../../parts/claimed-name.js'
import { pageColumn } from '../../parts/columns.js'
import { CountryTable, countryRows } from '../../parts/country-table.js'
import { DecidingLine } from '../../parts/deciding-line.js'
import { aiVisitsFoot } from '../../parts/filter-name.js'
import { RankedPanel } from '../../parts/list-panel.js'
import { Butterfly, type ButterflyRow, joinSides } from '../../parts/lists.js'
import { More, ViewLink } from '../../parts/names.js'
import { RowChange } from '../../parts/numbers.js'
import { OperatorTable } from '../../parts/operator-table.js'
import { Panel } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { DisallowedTag, SeverityTag, VerdictTag } from '../../parts/tags.js'
import { type Audience, place, viewPath } from '../../state/address.js'
import { filtersWith } from '../../state/filters.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { audiences, type Pair, useOne, usePair, useTogether } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Top pages of both readerships, and what disobeyed robots.txt. */
export function PagePanels() {
  const texts = t().overview
  const { pages, rows } = useTopPages()
  const isAgents = place.value.show !== 'human'
  return (
    <>
      <Panel
        span={isAgents ? 8 : 12}
        title={texts.topPages}
        right={<More to="pages">{texts.allPages}</More>}
        answers={audiences.value.map((of) => pages[of])}
        empty={rows.length === 0}
      >
        {() => (
          <Butterfly
            head={texts.page}
            metrics={{ human: 'pageviews', agent: 'fetches' }}
            rows={rows}
            {...(isAgents ? { tagHead: 'robots.txt' } : {})}
          />
        )}
      </Panel>
      {isAgents && <Disobeyed />}
    </>
  )
}

/** All violations of each agent and class: what the sentence and the panel of the overview add up. Lists of rules are longer. */
export const useViolationTotals = () =>
  useOne('/api/policy/violations/agents', 'agent', { compare: undefined, limit: 1_000 })

function Disobeyed() {
  const texts = t().overview
  const answer = useOne('/api/policy/violations/rules', 'agent', { limit: 6 })
  const totals = useViolationTotals()
  const rows = answer.data ?? []
  return (
    <Panel
      span={4}
      title={texts.disobeyed}
      right={<More to="violations">{t().agents.all}</More>}
      answers={[answer]}
      also={[totals]}
      empty={rows.length === 0}
      emptyText={texts.disobeyedNone}
      foot={
        totals.data &&
        rows.length > 0 &&
        texts.disobeyedFoot(
          quantity(
            '/api/policy/violations/agents fetches',
            totals.data.reduce((sum, { fetches }) => sum + fetches, 0),
          ),
        )
      }
    >
      {() => (
        <ul class="violations">
          {rows.map((row) => (
            <li key={[row.agent_id, row.severity, row.rule, row.line].join(' ')}>
              <ViewLink class="cut" to={['agents', row.agent_id]}>
                <b>{claimedName(row.name, row)}</b>{' '}
                {!isOnlyClaimed(row) && <span class="muted small">{operatorName(row.operator)}</span>}
              </ViewLink>
              <span class="amount">
                <RowChange metric="fetches" now={row.fetches} before={row.comparison?.fetches} />
                <span>{formatNumber(row.fetches)}</span>
              </span>
              <DecidingLine of={{ rule: row.rule, line: row.line }} />
              <SeverityTag of={row.severity} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

const ROWS = 10
const METRICS = { human: 'pageviews', agent: 'fetches' } as const

/**
 * The pages that either readership reads most. Each side is also asked about those that only the other one reads most, so
 * that no row lacks a number.
 */
function useTopPages(): { pages: Pair<'/api/stats/pages'>; rows: ButterflyRow[] } {
  const pages = useTogether(usePair('/api/stats/pages', { limit: ROWS }))
  const pathOf = ({ pathname }: { pathname: string }) => pathname
  const joined = joinSides(pages.human.data, pages.agent.data, { human: pathOf, agent: pathOf }, ROWS)
  const isWhole = (of: Audience) => (pages[of].meta?.total ?? 0) <= (pages[of].data?.length ?? 0)
  const others = usePair('/api/stats/pages', (of) => {
    const paths = joined.filter((row) => row[of] === undefined).map(({ key }) => key)
    if (pages[of].data === undefined || isWhole(of) || paths.length === 0) return undefined
    return { filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }), limit: ROWS }
  })
  const paths = joined.map(({ key }) => key)
  const asked = { filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }), limit: 100 }
  const isAsked = paths.length > 0 && place.value.show !== 'human'
  const violations = useOne('/api/policy/violations/pages', 'agent', { ...asked, compare: undefined }, isAsked)
  const disallowed = (path: string): number =>
    (violations.data ?? []).reduce((sum, { pathname, fetches }) => sum + (pathname === path ? fetches : 0), 0)
  const rowOf = (of: Audience, path: string) =>
    [...(pages[of].data ?? []), ...(others[of].data ?? [])].find(({ pathname }) => pathname === path)
  const numberFor = (of: Audience, path: string): number | undefined => {
    const found = rowOf(of, path)
    if (found) return found[METRICS[of]]
    return pages[of].data && (isWhole(of) || (others[of].data && !others[of].stale)) ? 0 : undefined
  }
  const rows = joined.map(({ key }) => ({
    key,
    label: key,
    human: numberFor('human', key),
    agent: numberFor('agent', key),
    before: {
      human: rowOf('human', key)?.comparison?.[METRICS.human],
      agent: rowOf('agent', key)?.comparison?.[METRICS.agent],
    },
    tag: disallowed(key) > 0 && <DisallowedTag count={disallowed(key)} />,
    filter: ['pathname', key] as const,
    to: viewPath('pages', key),
  }))
  return { pages, rows }
}

/** Agents by operator, and the citation gap. */
export function AgentPanels() {
  const isBoth = place.value.show === 'both'
  return (
    <>
      {place.value.show !== 'human' && <Operators span={isBoth ? 6 : 12} />}
      <Gap span={isBoth ? 6 : 12} />
    </>
  )
}

function Operators({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/agents/overview', 'agent')
  const rows = (answer.data?.operators ?? []).slice(0, 8)
  return (
    <Panel
      span={span}
      title={texts.operators}
      right={<More to="agents">{texts.allAgents}</More>}
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => <OperatorTable label={texts.operators} rows={rows} />}
    </Panel>
  )
}

function Gap({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/citation-gap', 'agent', { compare: undefined, limit: 8 })
  const rows = answer.data ?? []
  const most = Math.max(...rows.flatMap(({ fetches, arrivals }) => [fetches, arrivals]), 10)
  return (
    <Panel
      span={span}
      title={t().shell.view['citation-gap']}
      right={<More to="citation-gap">{texts.allPages}</More>}
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => (
        <>
          <Table
            label={t().shell.view['citation-gap']}
            rows={rows}
            rowKey={({ hostname, pathname }) => hostname + pathname}
            columns={[
              pageColumn(),
              ...gapColumns(most),
              {
                key: 'verdict',
                head: texts.verdict,
                width: '124px',
                cell: ({ verdict }) => <VerdictTag of={verdict} />,
              },
            ]}
          />
          <GapKey />
        </>
      )}
    </Panel>
  )
}

/** Sources, devices and places. */
export function PeoplePanels() {
  return (
    <>
      {place.value.show !== 'agent' && <Sources />}
      {place.value.show !== 'agent' && <Devices />}
      <Places />
    </>
  )
}

const more = (name: string, text: string) => <More to={[name]}>{text}</More>

function Sources() {
  const texts = t().overview
  const { channel } = t().parts
  const answer = useOne('/api/stats/sources', 'human')
  const assistants = (answer.data?.sources ?? []).filter((row) => row.channel === 'AI Assistants').slice(0, 6)
  const channels = (answer.data?.channels ?? []).slice(0, 6)
  return (
    <>
      <RankedPanel
        span={4}
        title={texts.aiSources}
        answer={answer}
        empty={assistants.length === 0}
        emptyText={texts.aiNone}
        foot={aiVisitsFoot()}
        of="human"
        metric="sessions"
        rows={assistants.map(({ source = t().parts.unknown, sessions, comparison }) => ({
          label: source,
          value: sessions,
          before: comparison?.sessions,
          filter: ['source', source],
        }))}
      />
      <RankedPanel
        span={4}
        title={t().shell.view.sources}
        aside={texts.visits}
        right={more('sources', t().agents.all)}
        answer={answer}
        empty={channels.length === 0}
        of="human"
        metric="sessions"
        rows={channels.map((row) => ({
          key: row.channel,
          label: channel[row.channel] ?? row.channel,
          value: row.sessions,
          before: row.comparison?.sessions,
          filter: ['channel', row.channel],
        }))}
      />
    </>
  )
}

function Devices() {
  const texts = t().overview
  const answer = useOne('/api/stats/devices', 'human')
  const rows = answer.data?.device_types ?? []
  return (
    <RankedPanel
      span={4}
      title={t().shell.view.devices}
      right={more('devices', t().agents.all)}
      answer={answer}
      of="human"
      metric="visitors"
      rows={rows.map(({ device_type, visitors, comparison }) => ({
        key: device_type ?? '',
        label: device_type === undefined ? t().parts.unknown : (t().devices.type[device_type] ?? device_type),
        value: visitors,
        before: comparison?.visitors,
        ...(device_type === undefined ? {} : { filter: ['device_type', device_type] as const }),
      }))}
      below={place.value.show === 'both' && <Absent of="agent">{texts.noDevices}</Absent>}
    />
  )
}

function Places() {
  const texts = t().overview
  const places = useTogether(usePair('/api/stats/locations', { limit: 300 }))
  const rows = countryRows(places).slice(0, 10)
  return (
    <Panel
      title={t().shell.view.places}
      right={more('places', texts.mapAndList)}
      answers={audiences.value.map((of) => places[of])}
      empty={rows.length === 0}
    >
      {() => <CountryTable rows={rows} />}
    </Panel>
  )
}
