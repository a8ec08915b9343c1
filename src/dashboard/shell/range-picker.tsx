import { Icon } from '../parts/marks.js'
import { Popover } from '../parts/popover.js'
import { go, place, RANGES } from '../state/address.js'
import { formatFullInstant, formatLongDay } from '../state/format.js'
import { timeZone } from '../state/session.js'
import { dayStart, nextDay } from '../state/zone.js'
import { t } from '../texts/index.js'

/** The name of the window on screen. */
export function windowName(): string {
  const { start, end, range } = place.value
  if (start === undefined || end === undefined) return t().shell.range[range]
  const [from, to] = [Date.parse(start), Date.parse(end)]
  const days = (to - from) / 86_400_000
  if (days >= 0.95 && days <= 1.05) return formatLongDay(from)
  return days > 1
    ? `${formatLongDay(from)} – ${formatLongDay(to - 1)}`
    : `${formatFullInstant(from)} – ${formatFullInstant(to)}`
}

const isoDay = (instant: number): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: timeZone.value, dateStyle: 'short' }).format(instant)

/** Names the time on screen at the start of a sentence. */
export function whenText(): string {
  const { start, range } = place.value
  return start === undefined ? t().shell.rangeInSentence[range] : t().shell.inWindow
}

/** The API's ranges, and own dates in the site's time zone. */
export function RangePicker() {
  const { shell } = t()
  const { range, start, end } = place.value
  const from = start === undefined ? '' : isoDay(Date.parse(start))
  const to = end === undefined ? '' : isoDay(Date.parse(end) - 1)
  return (
    <Popover
      menu
      class="control"
      label={`${shell.chooseRange}: ${windowName()}`}
      button={
        <>
          <Icon name="calendar" />
          {windowName()}
        </>
      }
    >
      {(close) => (
        <>
          {RANGES.map((each, i) => (
            <button
              key={each}
              type="button"
              aria-current={start === undefined && range === each}
              onClick={() => {
                go({ range: each })
                close()
              }}
            >
              {shell.range[each]} <kbd>{(i + 1) % 10}</kbd>
            </button>
          ))}
          <hr />
          <form
            onSubmit={(event) => {
              event.preventDefault()
              const fields = new FormData(event.currentTarget)
              const [a, b] = [`${fields.get('from')}`, `${fields.get('to')}`].sort()
              if (!a || !b) return
              go({ start: dayStart(a, timeZone.value), end: dayStart(nextDay(b), timeZone.value) })
              close()
            }}
          >
            <label class="field">
              <span>{shell.from}</span>
              <input type="date" name="from" required value={from} max={isoDay(Date.now())} />
            </label>
            <label class="field">
              <span>{shell.to}</span>
              <input type="date" name="to" required value={to} max={isoDay(Date.now())} />
            </label>
            <div class="buttons">
              <button type="submit" class="button">
                {shell.apply}
              </button>
            </div>
          </form>
        </>
      )}
    </Popover>
  )
}
