import { useEffect, useRef, useState } from 'preact/hooks'
import { niceTop } from '../../charts/scale.js'
import { useWidth } from '../../charts/width.js'
import type { DataOf } from '../../client/index.js'
import type { Audience } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { formatTime } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { audiences } from '../../state/question.js'
import { MINUTE_MS } from '../../state/time-units.js'
import { whileVisible } from '../../state/visible.js'
import { t } from '../../texts/index.js'
import { liveQuery } from './live-query.js'

const MINUTES = 30
const METRICS = { human: 'visitors', agent: 'fetches' } as const

type Series = Result<'/api/stats/timeseries'>

const thisMinute = (): number => Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS

/** The last 30 minutes of the readerships on screen; `fetches` is how often agents fetched in them, if it is known. */
export function useMinutes(every: number): Record<Audience, Series> & { fetches: number | undefined } {
  const [minute, setMinute] = useState(thisMinute)
  useEffect(() => whileVisible(every, () => setMinute(thisMinute())), [every])
  const human = useSide('human', minute, every)
  const agent = useSide('agent', minute, every)
  const fetches = agent.data?.buckets.reduce((sum, { value }) => sum + (value ?? 0), 0)
  return { human, agent, fetches }
}

function useSide(of: Audience, minute: number, every: number): Series {
  const query = liveQuery(of)
  const window = {
    start: new Date(minute - (MINUTES - 1) * MINUTE_MS).toISOString(),
    end: new Date(minute + MINUTE_MS).toISOString(),
    granularity: 'minute',
    metric: METRICS[of],
  }
  return useRead('/api/stats/timeseries', query && { ...query, ...window }, { every })
}

/** The readers of one minute. */
const wordsOf = (side: Audience, n: number): string =>
  quantity(side === 'human' ? '/api/stats/realtime people' : '/api/stats/timeseries fetches', n).text

const HALF = 52
const AXIS = 8 + HALF

type Buckets = DataOf<'/api/stats/timeseries'>['buckets']

/** Bars of each minute: people up, agents down, each side with its own scale. */
export function Minutes({ of }: { of: Record<Audience, Series> }) {
  const texts = t().behaviour.live
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const sides = audiences.value.map((side) => ({ side, buckets: of[side].data?.buckets ?? [] }))
  const buckets = sides[0]?.buckets ?? []
  const step = width / Math.max(1, buckets.length)
  const tops = { human: niceTop(values(of.human.data?.buckets)), agent: niceTop(values(of.agent.data?.buckets)) }
  const middle = buckets[Math.floor(buckets.length / 2)]
  return (
    <div ref={box}>
      <svg class="chart" height={AXIS * 2 + 22} role="img" aria-label={texts.minutes}>
        {sides.map(({ side, buckets: own }) =>
          own.map(({ t: at, value }, i) => (
            <g key={`${side}${at}`}>
              <title>{`${formatTime(at)}: ${value === undefined ? t().parts.notRecorded : wordsOf(side, value)}`}</title>
              <Bar
                side={side}
                x={i * step + 1}
                width={Math.max(1, step - 2)}
                share={value === undefined ? undefined : value / tops[side]}
                last={i === own.length - 1}
              />
            </g>
          )),
        )}
        <line class="axis" x1="0" x2={width} y1={AXIS} y2={AXIS} />
        {buckets[0] && (
          <text x="0" y={AXIS * 2 + 16}>
            {formatTime(buckets[0].t)}
          </text>
        )}
        {middle && (
          <text x={width / 2} y={AXIS * 2 + 16} text-anchor="middle">
            {formatTime(middle.t)}
          </text>
        )}
        <text x={width} y={AXIS * 2 + 16} text-anchor="end">
          {texts.nowMark}
        </text>
      </svg>
      <table class="visually-hidden">
        <caption>{texts.minutes}</caption>
        <tbody>
          {buckets.map(({ t: at }, i) => (
            <tr key={at}>
              <th scope="row">{formatTime(at)}</th>
              {sides.map(({ side, buckets: own }) => {
                const value = own[i]?.value
                return <td key={side}>{value === undefined ? t().parts.notRecorded : wordsOf(side, value)}</td>
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const values = (buckets: Buckets | undefined) => (buckets ?? []).map(({ value }) => value)

interface BarProps {
  side: Audience
  x: number
  width: number
  /** Height of the bar: share of the greatest value of its audience. Undefined if the minute was not recorded. */
  share: number | undefined
  /** The minute that is not over yet. */
  last: boolean
}

function Bar({ side, x, width, share, last }: BarProps) {
  const up = side === 'human'
  if (share === undefined)
    return <rect x={x} width={width} y={up ? AXIS - HALF : AXIS} height={HALF} fill="url(#hatch)" opacity=".5" />
  const height = share > 0 ? Math.max(2, share * HALF) : 0
  return (
    <rect
      x={x}
      width={width}
      y={up ? AXIS - 1 - height : AXIS + 1}
      height={height}
      rx="1.5"
      fill={up ? 'var(--people)' : 'var(--agents)'}
      opacity={last ? 0.55 : 1}
    />
  )
}
