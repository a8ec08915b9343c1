import { MarkKey } from '../parts/marks.js'
import type { Column } from '../parts/table.js'
import { formatRatio, formatShort } from '../state/format.js'
import { t } from '../texts/index.js'

export interface Gap {
  fetches: number
  arrivals: number
  ratio?: number | undefined
}

/** The columns of reads and arrivals on one axis, which ends at `most`, and of their ratio. */
export function gapColumns<R extends Gap>(most: number): Column<R>[] {
  const { overview } = t()
  return [
    {
      key: 'gap',
      head: <GapAxis most={most} label={`${overview.arrived}, ${overview.readBy}`} />,
      width: '24%',
      cell: ({ fetches, arrivals }) => <Dumbbell people={arrivals} agents={fetches} most={most} />,
    },
    {
      key: 'ratio',
      head: overview.perVisit,
      right: true,
      wide: true,
      width: '92px',
      cell: ({ ratio, arrivals, fetches }) =>
        ratio === undefined ? (
          <span class="muted small reason">
            {arrivals === 0 ? overview.noVisits : fetches === 0 ? overview.noReads : '–'}
          </span>
        ) : (
          formatRatio(ratio)
        ),
    },
  ]
}

/** The key of the axis. */
export const GapKey = () => (
  <p class="legend foot">
    <MarkKey words={{ human: t().overview.arrived, agent: t().overview.readBy }} />
  </p>
)

/** A logarithmic place between 0 and 100, with a place of its own for 0. */
const ZERO = 4
const placeOf = (value: number, most: number): number =>
  value <= 0 ? ZERO : 12 + (Math.log10(value) / Math.log10(Math.max(10, most))) * 82

/** People and agents of one row on a logarithmic axis; a hollow mark is 0. */
function Dumbbell({ people, agents, most }: { people: number; agents: number; most: number }) {
  const [a, b] = [placeOf(people, most), placeOf(agents, most)]
  return (
    <svg class="chart dumbbell" height="16" role="img" aria-label={`${formatShort(people)} · ${formatShort(agents)}`}>
      <line x1={`${a}%`} x2={`${b}%`} y1="8" y2="8" stroke="var(--line)" />
      <circle
        cx={`${a}%`}
        cy="8"
        r="4"
        fill={people > 0 ? 'var(--people)' : 'var(--panel)'}
        stroke="var(--people)"
        stroke-width="1.5"
      />
      <svg x={`${b}%`} y="8" overflow="visible">
        <rect
          x="-3.6"
          y="-3.6"
          width="7.2"
          height="7.2"
          transform="rotate(45)"
          fill={agents > 0 ? 'var(--agents)' : 'var(--panel)'}
          stroke="var(--agents)"
          stroke-width="1.5"
        />
      </svg>
    </svg>
  )
}

/** The axis of `Dumbbell`, as a column's heading with a name for screen readers. */
function GapAxis({ most, label }: { most: number; label: string }) {
  const powers = Array.from({ length: Math.floor(Math.log10(Math.max(10, most))) + 1 }, (_, i) => 10 ** i)
  return (
    <svg class="chart gap-axis" height="16" role="img" aria-label={label}>
      {[0, ...powers].map((value) => (
        <text key={value} x={`${placeOf(value, most)}%`} y="12" text-anchor="middle">
          {formatShort(value)}
        </text>
      ))}
    </svg>
  )
}
