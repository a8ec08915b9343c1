import { signal } from '@preact/signals'
import { Dialog } from '../parts/dialogs.js'
import { type Compare, go, place, RANGES } from '../state/address.js'
import { letterKeys } from '../state/preferences.js'
import { shareSlug } from '../state/question.js'
import { hasRole } from '../state/session.js'
import { actOf } from '../state/view-keys.js'
import { shiftWindow, undoZoom } from '../state/window.js'
import { t } from '../texts/index.js'
import { savingSegment } from './chips.js'
import { searching } from './search.js'
import { openViews, pathOf } from './views.js'

export const showingKeys = signal(false)

const NEXT: Record<Compare, Compare> = { none: 'previous', previous: 'year', year: 'none' }

/** Moves the focus to the name of the next row of a table or list, or of the one before. */
function moveRow(by: -1 | 1): void {
  const names = [...document.querySelectorAll<HTMLElement>('main .row-name > :is(a, button):first-child')]
  const now = names.findIndex((name) => name.parentElement?.contains(document.activeElement))
  names[Math.max(0, now + by)]?.focus()
}

/** Excludes the row that has the focus, as a click with Alt does. */
function excludeRow(): void {
  const name = document.activeElement?.closest('.row-name')?.querySelector('button[aria-pressed]')
  name?.dispatchEvent(new MouseEvent('click', { altKey: true, bubbles: true }))
}

const RUN: Record<string, () => void> = {
  '/': () => (searching.value = shareSlug.value === undefined),
  '?': () => (showingKeys.value = true),
  '[': () => shiftWindow(-1),
  ']': () => shiftWindow(1),
  p: () => go({ show: 'human' }),
  a: () => go({ show: 'agent' }),
  b: () => go({ show: 'both' }),
  c: () => go({ compare: NEXT[place.value.compare] }),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: excludeRow,
  f: () => document.getElementById('add-filter')?.showPopover(),
  s: () => {
    savingSegment.value = place.value.filters.length > 0 && hasRole('member')
  },
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Listens for shortcuts. Single keys can be switched off; they never act while the reader types or a dialog is open. */
export function listenForKeys(): void {
  let waiting: ReturnType<typeof setTimeout> | undefined
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (isTyping(event.target) || document.querySelector('dialog[open], :popover-open')) return
    const { key } = event
    if (key === 'Escape') undoZoom()
    if (letterKeys.value === 'off') return
    // A space on a button presses that button.
    if (key === ' ' && event.target instanceof Element && event.target.closest('button, a, summary')) return
    if (waiting !== undefined) {
      clearTimeout(waiting)
      waiting = undefined
      const to = openViews().find(({ letter }) => letter === key)
      if (to) {
        event.preventDefault()
        go({ path: pathOf(to) })
      }
      return
    }
    if (key === 'g') {
      waiting = setTimeout(() => (waiting = undefined), 1_500)
      return
    }
    const range = /^\d$/.test(key) ? RANGES[(Number(key) + 9) % 10] : undefined
    const run = range ? () => go({ range }) : (actOf(key) ?? RUN[key])
    if (!run) return
    event.preventDefault()
    run()
  })
}

export function KeysDialog() {
  const { shell } = t()
  const close = () => {
    showingKeys.value = false
  }
  const names: Record<string, string> = shell.view
  return (
    <Dialog title={shell.keys.title} onClose={close} isText>
      <table class="keys">
        <tbody>
          {shell.keys.list.map(([key, meaning]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{meaning}</td>
            </tr>
          ))}
          {openViews().map(({ name, letter }) => (
            <tr key={name}>
              <td>
                <kbd>g {letter}</kbd>
              </td>
              <td>{names[name]}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="buttons">
        <button type="button" class="button" onClick={close}>
          {shell.close}
        </button>
      </div>
    </Dialog>
  )
}
