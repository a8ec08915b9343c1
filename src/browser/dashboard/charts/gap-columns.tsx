import { Mark } from '../parts/marks.js'
import type { Column } from '../parts/table.js'
import { formatRatio } from '../state/format.js'
import { t } from '../texts/index.js'
import { Dumbbell, GapAxis } from './dumbbell.js'

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
      width: '30%',
      cell: ({ fetches, arrivals }) => <Dumbbell people={arrivals} agents={fetches} most={most} />,
    },
    {
      key: 'ratio',
      head: overview.perArrival,
      right: true,
      wide: true,
      width: '16%',
      cell: ({ ratio, arrivals, fetches }) =>
        ratio === undefined ? (
          <span class="muted small no-wrap">
            {arrivals === 0 ? overview.noArrivals : fetches === 0 ? overview.noReads : '–'}
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
    <span>
      <Mark of="human" />
      {t().overview.arrived}
    </span>
    <span>
      <Mark of="agent" />
      {t().overview.readBy}
    </span>
  </p>
)
