import { useRef } from 'preact/hooks'
import { type Bucket, bucketEdges, type TimeScale, ticks, timeScale } from '../../charts/scale.js'
import { Unrecorded } from '../../charts/time-chart.js'
import { useWidth } from '../../charts/width.js'
import { Table } from '../../parts/table.js'
import { formatFullInstant, formatLongDay, formatNumber, formatSeconds } from '../../state/format.js'
import type { Version } from '../../state/versions.js'
import { t } from '../../texts/index.js'
import { firstRead, inForce, type Lanes } from './agent-history.js'

/** Four lanes over one time axis: the active robots.txt, its reads by the agent, pages, and disallowed fetches. */
export function AgentLanes({ name, lanes, asTable }: { name: string; lanes: Lanes; asTable: boolean }) {
  const buckets = lanes.pages.data?.buckets ?? []
  const reads = lanes.policy.data?.series[0]?.buckets ?? []
  const disallowed = lanes.disallowed.data?.series[0]?.buckets ?? []
  const of = { name, lanes, buckets, reads, disallowed }
  return asTable ? <LaneTable {...of} /> : <LaneChart {...of} />
}

interface LaneProps {
  name: string
  lanes: Lanes
  buckets: readonly Bucket[]
  reads: readonly Bucket[]
  disallowed: readonly Bucket[]
}

/** The middle of a lane, and the baseline of its label. */
type LanePlace = readonly [middle: number, label: number]
type LaneName = 'force' | 'reads' | 'pages' | 'disallowed'

/** The places of the lanes. On phones the label stands above its lane. */
const WIDE: Record<LaneName, LanePlace> = {
  force: [22, 26],
  reads: [72, 76],
  pages: [136, 140],
  disallowed: [190, 194],
}
const NARROW: Record<LaneName, LanePlace> = {
  force: [34, 14],
  reads: [98, 66],
  pages: [170, 126],
  disallowed: [236, 210],
}

function LaneChart({ name, lanes, buckets, reads, disallowed }: LaneProps) {
  const texts = t().agents
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const narrow = width < 620
  const granularity = lanes.pages.data?.granularity ?? 'day'
  const scale = timeScale(bucketEdges(buckets, granularity), narrow ? 0 : 148, Math.max(60, width - 2))
  const at = narrow ? NARROW : WIDE
  const bottom = at.disallowed[0] + 24
  const isBreach = lanes.violations.data?.[0]?.severity === 'breach'
  const label = (text: string, [, y]: LanePlace) => (
    <text class="strong" x="0" y={y}>
      {text}
    </text>
  )
  return (
    <div class="chart-box" ref={box}>
      <svg class="chart" height={bottom + 28} role="img" aria-label={texts.lanes(name)}>
        {buckets.length > 0 && width > 0 && (
          <>
            <Unrecorded recorded={lanes.pages.meta?.recorded} scale={scale} bottom={bottom} top={at.pages[0] - 32} />
            {label(texts.inForce, at.force)}
            <ForceLane
              versions={lanes.versions.data ?? []}
              scale={scale}
              y={at.force[0]}
              readY={at.reads[0]}
              bottom={bottom}
            />
            {label(texts.readRobots, at.reads)}
            <ReadLane buckets={reads} scale={scale} y={at.reads[0]} />
            {label(texts.pageReads[granularity], at.pages)}
            <PageLane buckets={buckets} scale={scale} y={at.pages[0]} />
            {label(texts.disallowedFetches, at.disallowed)}
            <DisallowedLane buckets={disallowed} scale={scale} y={at.disallowed[0]} alert={isBreach} />
            <line class="axis" x1={scale.left} x2={scale.right} y1={bottom} y2={bottom} />
            {ticks(scale, granularity, narrow ? 80 : 110).map(({ x, text, anchor }) => (
              <text key={x} x={anchor === 'end' ? scale.right : x} y={bottom + 18} text-anchor={anchor}>
                {text}
              </text>
            ))}
          </>
        )}
      </svg>
    </div>
  )
}

interface ForceProps {
  versions: readonly Version[]
  scale: TimeScale
  y: number
  readY: number
  bottom: number
}

/** The versions of robots.txt as bars; the newest is dark. Each change falls through the lanes to where it was read. */
function ForceLane({ versions, scale, y, readY, bottom }: ForceProps) {
  const texts = t().agents
  const [from, to] = [scale.edges[0] ?? 0, scale.edges.at(-1) ?? 0]
  const shown = inForce(versions, from, to)
  return (
    <g>
      {shown.map((version, i) => {
        const start = Math.max(from, Date.parse(version.since))
        const next = shown[i + 1]
        const x = scale.at(start)
        const room = (next ? scale.at(Date.parse(next.since)) : scale.right) - x - 2
        const isNow = version.until === undefined
        const words =
          version.standing === 'served'
            ? version.rules === undefined
              ? formatLongDay(version.since)
              : texts.version(formatLongDay(version.since), version.rules)
            : `${formatLongDay(version.since)}, ${texts.standing[version.standing]}`
        const changed = Date.parse(version.since) > from
        const read = firstRead(version)
        return (
          <g key={version.since}>
            <title>{words}</title>
            <rect
              x={x}
              y={y - 12}
              width={Math.max(2, room)}
              height="24"
              rx="4"
              fill={isNow ? 'var(--ink)' : 'var(--rule)'}
            />
            {words.length * 6.4 + 20 < room && (
              <text x={x + 10} y={y + 4} class={isNow ? 'on-ink' : ''}>
                {words}
              </text>
            )}
            {changed && <line x1={x} x2={x} y1={y + 12} y2={bottom} stroke="var(--ink)" stroke-dasharray="1 3" />}
            {changed && read !== undefined && (
              <FirstRead
                at={scale.at(Date.parse(read))}
                y={readY}
                delay={Date.parse(read) - Date.parse(version.since)}
                scale={scale}
              />
            )}
          </g>
        )
      })}
    </g>
  )
}

