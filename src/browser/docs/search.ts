import MiniSearch from 'minisearch'
import { INDEX_OPTIONS, type Section } from './index-options.js'

const MAX_RESULTS = 12

/** Returns the element of a page's frame. Throws if the frame lacks it. */
function find<T extends Element>(selector: string, type: new () => T): T {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`The page has no ${selector}.`)
  return element
}

const form = find('#search', HTMLFormElement)
const input = find('#search input', HTMLInputElement)
const results = find('#results', HTMLElement)
const status = find('#results [role=status]', HTMLElement)
const list = find('#results ol', HTMLOListElement)

let index: Promise<MiniSearch<Section>> | undefined
/** Loads the index once; a failed load is tried again at the next letter. */
function loadIndex(): Promise<MiniSearch<Section>> {
  index ??= fetch(form.dataset.index ?? '')
    .then((response) => {
      if (!response.ok || !response.body) throw new Error(`The index responded with ${response.status}.`)
      return new Response(response.body.pipeThrough(new DecompressionStream('gzip'))).text()
    })
    .then((json) => MiniSearch.loadJSON<Section>(json, INDEX_OPTIONS))
    .catch((error: unknown) => {
      index = undefined
      throw error
    })
  return index
}

function resultItem({ page, title, href, start }: Pick<Section, 'page' | 'title' | 'href' | 'start'>): HTMLLIElement {
  const link = document.createElement('a')
  link.href = href
  const name = document.createElement('b')
  name.textContent = title === page ? page : `${page}: ${title}`
  const text = document.createElement('span')
  text.textContent = start
  link.append(name, text)
  const item = document.createElement('li')
  item.append(link)
  return item
}

/** Shows the sections that match the words of the field, or closes the list if the field is empty. */
async function show(): Promise<void> {
  const words = input.value.trim()
  if (words === '') {
    results.hidden = true
    return
  }
  try {
    const sections = (await loadIndex()).search(words)
    // A later letter has its own answer.
    if (words !== input.value.trim()) return
    list.replaceChildren(
      ...sections.slice(0, MAX_RESULTS).map(({ page, title, href, start }) => resultItem({ page, title, href, start })),
    )
    status.textContent = sections.length === 1 ? '1 section' : `${sections.length} sections`
  } catch {
    list.replaceChildren()
    status.textContent = 'The search index could not be loaded.'
  }
  results.hidden = false
}

const links = (): HTMLAnchorElement[] => [...list.querySelectorAll('a')]

/** Moves the focus between the field and the results; the field stands before the first one. */
function move(by: 1 | -1): void {
  const stops = [input, ...links()]
  const at = stops.findIndex((stop) => stop.contains(document.activeElement))
  stops[Math.min(Math.max(at + by, 0), stops.length - 1)]?.focus()
}

function close(): void {
  input.value = ''
  results.hidden = true
}

/** Whether the person has turned the dashboard's keys of one letter off (WCAG 2.1.4). */
function letterKeysAreOff(): boolean {
  try {
    return localStorage.getItem('readership.letter-keys') === 'off'
  } catch {
    return false
  }
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)

form.hidden = false
input.addEventListener('focus', () => void loadIndex().catch(() => {}), { once: true })
input.addEventListener('input', () => void show())
form.addEventListener('submit', (event) => {
  event.preventDefault()
  links()[0]?.click()
})
form.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault()
    move(event.key === 'ArrowDown' ? 1 : -1)
  } else if (event.key === 'Escape') {
    close()
    input.focus()
  }
})
// A link to a section of the same page leaves the page where it is.
list.addEventListener('click', () => close())
document.addEventListener('click', ({ target }) => {
  if (target instanceof Node && !form.contains(target)) results.hidden = true
})
document.addEventListener('keydown', (event) => {
  if (
    event.key !== '/' ||
    letterKeysAreOff() ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    isTyping(event.target)
  )
    return
  event.preventDefault()
  input.focus()
})
