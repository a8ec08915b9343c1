import { useRef, useState } from 'preact/hooks'
import { useWidth } from '../../charts/width.js'
import type { DataOf } from '../../client/index.js'
import type { Audience } from '../../state/address.js'
import { formatRatio, formatWeekday } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { t } from '../../texts/index.js'

export type Cell = DataOf<'/api/stats/hours'>['cells'][number]

const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7]
const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
/** The columns beside the hours, in pixels, as the styles have them; on phones the days have no bars. */
const [NAME_PIXELS, DAY_PIXELS, NARROW] = [38, 72, 480]
/** A diamond as wide as a circle is seen as larger, and its corners reach into the next cells. */
const DIAMOND = 0.82
const MAX_MARK_PIXELS = 24
const MAX_BAR_PIXELS = 26

const clock = (hour: number): string => `${String(hour % 24).padStart(2, '0')}:00`

/** The name of an hour of the week, such as `Wednesday, 20:00 to 21:00`. */
export const hourName = ({ weekday, hour }: Pick<Cell, 'weekday' | 'hour'>): string =>
  t().hours.hour(formatWeekday(weekday, 'long'), clock(hour), clock(hour + 1))

/** Returns the hour with the greatest average, the first of several; undefined if nothing was counted. */
export function busiestOf(cells: readonly Cell[]): Cell | undefined {
  const most = Math.max(0, ...cells.map(({ average = 0 }) => average))
  return most === 0 ? undefined : cells.find(({ average }) => average === most)
}

/** The sum of the averages of a day's hours; undefined if one of them was never recorded. */
const dayTotal = (cells: readonly Cell[], weekday: number): number | undefined =>
  cells
    .filter((cell) => cell.weekday === weekday)
    .reduce<number | undefined>(
      (sum, { average }) => (sum === undefined || average === undefined ? undefined : sum + average),
      0,
    )

/** The mean of an hour over the days of which it was recorded. */
function hourMean(cells: readonly Cell[], hour: number): number {
  const known = cells.flatMap((cell) => (cell.hour === hour && cell.average !== undefined ? [cell.average] : []))
  return known.length === 0 ? 0 : known.reduce((sum, each) => sum + each, 0) / known.length
}

/** Compares Saturday and Sunday with the other days: -0.3 is 30 % less. Undefined if a day is not known as a whole. */
export function compareWeekend(cells: readonly Cell[]): number | undefined {
  const totals = WEEKDAYS.map((weekday) => dayTotal(cells, weekday))
  const mean = (of: readonly (number | undefined)[]) =>
    of.reduce<number>((sum, each) => sum + (each ?? Number.NaN), 0) / of.length
  const [week, weekend] = [mean(totals.slice(0, 5)), mean(totals.slice(5))]
  const change = (weekend - week) / week
  return Number.isFinite(change) ? change : undefined
}

const STEPS: Readonly<Record<string, readonly [days: number, hours: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
}

/**
 * Averages by weekday and hour as areas of marks: one tab stop, arrows move, and the line below reads the cell out. Hours
 * that were never recorded are hatched. Long because of the table's head, rows and foot.
 */
