import type { DataOf } from '../../client/index.js'
import { Sentence } from '../../parts/panel.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { formatAgo, formatInstant, formatLongDay, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, obstacle } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { firstRead, type Lanes } from './agent-history.js'
import { ArrivalsSentence } from './agents-sentence.js'

interface LeadProps {
  id: string
  name: string
  row: DataOf<'/api/agents/breakdown'>[number] | undefined
  found: Result<'/api/agents/breakdown'>
  lanes: Lanes
}

/** Says when the agent read the active robots.txt, and how often it fetched what that forbids since. */
export function AgentLead({ id, name, row, found, lanes: { versions, violations } }: LeadProps) {
  const texts = t().agents
  const current = versions.data?.find(({ kind }) => kind === 'robots')
  const window = found.meta?.query
  const from = typeof window?.start === 'string' ? Date.parse(window.start) : undefined
  const changed = current !== undefined && from !== undefined && Date.parse(current.since) > from
  const since = useRead(
    '/api/policy/violations/agents',
    changed && obstacle('agent') === undefined
      ? {
          ...envelope('agent'),
          filters: filtersWith({ dimension: 'agent_id', op: 'is', value: id }),
          range: undefined,
          compare: undefined,
          start: current.since,
          end: typeof window?.end === 'string' ? window.end : undefined,
        }
      : undefined,
  )
  if (place.value.show === 'human') return <ArrivalsSentence />
  return (
    <Sentence answers={[found]} also={[versions, changed ? since : violations]}>
      {() => {
        if (row === undefined) return texts.leadNone(whenText(), name)
        const rows = (changed ? since : violations).data
        const count = (isOwn: boolean) =>
          (rows ?? []).reduce((sum, row) => sum + ((row.severity !== 'unverified') === isOwn ? row.fetches : 0), 0)
        const fetches = count(true)
        const forbidden = rows && (
          <a
            class={rows[0]?.severity === 'breach' ? 'alert' : ''}
            href={hrefTo({
              path: viewPath('violations'),
              filters: [...place.value.filters, { dimension: 'agent_id', op: 'is', value: id }],
            })}
          >
            {texts.forbidden(fetches)}
          </a>
        )
        const others = count(false)
        // Fetches that may be of another client do not accuse the agent.
        const underItsName = others > 0 ? texts.underItsName(texts.forbidden(others), changed) : ''
        const times = quantity('/api/agents/breakdown fetches', row.fetches ?? 0)
        const lead = () => {
          if (current?.agents === undefined) return texts.leadPlain(whenText(), name, times, forbidden)
          const read = firstRead(current)
          if (read === undefined) return texts.leadUnread(name, formatLongDay(current.since), times, forbidden, changed)
          if (!changed) {
            const last = current.agents[0]?.last_read
            return texts.leadRead(name, last === undefined ? '' : formatAgo(last), times, forbidden)
          }
          const delay = formatSeconds((Date.parse(read) - Date.parse(current.since)) / 1_000)
          const day = <span title={formatInstant(current.since)}>{formatLongDay(current.since)}</span>
          return texts.leadChanged(<b>{delay}</b>, day, forbidden)
        }
        return [...lead(), underItsName]
      }}
    </Sentence>
  )
}
