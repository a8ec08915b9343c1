interface BothSidesProps {
  people: number
  agents: number
  /** The values that fill a side. */
  most: { people: number; agents: number }
  label: string
  format: (n: number) => string
  /** For agents, if it is another one. */
  formatAgents?: (n: number) => string
}

/** The percentage of the width that a whole side takes; the rest is for its number. */
const SIDE = 32

/** People to the left, agents to the right, each with its number. */
export function BothSides({ people, agents, most, label, format, formatAgents = format }: BothSidesProps) {
  const left = (people / (most.people || 1)) * SIDE
  const right = (agents / (most.agents || 1)) * SIDE
  return (
    <svg class="chart" height="16" role="img" aria-label={label}>
      <line x1="50%" x2="50%" y1="0" y2="16" stroke="var(--line)" />
      <rect x={`${50 - left}%`} width={`${left}%`} y="5" height="6" fill="var(--people)" />
      <rect x="50%" width={`${right}%`} y="5" height="6" fill="var(--agents)" />
      <text x={`${48 - left}%`} y="12" text-anchor="end">
        {format(people)}
      </text>
      <text x={`${52 + right}%`} y="12">
        {formatAgents(agents)}
      </text>
    </svg>
  )
}
