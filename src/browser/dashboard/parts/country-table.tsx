import { formatCountry } from '../state/format.js'
import type { Pair } from '../state/question.js'
import { t } from '../texts/index.js'
import { Butterfly, type ButterflyRow, joinSides } from './lists.js'

type Located = Pair<'/api/stats/locations'>

/**
 * Countries of both readerships, the first rows of either side first. The read must have been asked for all countries, so
 * that one that a side lacks is 0 there.
 */
export function countryRows({ human, agent }: Located): ButterflyRow[] {
  const keyOf = (row: { country?: string }) => row.country ?? ''
  const rows = joinSides(human.data?.countries, agent.data?.countries, { human: keyOf, agent: keyOf }, 600)
  return rows.map((row) => ({
    key: row.key,
    label: row.key === '' ? t().parts.unknown : formatCountry(row.key),
    human: row.human?.visitors ?? (human.data && 0),
    agent: row.agent?.fetches ?? (agent.data && 0),
    before: { human: row.human?.comparison?.visitors, agent: row.agent?.comparison?.fetches },
    ...(row.key === '' ? {} : { filter: ['country', row.key] as const }),
  }))
}

/** Countries in two columns on one scale. */
export function CountryTable({ rows }: { rows: readonly ButterflyRow[] }) {
  const half = Math.ceil(rows.length / 2)
  return (
    <div class="two">
      {[rows.slice(0, half), rows.slice(half)].map((part, i) => (
        <Butterfly
          key={i}
          head={t().parts.country}
          metrics={{ human: 'visitors', agent: 'fetches' }}
          rows={part}
          scaledBy={rows}
        />
      ))}
    </div>
  )
}
