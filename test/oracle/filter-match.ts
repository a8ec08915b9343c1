import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'

/** A second implementation of filters, in plain JavaScript, one row at a time. It takes canonical names only. */
export interface SiteRows {
  /** The rows of the site in question. */
  events: readonly EventRow[]
  /** Milliseconds: start, and end (exclusive). */
  window: readonly [number, number]
  /** The last page of a session over its whole length. */
  sessionExitPage(session: bigint): string | undefined
  /** From a session's first row to its last. */
  sessionSeconds?(session: bigint): number | undefined
  goals?: readonly Goal[]
  /** The patterns of the site's sections, in the order in which they are tried. */
  sections?: readonly string[]
}
/** A goal as it is stored, in canonical names. */
export interface Goal {
  id: number
  name: string
  type: string
  match: Node
  revenue?: { property: string; currency: string }
}
type Row = EventRow | AgentEventRow
type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const nodes = (value: unknown): Node[] => (Array.isArray(value) ? value.filter(isNode) : [])

export function matches(filter: Node, row: Row, world: SiteRows): boolean {
  if (filter.and) return nodes(filter.and).every((f) => matches(f, row, world))
  if (filter.or) return nodes(filter.or).some((f) => matches(f, row, world))
  if (isNode(filter.not)) return !matches(filter.not, row, world)
  if (isNode(filter.has_done)) return visitorDid(filter.has_done, row, world)
  if (isNode(filter.has_not_done)) return !visitorDid(filter.has_not_done, row, world)
  const op = String(filter.op)
  if (filter.dimension === 'goal') return matchesGoal(filter, row, world)
  const negative = op.endsWith('_not') || op === 'is_not' || op === 'is_not_set'
  return matchesValue(filter, dimensionValue(String(filter.dimension), row, world)) !== negative
}

/** The filter that a goal stands for: hits of a kind, and further conditions. */
export function goalFilter({ type, match }: Pick<Goal, 'type' | 'match'>): Node {
  const { op, value } = match
  const kind = { page: 'pageview', event: 'custom' }[type] ?? type
  const subject = {
    ...{ page: 'pathname', event: 'event_name', outbound: 'prop:url', file_download: 'prop:url', form: 'prop:form' },
    ...{ scroll: 'scroll', duration: 'duration' },
  }
  const also = [
    ...nodes(match.props).map((prop) => ({ ...prop, dimension: `prop:${prop.key}` })),
    ...(isNode(match.pathname) ? [{ ...match.pathname, dimension: 'pathname' }] : []),
    ...(type === 'scroll' || type === 'duration' ? [] : [{ dimension: 'kind', op: 'is', value: kind }]),
  ]
  // Any form is a form, even one without a name.
  const any = op === 'is_set' && type !== 'scroll' && type !== 'duration'
  return { and: [...(any ? [] : [{ dimension: Reflect.get(subject, type), op, value }]), ...also] }
}

/** A filter names a goal by its name, or by its id if no goal has that name. A row may reach several goals. */
function matchesGoal(filter: Node, row: Row, world: SiteRows): boolean {
  const { goals = [] } = world
  const op = String(filter.op)
  const negative = op.endsWith('_not') || op === 'is_not' || op === 'is_not_set'
  const words = Array.isArray(filter.value) ? filter.value : [filter.value]
  const asked = op.endsWith('set')
    ? goals
    : words.flatMap((word) => {
        const named = goals.filter(({ name }) => matchesValue({ ...filter, value: word }, name))
        return named.length > 0 ? named : goals.filter(({ id }) => op.startsWith('is') && String(id) === String(word))
      })
  return asked.some((goal) => matches(goalFilter(goal), row, world)) !== negative
}

const visitorsByFilter = new WeakMap<Node, WeakMap<SiteRows, Set<bigint>>>()
function visitorDid(filter: Node, row: Row, world: SiteRows): boolean {
  const byWorld = visitorsByFilter.get(filter) ?? new WeakMap<SiteRows, Set<bigint>>()
  visitorsByFilter.set(filter, byWorld)
  const [from, to] = world.window
  const inWindow = ({ timestamp }: EventRow) => timestamp.getTime() >= from && timestamp.getTime() < to
  const found =
    byWorld.get(world) ??
    new Set(world.events.filter((e) => inWindow(e) && matches(filter, e, world)).map((e) => e.visitor_id))
  byWorld.set(world, found)
  return 'visitor_id' in row && found.has(row.visitor_id)
}

