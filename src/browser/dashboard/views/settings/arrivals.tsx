import type { ComponentChildren } from 'preact'
import { claimedName, OTHER } from '../../parts/claimed-name.js'
import { Icon } from '../../parts/marks.js'
import { Cut, PageLink } from '../../parts/names.js'
import { addressOf, useRead } from '../../state/data.js'
import { formatClock } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { type FeedRow, useFeed } from '../live/feed.js'

/** Milliseconds between questions about the script. */
const SCRIPT_MS = 5_000

interface ArrivalsProps {
  /** Whether rows of either readership are stored; the feed alone has only the latest. */
  hasPeople: boolean
  hasAgents: boolean
}

/** An agent, a person and the script, each as it is seen; the latest row of the feed as it comes. */
export function Arrivals({ hasPeople, hasAgents }: ArrivalsProps) {
  const texts = t().firstRun.arrivals
  const { rows } = useFeed(addressOf('/api/stats/realtime/stream', { ...siteQuery.value, audience: 'all' }))
  const agent = rows.find(({ audience }) => audience === 'agent')
  const person = rows.find(({ audience }) => audience === 'human')
  const names = useRead('/api/agents/catalog', agent && { ...siteQuery.value, range: '24h', limit: 1_000 })
  const entry = names.data?.find(({ agent_id }) => agent_id === agent?.agent_id)
  const name =
    agent?.agent_id === undefined || agent.agent_id === OTHER
      ? undefined
      : claimedName(entry?.name ?? agent.agent_id, agent)
  // The script has no row of its own in the feed, but it alone reports the width of screens.
  const devices = useRead(
    '/api/stats/devices',
    { ...siteQuery.value, range: '24h', audience: 'human' },
    { every: SCRIPT_MS },
  )
  const hasScript = devices.data?.screen_classes?.some(({ screen_class }) => screen_class !== undefined) === true
  return (
    <ul class="arrivals">
      <Arrival isSeen={hasAgents || agent !== undefined} words={texts.agent} name={name}>
        {agent && <Request row={agent} />}
        {agent?.verification === 'spoofed' && texts.spoofed}
      </Arrival>
      <Arrival isSeen={hasPeople || person !== undefined} words={texts.person}>
        {person && <Request row={person} />}
      </Arrival>
      <Arrival isSeen={hasScript} words={texts.script}>
        {!hasScript && texts.needsScript}
      </Arrival>
    </ul>
  )
}

interface ArrivalProps {
  isSeen: boolean
  words: { seen: string; waiting: string }
  name?: string | undefined
  children: ComponentChildren
}

const Arrival = ({ isSeen, words, name, children }: ArrivalProps) => (
  <li>
    {isSeen ? <Icon name="check" /> : <span class="pulse" />}
    <span>
      <b>
        {isSeen ? words.seen : words.waiting}
        {name !== undefined && (
          <>
            {': '}
            <Cut text={name} />
          </>
        )}
      </b>
      <span class="muted">{children}</span>
    </span>
  </li>
)

/** When a row came, and for which page. */
function Request({ row: { t: at, pathname, status } }: { row: FeedRow }) {
  return (
    <>
      {formatClock(at)}, <PageLink path={pathname} />
      {status !== undefined && `, ${status}`}.{' '}
    </>
  )
}
