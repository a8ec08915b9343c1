/** A figure of ours beside the same of its peers, and what it should be at most. */
interface Aim {
  what: string
  ours: number | undefined
  peers: readonly number[]
  aim?: number
}

/** Prints each figure with the least of its peers, the ratio to it, the aim, and whether it is held. */
export function printAims(aims: readonly Aim[]): void {
  console.table(
    Object.fromEntries(
      aims.map(({ what, ours = Number.NaN, peers, aim }) => [
        what,
        {
          peer: peers.length === 0 ? '' : round(Math.min(...peers)),
          ours: round(ours),
          ratio: peers.length === 0 ? '' : round(ours / Math.min(...peers)),
          aim: aim ?? '',
          result: aim === undefined ? '' : ours <= aim ? 'held' : 'missed',
        },
      ]),
    ),
  )
}

const round = (value: number): number => Math.round(value * 100) / 100

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}
