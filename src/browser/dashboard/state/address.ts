import { computed, signal } from '@preact/signals'

/** One filter of the query parameter `filters`, or a group of them. */
export interface Filter {
  dimension: string
  op: string
  value?: string | number | boolean | readonly (string | number)[]
}
export interface FilterGroup {
  and?: FilterNode[]
  or?: FilterNode[]
  not?: FilterNode
}
export type FilterNode = Filter | FilterGroup

export const isFilter = (node: FilterNode): node is Filter => 'dimension' in node

/** Whether a value has the shape of a filter or of a group of them; the API checks the rest. */
export function isFilterNode(value: unknown): value is FilterNode {
  if (typeof value !== 'object' || value === null) return false
  const [dimension, op, and, or, not] = ['dimension', 'op', 'and', 'or', 'not'].map((name) => Reflect.get(value, name))
  if (dimension !== undefined) return typeof dimension === 'string' && typeof op === 'string'
  const lists = [and, or].filter((list) => list !== undefined)
  return (
    (lists.length > 0 || not !== undefined) &&
    lists.every((list) => Array.isArray(list) && list.every(isFilterNode)) &&
    (not === undefined || isFilterNode(not))
  )
}

/** The readership or readerships on screen: `both` asks twice and never adds. */
export type Show = 'human' | 'agent' | 'both'
export type Audience = 'human' | 'agent'

export const RANGES = ['today', 'yesterday', '24h', '7d', '30d', '90d', '12mo', 'mtd', 'ytd', 'all'] as const
export type Range = (typeof RANGES)[number]
const DEFAULT_RANGE: Range = '30d'
export type Compare = 'none' | 'previous' | 'year'

/** Everything that the URL says: where the reader is and what is asked. */
export interface Place {
  /** Decoded parts of the path below the base: `['sites', '1', 'pages', '/pricing']`. */
  readonly path: readonly string[]
  readonly show: Show
  readonly range: Range
  /** A custom window instead of `range`: two days of the site's zone (`2026-03-29`, the end included) or two instants. */
  readonly start?: string
  readonly end?: string
  readonly compare: Compare
  readonly filters: readonly FilterNode[]
  readonly segment?: number
  /** People without their suspected sessions. */
  readonly suspected?: 'exclude'
  /** Parameters of the view alone, such as `metric` and `dimension`. */
  readonly own: Readonly<Record<string, string>>
}

/** The address of the dashboard's root: `http://localhost:8081/` or `https://site.example/_readership/`. */
export const root = new URL('.', document.baseURI)

/** Whether the page stands in another website's frame (`?embed=1`): it has no lists of views then. */
export const isEmbedded = new URLSearchParams(location.search).get('embed') === '1'

const COMMON = new Set(['show', 'range', 'start', 'end', 'compare', 'filters', 'segment', 'suspected', 'embed'])

const oneOf = <T extends string>(values: readonly T[], text: string | null, fallback: T): T =>
  values.find((value) => value === text) ?? fallback

