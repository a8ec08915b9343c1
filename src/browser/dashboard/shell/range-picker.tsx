import { Icon } from '../parts/marks.js'
import { Popover } from '../parts/popover.js'
import { go, place, RANGES } from '../state/address.js'
import { timeZone } from '../state/session.js'
import { windowName } from '../state/window.js'
import { dayOf, isDay } from '../state/zone.js'
import { t } from '../texts/index.js'

/** Returns a moment as `<input type=date>` takes it; `before` it by some milliseconds. */
const toDay = (moment: string, before = 0): string =>
  isDay(moment) ? moment : dayOf(Date.parse(moment) - before, timeZone.value)

/** The API's ranges, and own dates in the site's time zone. */
export function RangePicker() {
  const { shell } = t()
  const { range, start, end } = place.value
  const from = start === undefined ? '' : toDay(start)
  const to = end === undefined ? '' : toDay(end, 1)
  const today = dayOf(Date.now(), timeZone.value)
  return (
    <Popover
      menu
      class="control range-control"
      label={`${shell.chooseRange}: ${windowName()}`}
      button={
        <>
          <Icon name="calendar" />
          <span title={windowName()}>{windowName()}</span>
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
              const [first, last] = [`${fields.get('from')}`, `${fields.get('to')}`].sort()
              if (!first || !last) return
              go({ start: first, end: last })
              close()
            }}
          >
            <label class="field">
              <span>{shell.from}</span>
              <input type="date" name="from" required value={from} max={today} />
            </label>
            <label class="field">
              <span>{shell.to}</span>
              <input type="date" name="to" required value={to} max={today} />
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
