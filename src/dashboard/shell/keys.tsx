import { signal } from '@preact/signals'
import { Dialog } from '../parts/dialogs.js'
import { type Compare, go, place, RANGES, viewPath } from '../state/address.js'
import { letterKeys } from '../state/preferences.js'
import { t } from '../texts/index.js'
import { savingSegment } from './chips.js'
import { searching } from './search.js'
import { AGENT_VIEWS, OVERVIEW, SITE_VIEWS } from './views.js'

export const showingKeys = signal(false)

/** The acts of the view on screen by key, such as `n` and `t` on a chart; the view registers and removes them. */
const ofView = new Map<string, () => void>()

/** Gives a key to a view. Returns the function that takes it back. */
export function onKey(key: string, run: () => void): () => void {
  ofView.set(key, run)
  return () => {
    if (ofView.get(key) === run) ofView.delete(key)
  }
}

const NEXT: Record<Compare, Compare> = { none: 'previous', previous: 'year', year: 'none' }

/** Moves the window by its own length; ranges become custom windows that end where they began. */
function shift(by: -1 | 1): void {
  const { start, end } = place.value
  const shown = shownWindow.value
  const from = Date.parse(start ?? shown?.start ?? '')
  const to = Date.parse(end ?? shown?.end ?? '')
  if (!Number.isFinite(from) || !Number.isFinite(to)) return
  const length = (to - from) * by
  if (from + length > Date.now()) return
  go({ start: new Date(from + length).toISOString(), end: new Date(to + length).toISOString() })
}

/** The window of the last answer, as the API resolved it. */
export const shownWindow = signal<{ start: string; end: string } | undefined>(undefined)

const RUN: Record<string, () => void> = {
  '/': () => (searching.value = true),
  '?': () => (showingKeys.value = true),
  '[': () => shift(-1),
  ']': () => shift(1),
  p: () => go({ show: 'human' }),
  a: () => go({ show: 'agent' }),
  b: () => go({ show: 'both' }),
  c: () => go({ compare: NEXT[place.value.compare] }),
  f: () => document.getElementById('add-filter')?.showPopover(),
  s: () => {
    if (place.value.filters.length > 0) savingSegment.value = true
  },
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Listens for shortcuts. Single keys can be switched off; they never act while the reader types or a dialog is open. */
export function listenForKeys(): void {
  let waiting = false
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (letterKeys.value === 'off' || isTyping(event.target) || document.querySelector('dialog[open], :popover-open'))
      return
    const { key } = event
    // A space on a button presses that button.
    if (key === ' ' && event.target instanceof Element && event.target.closest('button, a, summary')) return
    if (waiting) {
      waiting = false
      const to = [OVERVIEW, ...SITE_VIEWS, ...AGENT_VIEWS].find(({ letter }) => letter === key)
      if (to) {
        event.preventDefault()
        go({ path: viewPath(...(to.name === 'overview' ? [] : [to.name])) })
      }
      return
    }
    if (key === 'g') {
      waiting = true
      setTimeout(() => (waiting = false), 1_500)
      return
    }
    const range = /^\d$/.test(key) ? RANGES[(Number(key) + 9) % 10] : undefined
    const run = range ? () => go({ range }) : (ofView.get(key) ?? RUN[key])
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
    <Dialog title={shell.keys.title} onClose={close}>
      <table>
        <tbody>
          {shell.keys.list.map(([key, meaning]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{meaning}</td>
            </tr>
          ))}
          {[OVERVIEW, ...SITE_VIEWS, ...AGENT_VIEWS].map(({ name, letter }) => (
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
