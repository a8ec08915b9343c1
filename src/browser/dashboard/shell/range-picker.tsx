import { Icon } from '../parts/marks.js'
import { Popover } from '../parts/popover.js'
import { go, type Move, place, RANGES } from '../state/address.js'
import { timeZone } from '../state/session.js'
import { presentDays, windowName } from '../state/window.js'
import { dayOf, monthBefore } from '../state/zone.js'
import { t } from '../texts/index.js'

interface Choice {
  name: string
  /** The digit that chooses it anywhere on the page. */
  digit?: number
  isChosen: boolean
  move: Move
}

/** The API's ranges, with the month before this one after the present month. */
function listChoices(today: string): Choice[] {
  const { shell } = t()
  const { range, start, end } = place.value
  const month = monthBefore(today)
  const lastMonth = {
    name: shell.lastMonth,
    isChosen: start === month.start && end === month.end,
    move: month,
  }
  return RANGES.flatMap((each, i) => {
    const isChosen = start === undefined && range === each
    const choice = { name: shell.range[each], digit: (i + 1) % 10, isChosen, move: { range: each } }
    return each === 'mtd' ? [choice, lastMonth] : [choice]
  })
}

/** The ranges, and own dates in the site's time zone. */
export function RangePicker() {
  const { shell } = t()
  const today = dayOf(Date.now(), timeZone.value)
  const shown = presentDays()
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
          {listChoices(today).map(({ name, digit, isChosen, move }) => (
            <button
              key={name}
              type="button"
              aria-current={isChosen}
              onClick={() => {
                go(move)
                close()
              }}
            >
              {name} {digit !== undefined && <kbd>{digit}</kbd>}
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
              <input type="date" name="from" required defaultValue={shown?.start} max={today} />
            </label>
            <label class="field">
              <span>{shell.to}</span>
              <input type="date" name="to" required defaultValue={shown?.end} max={today} />
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
