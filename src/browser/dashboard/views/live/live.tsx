import { Butterfly, joinSides } from '../../parts/lists.js'
import { Mark, MarkKey } from '../../parts/marks.js'
import { PageLink, ViewLink } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Lacking } from '../../parts/states.js'
import { type Audience, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { audiences } from '../../state/question.js'
import { t } from '../../texts/index.js'
import '../../styles/live.css'
import { FeedPanel } from './feed-panel.js'
import { liveQuery } from './live-query.js'
import { Minutes, useMinutes } from './minutes.js'

const REFRESH_MS = 10_000

/** The pages that one answer lists at most. */
const MAX_PAGES = 50

/** The readers of a page that an answer does not list: none, unless its list is cut. */
const none = (now: { pages: readonly unknown[] } | undefined): number | undefined =>
  now && now.pages.length < MAX_PAGES ? 0 : undefined

const useNow = (of: Audience) => useRead('/api/stats/realtime', liveQuery(of), { every: REFRESH_MS })

type Moment = Record<Audience, ReturnType<typeof useNow>>

/** The pages that are open, of both readerships. */
const pagesOf = (now: Moment) =>
  joinSides(
    now.human.data?.pages.filter(({ people }) => people),
    now.agent.data?.pages.filter(({ agents }) => agents),
    { human: (row) => row.pathname, agent: (row) => row.pathname },
    12,
  )

/** The readers of this moment, and each read as it happens. */
export default function Live() {
  const { shell, behaviour } = t()
  const texts = behaviour.live
  const now = { human: useNow('human'), agent: useNow('agent') }
  const minutes = useMinutes(REFRESH_MS)
  const rows = pagesOf(now)
  const asked = audiences.value.map((of) => now[of])
  // Before anything is recorded, who reads now is not known: it is not 0.
  const isRecorded = asked.some(({ meta }) => meta?.recorded?.since !== undefined)
  const isEmpty = !isRecorded && asked.some(({ data }) => data !== undefined)
  const figures: Record<Audience, number | undefined> = {
    human: isRecorded ? now.human.data?.people : undefined,
    agent: isRecorded ? now.agent.data?.agents : undefined,
  }
  return (
    <Sheet title={shell.view.live}>
      <Sentence answers={asked}>
        {() => {
          const [first] = rows
          if (isEmpty) return texts.sentenceEmpty
          const counted = audiences.value.flatMap((of) => readers(of, figures[of]))
          if (counted.length > 0 && counted.every(({ n }) => n === 0)) return texts.sentenceNone
          return texts.sentence(counted, first && <PageLink path={first.key} />)
        }}
      </Sentence>
      {audiences.value.includes('human') && (
        <Now of="human" value={figures.human} under={isEmpty ? texts.notYet : texts.window} />
      )}
      <Panel
        span={audiences.value.length === 2 ? 6 : 9}
        class="minutes"
        title={texts.minutes}
        answers={audiences.value.map((of) => minutes[of])}
        right={
          <span class="legend">
            <MarkKey words={texts.bars} of={audiences.value} />
          </span>
        }
      >
        {() => <Minutes of={minutes} />}
      </Panel>
      {audiences.value.includes('agent') && (
        <Now
          of="agent"
          value={figures.agent}
          under={
            isEmpty
              ? texts.notYet
              : texts.fetchesIn(
                  minutes.fetches === undefined
                    ? undefined
                    : quantity('/api/stats/timeseries fetches', minutes.fetches),
                )
          }
        />
      )}
      <OpenPages now={now} asked={asked} />
      <FeedPanel />
    </Sheet>
  )
}

function OpenPages({ now, asked }: { now: Moment; asked: readonly Moment[Audience][] }) {
  const texts = t().behaviour.live
  const rows = pagesOf(now)
  return (
    <Panel
      span={4}
      class="open-pages"
      title={texts.open}
      answers={asked}
      empty={rows.length === 0}
      emptyText={texts.quiet}
    >
      {() => (
        <Butterfly
          head={t().overview.page}
          metrics={{ human: 'visitors', agent: 'agents' }}
          rows={rows.map(({ key, human, agent }) => ({
            key,
            label: key,
            human: human?.people ?? none(now.human.data),
            agent: agent?.agents ?? none(now.agent.data),
            filter: ['pathname', key],
            to: viewPath('pages', key),
          }))}
        />
      )}
    </Panel>
  )
}

/** The number of readers as a link to their view; nothing if it is not known. */
function readers(of: Audience, n: number | undefined) {
  if (n === undefined) return []
  const link = (text: string) => (
    <ViewLink key={of} class={of === 'human' ? 'people' : 'agents'} to={[of === 'human' ? 'visitors' : 'agents']}>
      {text}
    </ViewLink>
  )
  return [quantity(of === 'human' ? '/api/stats/realtime people' : '/api/stats/realtime agents', n, link)]
}

function Now({ of, value, under }: { of: Audience; value: number | undefined; under: string }) {
  const texts = t().behaviour.live
  return (
    <section class="cell span-3 now-figure">
      <h2>
        <Mark of={of} />
        {texts.now[of]}
      </h2>
      <Lacking of={of} />
      <p class={of === 'human' ? 'figure people' : 'figure agents'}>
        {value === undefined ? '–' : formatNumber(value)}
      </p>
      <p class="muted small">{under}</p>
    </section>
  )
}
