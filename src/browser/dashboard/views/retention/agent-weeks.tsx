import type { DataOf } from '../../client/index.js'
import { claimedName } from '../../parts/claimed-name.js'
import { Mark } from '../../parts/marks.js'
import { RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { place, viewPath } from '../../state/address.js'
import { formatBucket, formatNumber } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'
import type { Unit } from './cohort-table.js'

type Series = DataOf<'/api/agents/timeseries'>['series'][number]

const DAY_MS = 86_400_000
const MAX_AGENTS = 10

interface When {
  range: string
  start?: string
  end?: string
}

const daysOf = ({ start, end }: When): number | undefined =>
  start === undefined || end === undefined ? undefined : (Date.parse(end) - Date.parse(start)) / DAY_MS

/** Whether the window has so few weeks that a quarter of the sheet shows all of them. */
export function hasFewWeeks(when: When): boolean {
  const days = daysOf(when)
  return days === undefined ? when.range === '30d' : days > 14 && days <= 31
}

/** Weeks, or what fits on a screen where the window is short or long. */
function unitOf(when: When): Unit {
  const { range } = when
  const days = daysOf(when)
  if (days !== undefined) return days <= 14 ? 'day' : days <= 120 ? 'week' : 'month'
  if (['today', 'yesterday', '24h', '7d'].includes(range)) return 'day'
  return ['12mo', 'ytd', 'all'].includes(range) ? 'month' : 'week'
}

/** The weeks in which each of the agents that fetch most fetched at all. Agents have names and no ids, so nothing is unknown. */
export function AgentWeeks({ span }: { span: 3 | 5 | 12 }) {
  const texts = t().retention
  const granularity = unitOf(place.value)
  const answer = useOne('/api/agents/timeseries', 'agent', { compare: undefined, granularity, limit: MAX_AGENTS })
  const series = (answer.data?.series ?? []).filter(
    ({ operator, buckets }) => operator !== undefined && buckets.length > 0,
  )
  return (
    <Panel
      span={span}
      title={
        <span class="marked">
          <Mark of="agent" />
          {texts.agentsTitle}
        </span>
      }
      aside={texts.agentsAside[granularity]}
      answers={[answer]}
      empty={series.length === 0}
      skeleton={10}
      foot={texts.agentsFoot}
    >
      {() => <Weeks series={series} unit={granularity} />}
    </Panel>
  )
}

function Weeks({ series, unit }: { series: readonly Series[]; unit: Unit }) {
  const texts = t().retention
  // Leaves out the weeks before anything was recorded.
  const from = Math.max(0, series[0]?.buckets.findIndex(({ value }) => value !== undefined) ?? 0)
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={texts.agentsTitle}>
      <table class="agent-weeks">
        <thead>
          <tr>
            <th scope="col">{t().agents.agent}</th>
            {series[0]?.buckets.slice(from).map(({ t: at }) => (
              <th scope="col" key={at}>
                {formatBucket(at, unit)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map((agent) => (
            <tr key={agent.agent_id}>
              <th scope="row">
                <RowName label={claimedName(agent.name, agent)} to={viewPath('agents', agent.agent_id)} />
              </th>
              {agent.buckets.slice(from).map(({ t: at, value }) => (
                <td key={at} class={value === undefined ? 'unknown' : ''} title={titleOf(value)}>
                  <span class="visually-hidden">{titleOf(value)}</span>
                  {value !== undefined && (
                    <span class={value > 0 ? 'agent-mark' : 'agent-mark hollow'} aria-hidden="true" />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const titleOf = (value: number | undefined): string =>
  value === undefined ? t().parts.notRecorded : value === 0 ? t().retention.didNot : formatNumber(value)
