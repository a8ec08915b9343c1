import { useRef } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import { useWidth } from '../../charts/width.js'
import type { DataOf } from '../../client/index.js'
import { Mark } from '../../parts/marks.js'
import { Panel } from '../../parts/panel.js'
import type { Result } from '../../state/data.js'
import { formatNumber, formatSeconds } from '../../state/format.js'
import { later } from '../../texts/later.js'

interface DelayChartProps {
  summary: Result<'/api/answers/summary'>
  minutes: number
  /** The operator that is chosen. */
  operator: string | undefined
}

const [TOP, BOTTOM, LEFT] = [44, 250, 34]

/** How soon readers followed, beside the level that is expected by chance. */
export function DelayChart({ summary, minutes, operator }: DelayChartProps) {
  const texts = later().answers
  const { data } = summary
  return (
    <Panel
      span={7}
      title={texts.howSoon}
      right={
        <>
          <span class="legend">
            <span>
              <Mark of="human" />
              {texts.keyFollowed}
            </span>
            <span>
              <svg width="18" height="4" aria-hidden="true">
                <path d="M0 2h18" stroke="var(--muted)" stroke-width="2" stroke-dasharray="4 3" />
              </svg>
              {texts.keyChance}
            </span>
          </span>
          <ExportMenu
            report="answers/summary"
            only="agent"
            more={{ minutes: `${minutes}`, ...(operator ? { operator } : {}) }}
          />
        </>
      }
      answers={[summary]}
      empty={(data?.arrivals ?? 0) === 0}
      emptyText={texts.noReader}
      skeleton={9}
      foot={data && data.chance === undefined && texts.chanceUnknown}
    >
      {() => data && <Bars data={data} minutes={minutes} />}
    </Panel>
  )
}

function Bars({ data, minutes }: { data: DataOf<'/api/answers/summary'>; minutes: number }) {
  const texts = later().answers
  const box = useRef<HTMLDivElement>(null)
  const width = Math.max(240, useWidth(box))
  const { by_delay: bins, arrivals = 0, chance, delay } = data
  const most = Math.max(4, ...bins.map((bin) => bin.arrivals))
  const step = (width - LEFT - 4) / Math.max(1, bins.length)
  const y = (n: number) => BOTTOM - (n / most) * (BOTTOM - TOP)
  const at = (seconds: number) => LEFT + (seconds / (minutes * 60)) * (width - LEFT - 4)
  const isLate = delay !== undefined && at(delay) > width * 0.7
  const level = chance === undefined ? undefined : y(chance / bins.length)
  const first = bins.slice(0, bins.length / 5).reduce((sum, bin) => sum + bin.arrivals, 0)
  const chanceText = chance === undefined ? undefined : formatNumber(chance)
  return (
    <div ref={box}>
      <svg
        class="chart"
        height={BOTTOM + 28}
        role="img"
        aria-label={texts.chart(formatNumber(arrivals), formatNumber(first), chanceText)}
      >
        <text x="0" y="14">
          {chanceText === undefined ? texts.arrivals : texts.chance(chanceText, formatNumber(arrivals))}
        </text>
        {[Math.ceil(most / 2), most].map((n) => (
          <g key={n}>
            <line x1={LEFT} x2={width} y1={y(n)} y2={y(n)} stroke="var(--rule)" />
            <text x="0" y={y(n) + 4}>
              {formatNumber(n)}
            </text>
          </g>
        ))}
        {bins.map((bin, i) => (
          <rect
            key={bin.from}
            x={LEFT + i * step + 2}
            width={Math.max(1, step - 4)}
            y={y(bin.arrivals)}
            height={BOTTOM - y(bin.arrivals)}
            rx="2"
            fill="var(--people)"
          />
        ))}
        {level !== undefined && (
          <line
            x1={LEFT}
            x2={width}
            y1={level}
            y2={level}
            stroke="var(--muted)"
            stroke-width="2"
            stroke-dasharray="4 3"
          />
        )}
        <line x1={LEFT} x2={width} y1={BOTTOM} y2={BOTTOM} stroke="var(--line)" />
        {delay !== undefined && (
          <g>
            <line x1={at(delay)} x2={at(delay)} y1="24" y2={BOTTOM} stroke="var(--ink)" stroke-dasharray="2 3" />
            <text x={at(delay) + (isLate ? -8 : 8)} y="34" text-anchor={isLate ? 'end' : 'start'}>
              {texts.median(formatSeconds(delay))}
            </text>
          </g>
        )}
        <Axis minutes={minutes} width={width} at={at} />
      </svg>
    </div>
  )
}

/** The minutes after the fetch. */
function Axis({ minutes, width, at }: { minutes: number; width: number; at: (seconds: number) => number }) {
  const texts = later().answers
  const parts = width < 480 ? [2, 5, 10] : [1, 2, 3, 5, 7, 10]
  return (
    <>
      <text x={LEFT} y={BOTTOM + 20}>
        {texts.fetch}
      </text>
      {parts.map((part) => {
        const minute = (minutes / 10) * part
        return (
          <text key={part} x={at(minute * 60)} y={BOTTOM + 20} text-anchor={part === 10 ? 'end' : 'middle'}>
            {texts.minutes(formatNumber(minute, minute % 1 === 0 ? 0 : 1))}
          </text>
        )
      })}
    </>
  )
}
