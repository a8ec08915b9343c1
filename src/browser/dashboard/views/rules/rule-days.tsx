import { useRef } from 'preact/hooks'
import { NoteLane } from '../../charts/note-lane.js'
import { useNotes } from '../../charts/notes.js'
import { bucketEdges, niceTop, ticks, timeScale } from '../../charts/scale.js'
import { useWidth } from '../../charts/width.js'
import { formatDay, formatShort } from '../../state/format.js'
import type { Rehearsal } from '../../state/rules.js'
import { timeZone } from '../../state/session.js'
import { instantOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'

/** Numbers of one day. `readers`: people who came from the operators of a rule. */
interface RuleDay {
  day: string
  fetches: number
  refused: number
  would: number
  readers?: number
}

interface RuleDaysProps {
  of: Rehearsal
  days: readonly RuleDay[]
  /** Draws people above the axis, and fetches below it. */
  hasReaders?: boolean
}

const BARS = 170
const READERS = 76
const TOP = 24
const LEFT = 46

/** Fetches by day: what passed, what was refused (solid), and what would have been (dashed). Long because both sides share an axis. */
export function RuleDays({ of, days, hasReaders = false }: RuleDaysProps) {
  const { rules: texts, units } = t()
  const box = useRef<HTMLElement>(null)
  const width = useWidth(box)
  const instants = days.map(({ day }) => instantOf(`${day}T00:00`, timeZone.value))
  const edges = bucketEdges(
    instants.map((at) => ({ t: new Date(at).toISOString() })),
    'day',
  )
  const [first = 0, last = 0] = [edges[0], edges.at(-1)]
  const notes = useNotes({ start: new Date(first).toISOString(), end: new Date(last).toISOString() })
  const scale = timeScale(edges, LEFT, Math.max(LEFT + 1, width))
  const axis = TOP + (hasReaders ? READERS + 16 : BARS)
  const bottom = axis + (hasReaders ? BARS : 0)
  const most = niceTop(days.map(({ fetches }) => fetches))
  const mostReaders = niceTop(days.map(({ readers }) => readers))
  /** The y of a number of fetches, which grow away from the axis. */
  const yOf = (fetches: number) => axis + (hasReaders ? 1 : -1) * (fetches / most) * BARS
  const part = (i: number, from: number, to: number, kind: string) => {
    const [left, right] = [scale.at(edges[i] ?? 0) + 1, scale.at(edges[i + 1] ?? 0) - 1]
    const [top, end] = [yOf(from), yOf(to)].sort((a, b) => a - b)
    const [y = 0, height = 0] = [top, (end ?? 0) - (top ?? 0)]
    return height > 0 && <rect class={kind} x={left} width={Math.max(1, right - left)} y={y} height={height} />
  }
  const words = (all: number, refused: number, would: number) =>
    texts.chart(units.fetches(all), formatShort(refused), formatShort(would))
  const sum = (field: 'fetches' | 'refused' | 'would') => days.reduce((total, day) => total + day[field], 0)
  const foot = TOP + READERS
  const line = days
    .map(({ readers = 0 }, i) => `${scale.middle(i)} ${foot - (READERS * readers) / mostReaders}`)
    .join('L')
  const gaps = of.limits.filter(({ kind }) => kind === 'not_recorded')
  return (
    <figure ref={box} class="rule-days">
      <svg
        class="chart"
        height={bottom + 44}
        role={hasReaders ? 'img' : 'group'}
        aria-label={words(sum('fetches'), sum('refused'), sum('would'))}
      >
        {gaps.map(({ from = '', to = '' }) => {
          const [x = 0, end = 0] = [Math.max(first, Date.parse(from)), Math.min(last, Date.parse(to))].map(scale.at)
          const size = { x, width: Math.max(0, end - x), y: TOP, height: bottom - TOP }
          return <rect key={from} {...size} fill="url(#hatch)" />
        })}
        <text y={hasReaders ? axis + 12 : 12}>{texts.fetchesAxis}</text>
        {[0.5, 1].map((share) => (
          <g key={share}>
            <path d={`M${LEFT} ${yOf(most * share)}H${width}`} stroke="var(--rule)" />
            <text y={yOf(most * share) + 4}>{formatShort(most * share)}</text>
          </g>
        ))}
        {days.map(({ day, fetches, refused, would }, i) => (
          <g key={day}>
            <title>{`${formatDay(day)}: ${words(fetches, refused, would)}`}</title>
            {part(i, 0, fetches - Math.max(would, refused), 'passed')}
            {part(i, fetches - Math.max(would, refused), fetches - refused, 'would')}
            {part(i, fetches - refused, fetches, 'refused')}
          </g>
        ))}
        <path d={`M${LEFT} ${axis}H${width}`} stroke="var(--line)" />
        {hasReaders && (
          <>
            <text y="12">{texts.readersAxis}</text>
            <text y={TOP + 8}>{formatShort(mostReaders)}</text>
            <path class="readers" d={`M${scale.middle(0)} ${foot}L${line}L${scale.middle(days.length - 1)} ${foot}`} />
          </>
        )}
        {ticks(scale, 'day', 70).map(({ x, text, anchor }) => (
          <text key={text} x={x} y={bottom + 18} text-anchor={anchor}>
            {text}
          </text>
        ))}
        {!hasReaders && (
          <NoteLane notes={notes} scale={scale} top={TOP} y={bottom + 38} open={undefined} onOpen={undefined} />
        )}
      </svg>
    </figure>
  )
}
