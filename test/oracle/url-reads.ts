import type { AgentEventRow, EventRow, Rows } from '../../src/storage/rows.js'
import { eventRow } from '../fixtures/rows.js'
import { withoutSuspected } from './check-read.js'
import { matches, type SiteRows } from './filter-match.js'
import { recountPolicyReads, recountViolations } from './policy-reads.js'

/** Recounts the reads about URLs row by row. */
export interface UrlQuestion {
  site: number
  /** Milliseconds: start, and end (exclusive). */
  window: readonly [number, number]
  filters: readonly Node[]
  /** Sessions of people with a suspected row are left out. */
  suspected?: 'exclude'
}
type Node = Readonly<Record<string, unknown>>
type Row = EventRow | AgentEventRow
export interface UrlWorld {
  rows: Rows
  sitemap: readonly (readonly [string, string])[]
  hostOf(site: number, hostname: string): boolean
  obeys: ReadonlyMap<string, string>
  /** From source to operator. */
  assistants: ReadonlyMap<string, string>
  blocks(url: { hostname: string; pathname: string }, operator: string | undefined): boolean
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null
const nodes = (value: unknown): Node[] => (Array.isArray(value) ? value.filter(isNode) : [])

/** The dimensions of both audiences; all others belong to people. */
const OF_BOTH = new Set(['hostname', 'pathname', 'country', 'asn'])
const OF_AGENTS = new Set([
  ...['agent_id', 'operator', 'purpose', 'verified', 'verification', 'status', 'method', 'content_type'],
  ...['user_agent', 'robots_allowed', 'llms_listed', 'conditional', 'action', 'rule', 'accepts'],
])

/** Returns whether a row passes a filter; undefined if the filter does not apply to such rows. */
function passesFilter(
  filter: Node,
  row: Row,
  world: SiteRows,
  asks: (dimension: string) => boolean,
): boolean | undefined {
  const parts = nodes(filter.and ?? filter.or).map((part) => passesFilter(part, row, world, asks))
  if (filter.and) return parts.includes(false) ? false : parts.includes(undefined) ? undefined : true
  if (filter.or) return parts.includes(true) ? true : parts.includes(undefined) ? undefined : false
  if (isNode(filter.not)) {
    const part = passesFilter(filter.not, row, world, asks)
    return part === undefined ? undefined : !part
  }
  const name = String(filter.dimension)
  const own = 'session_id' in row ? !OF_AGENTS.has(name) : OF_AGENTS.has(name) || OF_BOTH.has(name)
  if (!asks(name) || !own) return undefined
  return matches(filter, row, world)
}

const isPageRead = (pathname: string, type: string | null, row: AgentEventRow): boolean => {
  if (row.method !== 'GET' || ![200, 206, 304].includes(row.status)) return false
  if (type !== null) return /^(text\/html|application\/xhtml\+xml|text\/(x-)?markdown|application\/pdf)$/.test(type)
  return row.status === 304 && (row.is_pageview || /\.(md|markdown|pdf)$/i.test(pathname))
}

/** Whether no rule of the operator refused the fetch: a refused one reads nothing. */
const isServed = ({ action }: AgentEventRow) => action === null || action === 'allow'

const urlKey = ({ hostname, pathname }: { hostname: string; pathname: string }) => `${hostname} ${pathname}`
const urlOf = (name: string) => {
  const at = name.indexOf(' ')
  return { hostname: name.slice(0, at), pathname: name.slice(at + 1) }
}
const groupBy = <R>(rows: readonly R[], key: (row: R) => string): Map<string, R[]> => {
  const groups = new Map<string, R[]>()
  for (const row of rows) {
    const own = groups.get(key(row)) ?? []
    own.push(row)
    groups.set(key(row), own)
  }
  return groups
}
const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
/** Sorts by the numbers, greatest first, then by the names. */
const rankRows = <R>(rows: R[], numbers: (row: R) => readonly number[], names: (row: R) => readonly unknown[]) =>
  rows.sort((a, b) => {
    const [x, y] = [numbers(a), numbers(b)]
    const i = x.findIndex((n, i) => n !== y[i])
    if (i >= 0) return (y[i] ?? 0) - (x[i] ?? 0)
    const [s, u] = [names(a), names(b)]
    const j = s.findIndex((name, j) => name !== u[j])
    if (j < 0) return 0
    if (s[j] === undefined || u[j] === undefined) return s[j] === undefined ? 1 : -1
    return typeof s[j] === 'string' ? bytes(String(s[j]), String(u[j])) : Number(s[j]) - Number(u[j])
  })

export function recountUrlReads(given: UrlWorld, q: UrlQuestion) {
  const { events: people } = q.suspected ? withoutSuspected(given.rows) : given.rows
  const events = people.filter((row) => row.site_id === q.site)
  const fetches = given.rows.agent_events.filter((row) => row.site_id === q.site)
  const exits = new Map<bigint, EventRow>()
  for (const row of events) {
    const last = exits.get(row.session_id)
    const later = !last || row.timestamp > last.timestamp
    const same = last && row.timestamp.getTime() === last.timestamp.getTime() && bytes(row.pathname, last.pathname) > 0
    if (row.kind === 'pageview' && (later || same)) exits.set(row.session_id, row)
  }
  const world: SiteRows = { events, window: q.window, sessionExitPage: (id) => exits.get(id)?.pathname }
  const passes = (row: Row, asks: (dimension: string) => boolean = () => true) =>
    q.filters.every((filter) => passesFilter(filter, row, world, asks) !== false)
  const [from, to] = q.window
  const within = ({ timestamp }: Row, start = from, end = to) =>
    timestamp.getTime() >= start && timestamp.getTime() < end
  const siteWide = (dimension: string) => dimension !== 'hostname' && dimension !== 'pathname'

  const views = events.filter((row) => row.kind === 'pageview' && passes(row))
  const passed = fetches.filter((row) => passes(row))

  function coverage(order: 'fetches' | 'stale') {
    const read = groupBy(
      views.filter((row) => within(row)),
      urlKey,
    )
    const crawled = groupBy(
      passed.filter((row) => within(row, 0)),
      urlKey,
    )
    const listed = new Set(
      given.sitemap
        .map(([hostname, pathname]) => ({ hostname, pathname }))
        .filter((url) => given.hostOf(q.site, url.hostname) && passes(eventRow(url), (name) => !siteWide(name)))
        .map(urlKey),
    )
    const rows = [...new Set([...read.keys(), ...crawled.keys(), ...listed])].flatMap((name) => {
      const all = crawled.get(name) ?? []
      const now = all.filter((row) => within(row))
      const own = all.filter((row) => row.verified !== false && isServed(row))
      const pageviews = read.get(name)?.length ?? 0
      if (now.length === 0 && pageviews === 0 && !listed.has(name)) return []
      const times = (rows: readonly Row[]) => rows.map((row) => row.timestamp.getTime())
      const first = Math.min(...times(own.filter((row) => within(row))))
      const last = Math.max(...times(own))
      const lasts = own.filter((row) => row.timestamp.getTime() === last)
      const robots = lasts.map((row) => row.robots_allowed)
      const llms = lasts.flatMap((row) => row.llms_listed ?? [])
      return {
        ...urlOf(name),
        ...(Number.isFinite(first) ? { first_crawl: new Date(first).toISOString() } : {}),
        ...(lasts.length > 0
          ? {
              last_crawl: new Date(last).toISOString(),
              freshness_gap: (to - last) / 1000,
              last_status: Math.max(...lasts.map((row) => row.status)),
            }
          : {}),
        ...(lasts.length > 0 && !robots.includes(null) ? { robots_allowed: !robots.includes(false) } : {}),
        ...(llms.length > 0 ? { llms_listed: Math.min(...llms) } : {}),
        fetches: now.length,
        spoofed: now.filter((row) => row.verified === false).length,
        agents: [...new Set(own.filter((row) => within(row)).map((row) => row.agent_id))].sort(),
        in_sitemap: listed.has(name),
        pageviews,
      }
    })
    const numbers = (row: (typeof rows)[number]) =>
      order === 'fetches'
        ? [row.fetches, row.pageviews]
        : [row.freshness_gap === undefined ? 1 : 0, row.freshness_gap ?? 0, row.pageviews, row.fetches]
    return rankRows(rows, numbers, (row) => [row.hostname, row.pathname])
  }

  function citations(operator: string | undefined, threshold = 3) {
    const own = fetches.filter(
      (row) =>
        within(row) &&
        (row.purpose === 'search' || row.purpose === 'assistant') &&
        row.verified !== false &&
        (operator === undefined || row.operator === operator),
    )
    // The assistant that repeated the link of an advertisement elsewhere.
    const sender = ({ referrer, source, channel }: EventRow) =>
      /^(?:Paid |Display$|Cross-network$)/.test(channel) && !given.assistants.has(source ?? '')
        ? given.assistants.get(referrer === null ? '' : new URL(referrer).hostname.replace(/^www\./, ''))
        : undefined
    const whose = (row: EventRow) => sender(row) ?? given.assistants.get(row.source ?? '')
    const came = (row: EventRow) =>
      (row.channel === 'AI Assistants' || sender(row) !== undefined) &&
      row.timestamp.getTime() === row.session_start.getTime() &&
      row.pathname === row.entry_page &&
      (operator === undefined || whose(row) === operator)
    const people = events.filter((row) => row.kind === 'pageview' && within(row))

    const urlsOf = (asks?: (dimension: string) => boolean) => {
      const fetched = groupBy(
        own.filter((row) => passes(row, asks)),
        urlKey,
      )
      const read = groupBy(
        people.filter((row) => passes(row, asks)),
        urlKey,
      )
      return [...new Set([...fetched.keys(), ...read.keys()])].flatMap((name) => {
        const rows = fetched.get(name) ?? []
        const views = read.get(name) ?? []
        const refused =
          rows.filter((row) => [401, 403, 429].includes(row.status) || !isServed(row)).length / rows.length > 0.5
        const n = rows.filter((row) => isPageRead(row.pathname, row.content_type, row)).length
        const arrivals = new Set(views.filter(came).map((row) => row.session_id)).size
        const ratio = arrivals > 0 ? { ratio: n / arrivals } : {}
        return n > 0 || views.length > 0 || refused ? [{ ...urlOf(name), fetches: n, arrivals, ...ratio, refused }] : []
      })
    }
    const whole = urlsOf(siteWide)
    /** The page's name without a final slash, `index` and `.html`; of a Markdown twin also without `.md`. */
    const pageOf = ({ hostname, pathname }: { hostname: string; pathname: string }) =>
      [/\.(md|markdown)$/i, /\.html?$/i, /\/index$/i, /\/$/].reduce(
        (name, end) => name.replace(end, ''),
        `${hostname} ${pathname}`,
      )
    const isMarkdown = ({ pathname }: { pathname: string }) => /\.(md|markdown)$/i.test(pathname)
    const pages = new Set(whole.filter((url) => !isMarkdown(url)).map(pageOf))
    const ratios = whole
      .filter((url) => url.fetches > 0 && (url.fetches >= 10 || url.arrivals >= 3))
      .flatMap(({ ratio }) => ratio ?? [])
      .sort((a, b) => a - b)
    const middle = ratios.slice(Math.ceil(ratios.length / 2) - 1, Math.floor(ratios.length / 2) + 1)
    const median = middle.reduce((sum, n) => sum + n, 0) / middle.length
    const verdictOf = (url: ReturnType<typeof urlsOf>[number]): string => {
      if (url.refused || given.blocks(url, operator)) return 'blocked'
      if (isMarkdown(url) && pages.has(pageOf(url))) return 'twin'
      if (url.fetches === 0 && url.arrivals === 0) return 'unseen'
      if (url.fetches < 10 && url.arrivals < 3) return 'insufficient'
      if (url.fetches === 0) return 'unfetched'
      if (url.ratio === undefined || url.ratio > threshold * median) return 'gap'
      return url.ratio < median / 3 ? 'earning' : 'balanced'
    }
    const urls = urlsOf().map((url) => {
      const { refused: _, ...shown } = url
      return { ...shown, verdict: verdictOf(url) }
    })
    const rows = rankRows(
      urls,
      (url) => [url.fetches, url.arrivals],
      (url) => [url.hostname, url.pathname],
    )
    const totals = (list: readonly { fetches: number; arrivals: number }[]) => {
      const fetches = list.reduce((sum, url) => sum + url.fetches, 0)
      const arrivals = list.reduce((sum, url) => sum + url.arrivals, 0)
      return { fetches, arrivals, ...(arrivals > 0 ? { ratio: fetches / arrivals } : {}) }
    }
    const read = own.filter((row) => passes(row) && isPageRead(row.pathname, row.content_type, row))
    const arrived = people.filter((row) => passes(row) && came(row))
    const operators = [...new Set([...read.map((row) => row.operator), ...arrived.map(whose)])].map((name) => ({
      ...(name === undefined ? {} : { operator: name }),
      ...totals([
        { fetches: read.filter((row) => row.operator === name).length, arrivals: 0 },
        {
          fetches: 0,
          arrivals: new Set(arrived.filter((row) => whose(row) === name).map((row) => row.session_id)).size,
        },
      ]),
    }))
    const verdicts = ['blocked', 'twin', 'unseen', 'insufficient', 'unfetched', 'gap', 'earning', 'balanced']
    return {
      rows,
      summary: {
        ...totals(rows),
        ...(ratios.length > 0 ? { median } : {}),
        threshold,
        urls: Object.fromEntries(verdicts.map((name) => [name, rows.filter((url) => url.verdict === name).length])),
        operators: rankRows(
          operators,
          (each) => [each.fetches, each.arrivals],
          (each) => [each.operator],
        ),
      },
    }
  }

  function decay(long: boolean) {
    const base = 2 * from - to
    const before = <R extends Row>(rows: readonly R[]) => rows.filter((row) => within(row, base, from))
    const now = <R extends Row>(rows: readonly R[]) => rows.filter((row) => within(row))
    const all = events.filter((row) => row.kind === 'pageview' && passes(row, siteWide))
    const [was, is] = [before(all).length, now(all).length]
    const demand = passed.filter(
      (row) =>
        row.verified !== false && isServed(row) && !['monitor', 'seo'].includes(row.purpose) && within(row, base, to),
    )
    const [people, agents] = [
      groupBy(
        views.filter((row) => within(row, base, to)),
        urlKey,
      ),
      groupBy(demand, urlKey),
    ]
    const latest = <R extends Row>(rows: readonly R[]) => {
      const at = Math.max(...rows.map((row) => row.timestamp.getTime()))
      return rows.filter((row) => row.timestamp.getTime() === at)
    }
    const isPage = ({ status }: AgentEventRow) => (status >= 200 && status < 300) || status === 304
    const rows = [...people].map(([name, read]) => {
      const fetched = agents.get(name) ?? []
      const side = (a: number, b: number) => ({ before: a, now: b, ...(a > 0 ? { change: (b - a) / a } : {}) })
      const human = side(before(read).length, now(read).length)
      const machine = side(before(fetched).length, now(fetched).length)
      const gone = latest(before(fetched)).some(isPage) && now(fetched).length > 0 && !latest(now(fetched)).some(isPage)
      const shut = [...groupBy(fetched, (row) => row.agent_id).values()].some((rows) => {
        const known = rows.filter((row) => row.robots_allowed !== null)
        const [then, last] = [latest(before(known)), latest(now(known))]
        const is = (row: AgentEventRow) => row.robots_allowed === true
        return then.some(is) && ((last.length > 0 && !last.some(is)) || given.blocks(urlOf(name), undefined))
      })
      const adjusted = human.before > 0 && was > 0 && is > 0 ? human.now / human.before / (is / was) - 1 : undefined
      const fell = adjusted !== undefined && adjusted <= -0.25 + 1e-12
      const held = machine.now > machine.before * 0.9
      const verdict =
        !long || human.before < 50 || machine.before < 10
          ? 'insufficient'
          : gone || shut
            ? 'blocked'
            : fell
              ? held
                ? 'decaying'
                : 'fading'
              : 'steady'
      const rank = verdict === 'insufficient' ? 3 : !fell ? 2 : held ? 0 : 1
      const url = urlOf(name)
      return {
        row: {
          ...{
            ...url,
            people: { ...human, ...(adjusted === undefined ? {} : { adjusted }) },
            agents: machine,
            verdict,
          },
        },
        numbers: [-rank, human.before - human.now],
      }
    })
    return rankRows(
      rows,
      ({ numbers }) => numbers,
      ({ row }) => [row.hostname, row.pathname],
    ).map(({ row }) => row)
  }

  const disallowed = passed.filter((row) => within(row) && row.robots_allowed === false)
  return {
    coverage,
    citations,
    decay,
    ...recountViolations(disallowed, given.obeys),
    ...recountPolicyReads(passed, given.obeys, q.window),
  }
}
