import type { ComponentChildren } from 'preact'
import type { Audience } from '../state/address.js'
import { formatBytes, formatNumber, formatSeconds, formatShare, formatShort } from '../state/format.js'
import { audiences } from '../state/question.js'
import { t } from '../texts/index.js'
import { Mark } from './marks.js'
import { Lacking } from './states.js'

/** How a metric is written. */
type Kind = 'count' | 'share' | 'percent' | 'seconds' | 'bytes' | 'decimal'

const KINDS: Record<string, Kind> = {
  bounce: 'share',
  verified: 'share',
  exit_rate: 'share',
  rate: 'share',
  duration: 'seconds',
  time_on_page: 'seconds',
  // A share between 0 and 100.
  scroll_depth: 'percent',
  bytes: 'bytes',
  views_per_session: 'decimal',
  cost: 'decimal',
}

export const kindOf = (metric: string): Kind => KINDS[metric] ?? 'count'

const WRITE: Record<Kind, (value: number) => string> = {
  count: formatShort,
  share: (value) => formatShare(value),
  percent: (value) => formatShare(value / 100, 0),
  seconds: formatSeconds,
  bytes: formatBytes,
  decimal: (value) => formatNumber(value, 2),
}

/** Writes a value of a metric. */
export const formatMetric = (metric: string, value: number): string => WRITE[kindOf(metric)](value)

/** Returns a metric of a row, whichever read it is from; undefined if it has none. */
export function metricOf(row: unknown, metric: string): number | undefined {
  const value: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, metric) : undefined
  return typeof value === 'number' ? value : undefined
}

/** Writes a value of a metric, and a dash where it was not measured. */
export const writeMetric = (metric: string, value: number | undefined): string =>
  value === undefined ? '–' : formatMetric(metric, value)

export const metricName = (metric: string): string => t().parts.metric[metric] ?? metric

/**
 * The change against the comparison, in grey: up is not good. A share changes by points. From 0 there is no percent: it is new.
 * There is no change where either side is absent.
 */
export function changeText(metric: string, now: number | undefined, before: number | undefined): string {
  const { parts } = t()
  if (now === undefined || before === undefined) return ''
  if (now === before) return parts.noChange
  const arrow = now > before ? '▲' : '▼'
  const tenths = (share: number) => Math.round(Math.abs(share) * 1_000)
  if (kindOf(metric) === 'share') {
    const points = tenths(now - before) / 10
    return points === 0 ? parts.noChange : `${arrow} ${parts.points(points)}`
  }
  if (before === 0) return parts.newHere
  const share = (now - before) / before
  return tenths(share) === 0 ? parts.noChange : `${arrow} ${formatShare(Math.abs(share))}`
}

interface RowChangeProps {
  metric: string
  now: number | undefined
  before: number | undefined
}

/** The change of a row's number against the comparison; nothing where either side is absent. */
export function RowChange({ metric, now, before }: RowChangeProps) {
  const change = changeText(metric, now, before)
  return change === '' ? null : <span class="row-change">{change}</span>
}

interface HeadlineProps {
  of: Audience
  metric: string
  label?: string
  value: number | undefined
  before?: number | undefined
  big?: boolean
  /** Whether the chart shows it. Without `onPick` the number is not a button. */
  picked?: boolean
  onPick?: () => void
  /** Stands where the change would be. */
  under?: ComponentChildren
  class?: string
}

/** One headline number; a click draws it in the chart. */
export function Headline({
  of,
  metric,
  label,
  value,
  before,
  big,
  picked,
  onPick,
  under,
  class: extra,
}: HeadlineProps) {
  const change = changeText(metric, value, before)
  const inner = (
    <>
      <span class="label">{label ?? metricName(metric)}</span>
      <span class={value === undefined ? 'value none' : 'value'}>{writeMetric(metric, value)}</span>
      <span class="change">
        {under ?? change}
        {big &&
          before !== undefined &&
          before > 0 &&
          value !== before &&
          ` ${t().parts.from(formatMetric(metric, before))}`}
      </span>
    </>
  )
  const classes = `number ${of} ${big ? 'big' : ''} ${extra ?? ''}`
  if (!onPick) return <div class={classes}>{inner}</div>
  return (
    <button type="button" class={classes} aria-pressed={picked ?? false} onClick={onPick}>
      {inner}
    </button>
  )
}

interface FiguresProps {
  of: Audience
  loading: boolean
  children: ComponentChildren
}

/** The headline numbers of one readership, beside those of the other if both are on screen. */
export const Figures = ({ of, loading, children }: FiguresProps) => (
  <section class={audiences.value.length === 2 ? 'cell half figures span-6' : 'cell half'} aria-busy={loading}>
    <h2>
      <Mark of={of} />
      {t().shell.show[of]}
    </h2>
    <Lacking of={of} />
    <div class="numbers">{children}</div>
  </section>
)
