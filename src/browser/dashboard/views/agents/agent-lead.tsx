import type { DataOf } from '../../client/index.js'
import { Sentence } from '../../parts/panel.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { formatAgo, formatInstant, formatLongDay, formatNumber, formatSeconds } from '../../state/format.js'
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

/**
 * Says when the agent read the active robots.txt, and how often it fetched what that forbids: since the change if it has read it
 * since, else in the whole window, as the fetches beside it.
 */
export function AgentLead({ id, name, row, found, lanes: { versions, violations } }: LeadProps) {
  const texts = t().agents
  const current = versions.data?.find(({ kind }) => kind === 'robots')
  const read = firstRead(current)
  const window = found.meta?.query
  const from = typeof window?.start === 'string' ? Date.parse(window.start) : undefined
  const isSince = current && read !== undefined && from !== undefined && Date.parse(current.since) > from
  const since = useRead(
    '/api/policy/violations/agents',
    isSince && obstacle('agent') === undefined
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
    <Sentence answers={[found]} also={[versions, isSince ? since : violations]}>
      {() => {
        if (row === undefined) return texts.leadNone(whenText(), name)
        const rows = (isSince ? since : violations).data
        const count = (of: typeof rows = []) => of.reduce((sum, { fetches }) => sum + fetches, 0)
        const forbidden = rows && (
          <a
            class={rows[0]?.severity === 'breach' ? 'alert' : ''}
            href={hrefTo({
              path: viewPath('violations'),
              filters: [...place.value.filters, { dimension: 'agent_id', op: 'is', value: id }],
            })}
          >
            {texts.forbidden(count(rows))}
          </a>
        )
        // Fetches that may be of another client do not accuse the agent.
        const others = count(rows?.filter(({ severity }) => severity === 'unverified'))
        const times = quantity('/api/agents/breakdown fetches', row.fetches ?? 0)
        const lead = () => {
          if (current?.agents === undefined) return texts.leadPlain(whenText(), name, times, forbidden)
          if (read === undefined) return texts.leadUnread(name, formatLongDay(current.since), times, forbidden)
          if (!isSince) {
            const last = current.agents[0]?.last_read
            return texts.leadRead(name, last === undefined ? '' : formatAgo(last), times, forbidden)
          }
          const delay = formatSeconds((Date.parse(read) - Date.parse(current.since)) / 1_000)
          const day = <span title={formatInstant(current.since)}>{formatLongDay(current.since)}</span>
          return texts.leadChanged(<b>{delay}</b>, day, forbidden)
        }
        return [...lead(), others > 0 && texts.unverified(formatNumber(others))]
      }}
    </Sentence>
  )
}
