import { formatShort } from '../state/format.js'

/** A logarithmic place between 0 and 100, with a place of its own for 0. */
const ZERO = 4
const placeOf = (value: number, most: number): number =>
  value <= 0 ? ZERO : 12 + (Math.log10(value) / Math.log10(Math.max(10, most))) * 82

/** People and agents of one row on a logarithmic axis; a hollow mark is 0. */
export function Dumbbell({ people, agents, most }: { people: number; agents: number; most: number }) {
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
export function GapAxis({ most, label }: { most: number; label: string }) {
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
