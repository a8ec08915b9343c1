import { useEffect, useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { claimedName } from '../../parts/claimed-name.js'
import { describeFilter } from '../../parts/filter-name.js'
import { Icon, Mark } from '../../parts/marks.js'
import { PageName, RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Absent, Failed } from '../../parts/states.js'
import { place, viewPath } from '../../state/address.js'
import { addressOf, useRead } from '../../state/data.js'
import { formatClock, formatCountry, formatMilliseconds } from '../../state/format.js'
import { obstacle, siteQuery } from '../../state/question.js'
import { onKey } from '../../state/view-keys.js'
import { t } from '../../texts/index.js'
import { type FeedRow, splitFilters, useFeed } from './feed.js'

/** The address of the stream for what is on screen; undefined if no readership has all filters. */
function feedAddress(): string | undefined {
  const { show, segment, suspected } = place.value
  const { followed } = splitFilters()
  const sides = (['human', 'agent'] as const).filter(
    (of) => (show === 'both' || show === of) && obstacle(of) === undefined,
  )
  if (sides.length === 0 || siteQuery.value.site === undefined) return undefined
  return addressOf('/api/stats/realtime/stream', {
    ...siteQuery.value,
    audience: sides.length === 2 ? 'all' : sides[0],
    filters: followed.length > 0 ? JSON.stringify(followed) : undefined,
    segment,
    suspected: sides.includes('human') ? suspected : undefined,
  })
}

/** The names of agents by their ids. */
function useAgentNames(): ReadonlyMap<string, string> {
  const isAsked = place.value.show !== 'human' && siteQuery.value.site !== undefined
  const { data } = useRead(
    '/api/agents/catalog',
    isAsked ? { ...siteQuery.value, range: '24h', limit: 1_000 } : undefined,
  )
  return new Map(data?.map(({ agent_id, name }) => [agent_id, name]))
}

/** Rows as they are stored, newest first. Space or the button pauses. */
export function FeedPanel() {
  const texts = t().behaviour.live
  const feed = useFeed(feedAddress())
  const names = useAgentNames()
  const [since] = useState(() => Date.now())
  const paused = feed.held !== undefined
  const { setPaused } = feed
  useEffect(() => onKey(' ', () => setPaused(!paused)), [paused])
  const rows = feed.held?.rows ?? feed.rows
  const waiting = feed.held ? feed.total - feed.held.total : 0
  const { left } = splitFilters()
  return (
    <Panel
      span={8}
      class="feed"
      title={texts.feed}
      aside={texts.since(feed.total, formatClock(since))}
      right={
        <>
          <span class={`connection ${feed.connection}`} role="status">
            <span class="dot" aria-hidden="true" />
            {paused ? texts.paused(waiting) : texts.connection[feed.connection]}
          </span>
          <LinkButton aria-pressed={paused} onClick={() => setPaused(!paused)}>
            {paused ? texts.resume : texts.pause} <kbd>{texts.space}</kbd>
          </LinkButton>
        </>
      }
      foot={feed.missed > 0 && texts.missed(feed.missed)}
    >
      {() => (
        <>
          {left.length > 0 && <Absent>{texts.leftOut(left.map(describeFilter).join('; '))}</Absent>}
          {place.value.suspected !== undefined && place.value.show !== 'agent' && (
            <Absent>{texts.withoutSuspected}</Absent>
          )}
          {feed.connection === 'refused' && feed.problem ? (
            <Failed problem={feed.problem} retry={feed.retry} />
          ) : rows.length === 0 ? (
            <div class="state">
              <p>{texts.waiting}</p>
            </div>
          ) : (
            <FeedTable rows={rows} names={names} />
          )}
        </>
      )}
    </Panel>
  )
}

function FeedTable({ rows, names }: { rows: readonly FeedRow[]; names: ReadonlyMap<string, string> }) {
  const texts = t().behaviour.live
  return (
    <div class="feed-rows" aria-live="off" tabIndex={0} role="group" aria-label={texts.feed}>
      <table class="fixed feed-table">
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            <th scope="col">{texts.reader}</th>
            <th scope="col">{t().overview.page}</th>
            <th scope="col" class="wide">
              {texts.identity}
            </th>
            <th scope="col" class="right-align wide">
              {t().coverage.status}
            </th>
            <th scope="col" class="right-align wide">
              {texts.took}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td class="mono muted">{formatClock(row.t)}</td>
              <th scope="row">
                <span class="row-name">
                  <Mark of={row.audience} />
                  <Reader row={row} names={names} />
                </span>
              </th>
              <td class="mono page">
                <PageName path={row.pathname} />
                <span class="narrow">
                  <About row={row} />
                </span>
              </td>
              <td class="wide">
                <About row={row} />
              </td>
              <td class="right-align wide">{row.status}</td>
              <td class="right-align wide muted">
                {row.duration_ms === undefined ? '' : formatMilliseconds(row.duration_ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The reader: browser and country of a person, the name of an agent; in quotes if it is not who it says. */
function Reader({ row, names }: { row: FeedRow; names: ReadonlyMap<string, string> }) {
  const { live } = t().behaviour
  if (row.audience === 'human') {
    const words = [row.browser, row.country === undefined ? undefined : formatCountry(row.country)].filter(Boolean)
    return (
      <span class="cut" dir="auto">
        {words.length > 0 ? words.join(', ') : live.person}
      </span>
    )
  }
  if (row.agent_id === undefined) return <span class="cut">{live.agent}</span>
  const name = names.get(row.agent_id) ?? row.agent_id
  return (
    <RowName label={claimedName(name, row)} filter={['agent_id', row.agent_id]} to={viewPath('agents', row.agent_id)} />
  )
}

/** Known of the reader of a row: where a person came from, or whether an agent is who it says. */
const About = ({ row }: { row: FeedRow }) => (row.audience === 'human' ? <Origin row={row} /> : <Finding row={row} />)

/** A finding about an agent's fetch: a broken rule first, then whether it is who it says. */
function Finding({ row }: { row: FeedRow }) {
  const { parts, behaviour } = t()
  if (row.severity !== undefined)
    return (
      <span class={row.severity === 'breach' ? 'tag alert' : 'tag'} title={parts.severityMeaning[row.severity]}>
        <Icon name="noEntry" />
        {row.severity === 'breach' ? behaviour.live.breach(row.line) : behaviour.live.disallowed(row.line)}
      </span>
    )
  if (row.verification === 'spoofed')
    return (
      <span class="alert">
        <Icon name="close" /> {behaviour.live.spoofed}
      </span>
    )
  if (row.verified)
    return (
      <span class="muted wide">
        <span class="agents">
          <Icon name="check" />
        </span>{' '}
        {t().agents.verified}
      </span>
    )
  const why = row.verification === 'indeterminate' ? 'indeterminate' : 'unverifiable'
  return <span class="cut muted wide">{parts.verification[why]}</span>
}

/** The source of a person's visit, or the person's act if it was not reading. */
function Origin({ row }: { row: FeedRow }) {
  const { parts, behaviour } = t()
  const from = row.source ?? (row.channel && (parts.channel[row.channel] ?? row.channel))
  const act = row.kind === 'custom' ? (row.event_name ?? row.kind) : row.kind === 'pageview' ? undefined : row.kind
  if (act !== undefined)
    return (
      <span class="cut muted" dir="auto">
        {behaviour.events.kind[act] ?? act}
      </span>
    )
  return from === undefined ? (
    <span class="muted">–</span>
  ) : (
    <span class="cut muted" dir="auto">
      {behaviour.live.from(from)}
    </span>
  )
}