export function WeekGrid({ of, cells }: { of: Audience; cells: readonly Cell[] }) {
  const texts = t().hours
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const busiest = busiestOf(cells)
  const [place, setPlace] = useState<number>()
  const first = busiest ?? cells[0]
  const current = cells[place ?? -1] ?? first
  const room = (width - NAME_PIXELS - (width <= NARROW ? 0 : DAY_PIXELS)) / 24
  const most = busiest?.average ?? 0
  const sizeOf = (average: number): number =>
    average <= 0 || most === 0
      ? 0
      : Math.max(2, Math.sqrt(average / most) * Math.min(MAX_MARK_PIXELS, room - 1) * (of === 'human' ? 1 : DIAMOND))
  const days = WEEKDAYS.map((weekday) => dayTotal(cells, weekday))
  const topDay = Math.max(0, ...days.map((total) => total ?? 0))
  const means = HOURS.map((hour) => hourMean(cells, hour))
  const topHour = Math.max(0, ...means)
  const move = (event: KeyboardEvent, index: number) => {
    const step = STEPS[event.key]
    if (!step) return
    event.preventDefault()
    const [weekday, hour] = [Math.floor(index / 24), index % 24]
    const next = ((weekday + step[0] + 7) % 7) * 24 + ((hour + step[1] + 24) % 24)
    setPlace(next)
    box.current?.querySelectorAll<HTMLElement>('td.hour')[next]?.focus()
  }
  return (
    <div class={`week-grid ${of}`} ref={box}>
      <table role="grid" aria-label={texts.grid[of]}>
        <thead>
          <tr>
            <th scope="col" class="name">
              <span class="visually-hidden">{texts.weekday}</span>
            </th>
            {HOURS.map((hour) => (
              <th scope="col" key={hour}>
                {hour % 6 === 0 ? clock(hour).slice(0, 2) : <span class="visually-hidden">{clock(hour)}</span>}
              </th>
            ))}
            <th scope="col" class="day" title={texts.perDayLong}>
              {texts.perDay}
            </th>
          </tr>
        </thead>
        <tbody>
          {WEEKDAYS.map((weekday, i) => (
            <tr key={weekday}>
              <th scope="row" class="name">
                {formatWeekday(weekday, 'short')}
              </th>
              {HOURS.map((hour) => {
                const index = i * 24 + hour
                const cell = cells[index]
                if (!cell) return <td key={hour} />
                return (
                  <Hour
                    key={hour}
                    cell={cell}
                    size={sizeOf(cell.average ?? 0)}
                    isBusiest={cell === busiest}
                    isCurrent={cell === current}
                    onShow={() => setPlace(index)}
                    onKey={(event) => move(event, index)}
                  />
                )
              })}
              <td class="day">
                <span class="day-bar">
                  <i style={{ width: `${topDay > 0 ? ((days[i] ?? 0) / topDay) * MAX_BAR_PIXELS : 0}px` }} />
                  {days[i] === undefined ? '–' : formatRatio(days[i])}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="hour-bars" aria-hidden="true">
        {means.map((mean, hour) => (
          <i key={hour} style={{ height: `${topHour > 0 ? (mean / topHour) * MAX_BAR_PIXELS : 0}px` }} />
        ))}
      </div>
      <p class="read-out" aria-live="polite">
        {current && (
          <>
            <b>{hourName(current)}</b>: {numbersOf(current, of)}
          </>
        )}
      </p>
      {most > 0 && (
        <p class="sizes">
          {[0.08, 0.3, 1].map((part) => (
            <span key={part}>
              <i class="mark" style={{ width: `${sizeOf(most * part)}px`, height: `${sizeOf(most * part)}px` }} />
              {formatRatio(most * part)}
            </span>
          ))}
          <span>
            <i class="frame" />
            {texts.busiest}
          </span>
          {cells.some(({ hours }) => hours === 0) && (
            <span>
              <i class="key-hatch" />
              {texts.unrecorded}
            </span>
          )}
        </p>
      )}
    </div>
  )
}

/** The numbers of a cell in words. */
function numbersOf({ hours, count = 0, average }: Cell, of: Audience): string {
  const texts = t().hours
  if (average === undefined) return texts.unrecorded
  const counted =
    of === 'human' ? quantity('/api/stats/hours sessions', count) : quantity('/api/stats/hours pageviews', count)
  return `${texts.average(formatRatio(average))} (${texts.from(counted, hours)})`
}

interface HourProps {
  cell: Cell
  /** Pixels; 0 for an hour in which nothing was counted. */
  size: number
  isBusiest: boolean
  isCurrent: boolean
  onShow(): void
  onKey(event: KeyboardEvent): void
}

function Hour({ cell, size, isBusiest, isCurrent, onShow, onKey }: HourProps) {
  const texts = t().hours
  const said = cell.average === undefined ? texts.unrecorded : texts.average(formatRatio(cell.average))
  return (
    <td
      role="gridcell"
      class={['hour', ...(isBusiest ? ['busiest'] : []), ...(cell.hours === 0 ? ['unrecorded'] : [])].join(' ')}
      tabIndex={isCurrent ? 0 : -1}
      onPointerEnter={onShow}
      onFocus={onShow}
      onKeyDown={onKey}
    >
      <span class="visually-hidden">{`${hourName(cell)}: ${said}`}</span>
      {size > 0 && <i class="mark" style={{ width: `${size}px`, height: `${size}px` }} />}
    </td>
  )
}