function parseFilters(text: string | null): FilterNode[] {
  try {
    const parsed: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(parsed) ? parsed.filter(isFilterNode) : []
  } catch {
    return []
  }
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Reads a URL. A value that the dashboard does not know counts as absent. */
function parsePlace(url: URL): Place {
  const query = url.searchParams
  const below = url.pathname.startsWith(root.pathname) ? url.pathname.slice(root.pathname.length) : ''
  const [start, end, segment] = [query.get('start'), query.get('end'), Number(query.get('segment'))]
  return {
    path: below.split('/').filter(Boolean).map(decode),
    show: oneOf(['human', 'agent', 'both'], query.get('show'), 'both'),
    range: oneOf(RANGES, query.get('range'), DEFAULT_RANGE),
    ...(start && end ? { start, end } : {}),
    compare: oneOf(['none', 'previous', 'year'], query.get('compare'), 'previous'),
    filters: parseFilters(query.get('filters')),
    ...(Number.isInteger(segment) && segment > 0 ? { segment } : {}),
    ...(query.get('suspected') === 'exclude' ? { suspected: 'exclude' } : {}),
    own: Object.fromEntries([...query].filter(([name]) => !COMMON.has(name))),
  }
}

/** Formats a place as a URL relative to nothing: path and query. Defaults are left out. */
function formatPlace(to: Place): string {
  const query = new URLSearchParams()
  if (to.show !== 'both') query.set('show', to.show)
  if (to.start !== undefined && to.end !== undefined) {
    query.set('start', to.start)
    query.set('end', to.end)
  } else if (to.range !== DEFAULT_RANGE) query.set('range', to.range)
  if (to.compare !== 'previous') query.set('compare', to.compare)
  if (to.filters.length > 0) query.set('filters', JSON.stringify(to.filters))
  if (to.segment !== undefined) query.set('segment', `${to.segment}`)
  if (to.suspected !== undefined) query.set('suspected', to.suspected)
  for (const [name, value] of Object.entries(to.own)) if (value !== '') query.set(name, value)
  if (isEmbedded) query.set('embed', '1')
  const text = query.toString()
  return `${root.pathname}${to.path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`
}

const url = signal(new URL(location.href))
addEventListener('popstate', () => {
  url.value = new URL(location.href)
})

/** The present place. */
export const place = computed(() => parsePlace(url.value))

/**
 * A change of place. A field that is undefined is removed. A new path drops the parameters of the view before, another
 * question the page of its list.
 */
export type Move = { [K in keyof Place]?: Place[K] | undefined }

function apply(move: Move): Place {
  const { start: _start, end: _end, segment: _segment, suspected: _suspected, ...kept } = place.value
  const window = 'range' in move || 'start' in move ? {} : pick(place.value, 'start', 'end')
  const segment = 'segment' in move ? {} : pick(place.value, 'segment')
  const suspected = 'suspected' in move ? {} : pick(place.value, 'suspected')
  const defined = Object.fromEntries(Object.entries(move).filter(([, value]) => value !== undefined))
  const { page: _page, ...stays } = kept.own
  const isAnother = ['show', 'range', 'start', 'filters', 'segment', 'suspected'].some((name) => name in move)
  const own = move.path ? { own: {} } : isAnother ? { own: stays } : {}
  return { ...kept, ...window, ...segment, ...suspected, ...own, ...defined }
}

function pick<K extends keyof Place>(from: Place, ...names: K[]): Pick<Place, K> {
  const entries = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]])
  return Object.fromEntries(entries)
}

/** Returns the address of a place that differs from the present one by `move`. */
export const hrefTo = (move: Move): string => formatPlace(apply(move))

/** Goes to another place. `replace` leaves no entry in the history. */
export function go(move: Move, replace = false): void {
  open(hrefTo(move), replace)
}

/** Another view begins at its top, with the focus on its content. Within one view neither moves. */
function open(href: string, replace: boolean): void {
  const before = location.pathname
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  url.value = new URL(location.href)
  if (replace || location.pathname === before) return
  document.getElementById('main')?.focus({ preventScroll: true })
  scrollTo(0, 0)
}

/** Follows links inside the dashboard without loading the page again. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || link.target || link.hasAttribute('download') || link.dataset.leave !== undefined) return
    const to = new URL(link.href)
    if (to.origin !== root.origin || !to.pathname.startsWith(root.pathname) || !isAppPath(to)) return
    event.preventDefault()
    open(to.href, false)
    if (to.hash) document.getElementById(to.hash.slice(1))?.scrollIntoView()
  })
}

/** The API, its documentation and the pages without a script are not part of the app. */
const isAppPath = (to: URL): boolean =>
  !/^(?:api|assets|sign-in|register|reset-password|confirm-email|invitation)(?:\/|$)/.test(
    to.pathname.slice(root.pathname.length),
  )

/** The site that a share link shows, once it is known. */
export const sharedSite = signal<number | undefined>(undefined)

/** The site on screen: `sites/1/…`, or the one of a share link, `share/SLUG/…`. */
export const siteId = computed(() => {
  const [first, id] = place.value.path
  if (first === 'share') return sharedSite.value
  return first === 'sites' && /^\d{1,9}$/.test(id ?? '') ? Number(id) : undefined
})
/** The view on screen and what follows it: `['pages', '/pricing']`. */
export const view = computed(() => place.value.path.slice(2))

/** Returns the path of a view of the present site. */
export function viewPath(...parts: (string | number)[]): string[] {
  const [first = 'sites', id = ''] = place.value.path
  return [first, first === 'share' ? id : `${siteId.value ?? id}`, ...parts.map(String)]
}
