import { importArrows, type Survey, stronglyConnected } from '../fixtures/source-survey.js'

/** The boxes, arrows and floors that a reader sees on the plan of a checkout: each folder and file right below `src`, `adapters`, and `bin`. */
export function measurePlan(survey: Survey) {
  const product = [...survey.values()].filter(({ path }) => /^(?:src|adapters|bin)\//.test(path))
  const arrows = importArrows(product, { area: boxOf })
  return {
    boxes: arrows.size,
    arrows: [...arrows.values()].reduce((sum, targets) => sum + targets.size, 0),
    floors: countFloors(arrows),
    circles: stronglyConnected(arrows),
  }
}

/** The box of a file: `src/api/auth.ts` is in `src/api`, and `src/index.ts` is a box of its own. */
export const boxOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('src/') ? 2 : 1)
    .join('/')

/** Counts the boxes of the longest chain of arrows; boxes in a circle are one floor. */
export function countFloors(arrows: ReadonlyMap<string, ReadonlySet<string>>): number {
  const circles = stronglyConnected(arrows)
  const floorOf = (box: string) => circles.find((circle) => circle.includes(box))?.[0] ?? box
  const heights = new Map<string, number>()
  const heightOf = (floor: string): number => {
    const known = heights.get(floor)
    if (known !== undefined) return known
    const boxes = circles.find((circle) => circle[0] === floor) ?? [floor]
    const below = boxes.flatMap((box) => [...(arrows.get(box) ?? [])].map(floorOf)).filter((one) => one !== floor)
    const height = 1 + Math.max(0, ...below.map(heightOf))
    heights.set(floor, height)
    return height
  }
  return Math.max(0, ...[...arrows.keys()].map(floorOf).map(heightOf))
}
