import { useRef } from 'preact/hooks'
import { useWidth } from '../../charts/width.js'
import { clockOf, type VisitSteps } from './visit-steps.js'

const HEIGHT = 72
/** The bar of pages, and the narrowest room that a number or a label takes. */
const TOP = 20
const BAR = 18
const NUMBER_ROOM = 14
const LABEL_ROOM = 72
/** Distances between labels, in seconds. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800]

interface BandProps {
  visit: VisitSteps
  /** Says in words what the band shows, for screen readers. */
  label: string
}

/** The pages of a visit over its time: filled in use, hatched open in the background, empty where nothing was measured. */
export function VisitBand({ visit, label }: BandProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { length, steps, inUse, engaged } = visit
  const x = (at: number) => (at / length) * width
  const pages = steps.filter(({ page }) => page !== undefined)
  const step = STEPS.find((seconds) => x(seconds * 1_000) >= LABEL_ROOM) ?? 86_400
  const ticks = Array.from({ length: Math.min(20, Math.floor(length / 1_000 / step) + 1) }, (_, i) => i * step * 1_000)
  return (
    <div class="chart-box visit-band" ref={box}>
      <svg class="chart" height={HEIGHT} role="img" aria-label={label}>
        {width > 0 && (
          <>
            <rect
              class="open"
              x="0"
              y={TOP}
              width={width}
              height={BAR}
              fill={engaged === undefined ? 'none' : 'url(#hatch)'}
            />
            {inUse.map(({ from, to }) => (
              <rect
                key={from}
                x={x(from)}
                y={TOP}
                width={Math.max(1.5, x(to) - x(from))}
                height={BAR}
                fill="var(--people)"
              />
            ))}
            {pages.map(({ at, page }, i) => (
              <g key={page}>
                {at > 0 && <line class="cut-line" x1={x(at)} x2={x(at)} y1={TOP - 1} y2={TOP + BAR + 1} />}
                {(i === 0 || x(at) - x(lastNumbered(pages, i, x)) >= NUMBER_ROOM) && (
                  <text class="strong" x={Math.min(x(at), width - 8)} y={TOP - 6}>
                    {page}
                  </text>
                )}
              </g>
            ))}
            {steps.map(
              ({ at, page }, i) =>
                page === undefined && (
                  <rect
                    key={i}
                    x={Math.min(Math.max(0, x(at) - 4), width - 8)}
                    y={TOP + BAR + 4}
                    width="8"
                    height="8"
                    fill="var(--ink)"
                  />
                ),
            )}
            {ticks.map((at) => (
              <text
                key={at}
                x={Math.min(x(at), width - 2)}
                y={HEIGHT - 4}
                text-anchor={at === 0 ? 'start' : x(at) > width - 20 ? 'end' : 'middle'}
              >
                {clockOf(at)}
              </text>
            ))}
          </>
        )}
      </svg>
    </div>
  )
}

/** When the last page before this one began that has its number drawn. */
function lastNumbered(pages: readonly { at: number }[], i: number, x: (at: number) => number): number {
  let last = pages[0]?.at ?? 0
  for (const { at } of pages.slice(1, i)) if (x(at) - x(last) >= NUMBER_ROOM) last = at
  return last
}
