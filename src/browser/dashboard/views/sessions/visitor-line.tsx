import { useRef } from 'preact/hooks'
import { useWidth } from '../../charts/width.js'
import type { DataOf } from '../../client/index.js'
import { Mark } from '../../parts/marks.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { type Result, useRead } from '../../state/data.js'
import { formatDay, formatTime } from '../../state/format.js'
import { idPeriod } from '../../state/id-period.js'
import { quantity } from '../../state/quantity.js'
import { siteQuery } from '../../state/question.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'

type Visit = DataOf<'/api/stats/sessions'>[number]

const HEIGHT = 78
const AXIS = 42
const MAX_VISITS = 200
const DAY_MS = 86_400_000

/** The time in which a visitor of this instant keeps the id; undefined if it is not known, or for ever. */
const periodOf = (at: string | undefined) => {
  const salt = site.value?.visitor_salt
  return at === undefined || salt === undefined ? undefined : idPeriod(salt, Date.parse(at))
}

/** Asks for all visits under one id, whatever the window on screen. */
export function useVisitsOfId(visitor: string | undefined, at: string | undefined): Result<'/api/stats/sessions'> {
  const period = periodOf(at)
  const isThem = { dimension: 'visitor_id', op: 'is', value: visitor }
  return useRead(
    '/api/stats/sessions',
    visitor === undefined
      ? undefined
      : {
          ...siteQuery.value,
          ...(period
            ? { start: new Date(period.start).toISOString(), end: new Date(period.end).toISOString() }
            : { range: '12mo' }),
          audience: 'human',
          filters: JSON.stringify([isThem]),
          limit: MAX_VISITS,
        },
  )
}

/** Until when the visitor of an instant is recognised; undefined where the reader may not know how long ids last. */
export function recognisedText(at: string, identified: boolean): string | undefined {
  const texts = t().sessions
  const salt = site.value?.visitor_salt
  if (identified) return texts.recognisedByName
  if (salt === undefined) return undefined
  const period = idPeriod(salt, Date.parse(at))
  if (!period) return texts.recognisedAlways
  // The change is at midnight UTC: the last day is the day before.
  const last = formatDay(new Date(period.end - 1).toISOString().slice(0, 10))
  return period.end > Date.now() ? texts.recognised(last) : texts.recognisedThen(last)
}

interface LineProps {
  title: string
  visits: Result<'/api/stats/sessions'>
  visitor: string
  /** An instant at which the visitor was here. */
  at: string
  isIdentified: boolean
  /** The visit on screen. */
  here?: string
}

/** The visits under one id over the time that the id lasts. */
export function VisitorLine({ title, visits, visitor, at, isIdentified, here }: LineProps) {
  const texts = t().sessions
  const rows = visits.data ?? []
  return (
    <Panel
      title={
        <span class="marked">
          <Mark of="human" />
          {title}
        </span>
      }
      aside={recognisedText(at, isIdentified) ?? ''}
      right={here !== undefined && <More to={['visitors', visitor]}>{texts.openVisitor}</More>}
      answers={[visits]}
      skeleton={3}
      empty={rows.length === 0}
      emptyText={texts.gone}
    >
      {() => <Line rows={rows} period={periodOf(at)} {...(here === undefined ? {} : { here })} />}
    </Panel>
  )
}

interface DotsProps {
  rows: readonly Visit[]
  period: { start: number; end: number } | undefined
  here?: string
}

function Line({ rows, period, here }: DotsProps) {
  const texts = t().sessions
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const now = Date.now()
  const times = rows.map(({ started_at }) => Date.parse(started_at))
  const start = period?.start ?? Math.min(...times)
  const end = period?.end ?? Math.max(now, start + DAY_MS)
  // Room for half a mark at both ends.
  const x = (at: number) => 12 + ((at - start) / (end - start)) * (width - 24)
  const ticks = [0, 0.25, 0.5, 0.75].map((part) => start + part * (end - start))
  const isDay = end - start <= 2 * DAY_MS
  const toCome = period && now < end ? x(Math.max(start, now)) : undefined
  const label = texts.lineLabel(quantity('/api/stats/sessions total', rows.length), formatDay(start))
  return (
    <div class="chart-box visitor-line" ref={box}>
      <svg class="chart" height={HEIGHT} role="img" aria-label={label}>
        {width > 0 && (
          <>
            <line class="axis" x1="0" x2={width} y1={AXIS} y2={AXIS} />
            {toCome !== undefined && (
              <>
                <rect x={toCome} y={AXIS - 24} width={Math.max(0, width - toCome)} height="40" fill="url(#hatch)" />
                <text x={width} y="12" text-anchor="end">
                  {texts.toCome}
                </text>
              </>
            )}
            {rows.map(({ id, pageviews }, i) => (
              <circle
                key={id}
                cx={x(times[i] ?? start)}
                cy={AXIS}
                r={Math.min(11, 4 + pageviews * 1.2)}
                fill="var(--people)"
                stroke={id === here ? 'var(--ink)' : 'var(--panel)'}
                stroke-width={id === here ? 2 : 1.5}
              />
            ))}
            {ticks.map((at) => (
              <text key={at} x={Math.max(0, x(at) - 12)} y={HEIGHT - 6}>
                {isDay ? formatTime(at) : formatDay(at)}
              </text>
            ))}
          </>
        )}
      </svg>
    </div>
  )
}