/** The moment at which the agent read a new version, with the time since the change. */
function FirstRead({ at, y, delay, scale }: { at: number; y: number; delay: number; scale: TimeScale }) {
  const words = t().agents.readLater(formatSeconds(delay / 1_000))
  const room = words.length * 6.4
  const before = at - scale.left > room
  const fits = before || scale.right - at > room
  return (
    <g>
      <line x1={at} x2={at} y1={y - 15} y2={y + 13} stroke="var(--ink)" stroke-width="2" />
      {fits ? (
        <text class="halo strong" x={before ? at - 6 : at + 6} y={y - 14} text-anchor={before ? 'end' : 'start'}>
          {words}
        </text>
      ) : (
        <title>{words}</title>
      )}
    </g>
  )
}

function ReadLane({ buckets, scale, y }: { buckets: readonly Bucket[]; scale: TimeScale; y: number }) {
  return (
    <g>
      {buckets.map(
        ({ t: start, value = 0 }, i) =>
          value > 0 && (
            <line
              key={start}
              x1={scale.middle(i)}
              x2={scale.middle(i)}
              y1={y - 8}
              y2={y + 8}
              stroke="var(--agents)"
              stroke-width="2"
            >
              <title>{`${formatFullInstant(start)}: ${formatNumber(value)}`}</title>
            </line>
          ),
      )}
    </g>
  )
}

const PAGES_HEIGHT = 40

function PageLane({ buckets, scale, y }: { buckets: readonly Bucket[]; scale: TimeScale; y: number }) {
  const most = Math.max(1, ...buckets.map(({ value }) => value ?? 0))
  return (
    <g>
      {buckets.map(({ t: start, value, partial }, i) => {
        if (value === undefined || value === 0) return null
        const height = Math.max(1.5, (value / most) * PAGES_HEIGHT)
        const [left, right] = [scale.at(scale.edges[i] ?? 0), scale.at(scale.edges[i + 1] ?? 0)]
        const gap = right - left > 8 ? 2 : 0.5
        return (
          <rect
            key={start}
            x={left + gap}
            width={Math.max(1, right - left - 2 * gap)}
            y={y + 20 - height}
            height={height}
            rx="1"
            fill="var(--agents)"
            opacity={partial ? 0.45 : 0.9}
          >
            <title>{`${formatFullInstant(start)}: ${formatNumber(value)}`}</title>
          </rect>
        )
      })}
    </g>
  )
}

/** A crossed circle per bucket, its area by the fetches. Only breaches have the colour of an accusation. */
function DisallowedLane({
  buckets,
  scale,
  y,
  alert,
}: {
  buckets: readonly Bucket[]
  scale: TimeScale
  y: number
  alert: boolean
}) {
  const most = Math.max(1, ...buckets.map(({ value }) => value ?? 0))
  const room = (scale.right - scale.left) / Math.max(1, buckets.length) / 2
  const largest = Math.min(11, Math.max(3, room * 0.9))
  return (
    <g
      fill={alert ? 'var(--alert-soft)' : 'var(--panel)'}
      stroke={alert ? 'var(--alert)' : 'var(--muted)'}
      stroke-width="1.6"
    >
      {buckets.map(({ t: start, value = 0 }, i) => {
        if (value === 0) return null
        const radius = Math.max(2.5, Math.sqrt(value / most) * largest)
        const x = scale.middle(i)
        const arm = radius * 0.7
        return (
          <g key={start}>
            <title>{`${formatFullInstant(start)}: ${formatNumber(value)}`}</title>
            <circle cx={x} cy={y} r={radius} />
            <path d={`M${x - arm} ${y + arm}l${arm * 2} ${-arm * 2}`} />
          </g>
        )
      })}
    </g>
  )
}

/** The same buckets as a table. */
function LaneTable({ name, lanes, buckets, reads, disallowed }: LaneProps) {
  const { agents: texts, parts } = t()
  const granularity = lanes.pages.data?.granularity ?? 'day'
  const write = (value: number | undefined) =>
    value === undefined ? <span class="muted">{parts.notRecorded}</span> : formatNumber(value)
  const isFine = granularity === 'minute' || granularity === 'hour'
  return (
    <Table
      label={texts.lanes(name)}
      rows={buckets.map(({ t: start }, i) => ({ start, i }))}
      rowKey={({ start }) => start}
      columns={[
        {
          key: 't',
          head: parts.granularity[granularity],
          cell: ({ start }) => (isFine ? formatFullInstant(start) : formatLongDay(start)),
        },
        {
          key: 'reads',
          head: texts.readRobots,
          right: true,
          cell: ({ i }) => write(reads[i]?.value ?? whole(buckets[i])),
        },
        { key: 'pages', head: texts.pageReads[granularity], right: true, cell: ({ i }) => write(buckets[i]?.value) },
        {
          key: 'no',
          head: texts.disallowedFetches,
          right: true,
          cell: ({ i }) => write(disallowed[i]?.value ?? whole(buckets[i])),
        },
      ]}
    />
  )
}

/** A series without any row has no buckets: 0 where the time was recorded. */
const whole = (bucket: Bucket | undefined): number | undefined => (bucket?.value === undefined ? undefined : 0)