export function dimensionValue(dimension: string, row: Row, world: SiteRows): unknown {
  if (dimension === 'duration') return 'session_id' in row ? world.sessionSeconds?.(row.session_id) : undefined
  if (dimension === 'exit_page') return 'session_id' in row ? world.sessionExitPage(row.session_id) : undefined
  if (dimension === 'referrer_spam') return 'source' in row ? row.source === null && row.referrer !== null : undefined
  if (dimension.startsWith('prop:')) {
    if (!('props' in row) || row.props === null) return undefined
    // Half a surrogate pair is not JSON to the store, so the row has no properties.
    if (/\\ud[89a-f]/i.test(row.props)) return undefined
    const props: unknown = JSON.parse(row.props)
    const key = dimension.slice(5)
    const found = isNode(props) && Object.hasOwn(props, key) ? props[key] : undefined
    return found === undefined || found === null ? undefined : typeof found === 'string' ? found : JSON.stringify(found)
  }
  if (dimension === 'section') return sectionOfPath(world.sections ?? [], row.pathname)
  if (dimension === 'entry_section')
    return 'entry_page' in row && row.entry_page !== null
      ? sectionOfPath(world.sections ?? [], row.entry_page)
      : undefined
  const found: unknown = Reflect.get(row, dimension)
  // A visitor's id is shown as 16 hex digits.
  return typeof found === 'bigint' ? found.toString(16).padStart(16, '0') : (found ?? undefined)
}

function matchesValue(filter: Node, actual: unknown): boolean {
  if (actual === undefined || actual === null) return false
  const op = String(filter.op).replace(/_not(?=$|_set$)/, '')
  if (op === 'is_set') return actual !== ''
  // Stored as UTF-8, so half a surrogate pair is U+FFFD.
  const utf8 = (text: string) => (/[\ud800-\udfff]/.test(text) ? Buffer.from(text).toString() : text)
  const fold = (text: string) => (filter.case_sensitive === false ? utf8(text).toLowerCase() : utf8(text))
  const wanted = Array.isArray(filter.value) ? filter.value : [filter.value]
  const a = fold(String(actual))
  const someText = (test: (text: string) => boolean) => wanted.some((v) => test(fold(String(v))))
  const [low, high] = wanted.map(Number)
  const n = typeof actual === 'string' && actual.trim() === '' ? Number.NaN : Number(actual)
  switch (op) {
    case 'is':
      return wanted.some((v) => (typeof actual === 'string' ? a === fold(String(v)) : Number(actual) === Number(v)))
    case 'contains':
      return someText((t) => a.includes(t))
    case 'starts_with':
      return someText((t) => a.startsWith(t))
    case 'ends_with':
      return someText((t) => a.endsWith(t))
    case 'matches':
      return wanted.some((v) =>
        new RegExp(String(v), filter.case_sensitive === false ? 'iu' : 'u').test(String(actual)),
      )
    case 'matches_wildcard':
      return someText((t) => matchesWildcard(t, a))
    case 'gt':
      return n > (low ?? 0)
    case 'gte':
      return n >= (low ?? 0)
    case 'lt':
      return n < (low ?? 0)
    case 'lte':
      return n <= (low ?? 0)
    case 'between':
      return n >= (low ?? 0) && n <= (high ?? 0)
    default:
      throw new Error(`no operator ${op}`)
  }
}

/** Tries every length that a star can stand for; uses no regular expression. */
export function matchesWildcard(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  const stars = /^\*+/.exec(pattern)?.[0].length ?? 0
  if (stars === 0) return text !== '' && pattern[0] === text[0] && matchesWildcard(pattern.slice(1), text.slice(1))
  for (let length = 0; length <= text.length; length++) {
    if (matchesWildcard(pattern.slice(stars), text.slice(length))) return true
    if (stars === 1 && text[length] === '/') return false
  }
  return false
}

/** The first pattern that fits a path. A pattern that ends with a slash and a star also fits the folder itself. */
export const sectionOfPath = (sections: readonly string[], path: string): string | undefined =>
  sections.find((pattern) => {
    const forms = [pattern, ...(pattern.endsWith('/*') ? [pattern.slice(0, -2)] : [])]
    return forms.some((form) => matchesWildcard(form.replaceAll('*', '**'), path))
  })

/** The filter as its session's entry page has to pass it: what it says of the hit's path, it says of the entry page. */
export function atEntry(filter: Node): Node {
  if (filter.and) return { and: nodes(filter.and).map(atEntry) }
  if (filter.or) return { or: nodes(filter.or).map(atEntry) }
  if (isNode(filter.not)) return { not: atEntry(filter.not) }
  const there: Node = { pathname: 'entry_page', section: 'entry_section' }
  return { ...filter, dimension: there[String(filter.dimension)] ?? filter.dimension }
}
