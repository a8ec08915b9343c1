import { useRef } from 'preact/hooks'
import { formatRatio } from '../state/format.js'
import { t } from '../texts/index.js'
import { useWidth } from './width.js'

interface ZoneScaleProps {
  /** Reads for each arrival; absent without an arrival. */
  ratio: number | undefined
  median: number
  /** How many times the median is the border of the gap. */
  threshold: number
  label: string
}

/** The citation gap of one page on a logarithmic scale of the zones: earning, balanced, gap. */
export function ZoneScale({ ratio, median, threshold, label }: ZoneScaleProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { parts } = t()
  const [low, high] = [median / 3, median * threshold]
  const least = Math.min(low / 6, ratio ?? low, 1)
  const most = Math.max(high * 6, ratio ?? high)
  const at = (value: number) => (Math.log(value / least) / Math.log(most / least)) * width
  const zones = [
    ['earning', least, low, 'var(--people-soft)'],
    ['balanced', low, high, 'var(--rule)'],
    ['gap', high, most, 'var(--agents-soft)'],
  ] as const
  const x = ratio === undefined ? width - 6 : Math.min(width - 6, Math.max(6, at(Math.max(ratio, least))))
  const anchor = (place: number) => (place < 40 ? 'start' : place > width - 40 ? 'end' : 'middle')
  const isNear = ratio !== undefined && Math.abs(x - at(median)) < 70
  return (
    <div ref={box} class="chart-box">
      <svg class="chart" height="58" role="img" aria-label={label}>
        {zones.map(([name, from, to, fill]) => (
          <g key={name}>
            <rect x={at(from) + 1} y="24" width={Math.max(0, at(to) - at(from) - 2)} height="10" rx="2" fill={fill} />
            <text x={(at(from) + at(to)) / 2} y="52" text-anchor="middle">
              {parts.verdict[name]}
            </text>
          </g>
        ))}
        <line x1={at(median)} x2={at(median)} y1="21" y2="37" stroke="var(--ink)" stroke-width="1.5" />
        {!isNear && (
          <text x={at(median)} y="14" text-anchor={anchor(at(median))}>
            {t().pages.gap.medianMark(formatRatio(median))}
          </text>
        )}
        <path
          d={`M${x} 36l-5-7 5-7 5 7z`}
          fill={ratio === undefined ? 'var(--panel)' : 'var(--ink)'}
          stroke="var(--ink)"
          stroke-width="1.5"
        />
        <text x={x} y="14" text-anchor={anchor(x)} class="strong">
          {ratio === undefined ? '∞' : formatRatio(ratio)}
        </text>
      </svg>
    </div>
  )
}
