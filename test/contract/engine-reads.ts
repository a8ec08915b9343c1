import type { Test } from 'tap'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import {
  AUDIENCES,
  type Audience,
  audiencesWith,
  DIMENSIONS,
  type Dimension,
} from '../../src/analytics/query/dimensions.js'
import { METRICS } from '../../src/analytics/query/metrics.js'
import { prepareRead, type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import type { Read } from '../../src/analytics/query/read.js'
import { reads } from '../../src/analytics/reads/index.js'
import { ASSISTANTS } from '../../src/base/assistants.js'
import { ApiError } from '../../src/base/errors.js'
import type { PageEditionChanges } from '../../src/storage/page-samples.js'
import type { EventRow, Rows } from '../../src/storage/rows.js'
import type { Store } from '../../src/storage/store.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { generateRows, MAX_VISITORS } from '../fixtures/generated-sessions.js'
import { editionRow } from '../fixtures/rows.js'
import { dependencies, FILTERS } from '../oracle/generated-site.js'

const size = Number(process.env.CONTRACT_ROWS ?? 3_000)
/** More rows than in the normal run: every set of filters is asked. */
export const whole = size > 3_000
/** One of so many questions is asked; in each state of the store, others. */
const every = whole && !process.env.CONTRACT_EVERY ? 1 : Number(process.env.CONTRACT_EVERY ?? 56)
/** A generated site of `CONTRACT_ROWS` rows, about half of them people's. */
export function contractRows(): Rows {
  const visitors = whole ? MAX_VISITORS : undefined
  const sessions = Math.ceil(size / (whole ? 10 : 12))
  const rows = generateRows({ seed: 20261123, sessions, agents: size / 2, ...(visitors && { visitors }) })
  return { ...rows, events: withoutOverlaps(rows.events) }
}

/** An edition of each page that agents fetched, and one before it. */
export function contractEditions({ agent_events }: Rows): PageEditionChanges {
  const pages = new Map(agent_events.map((row) => [`${row.site_id} ${row.hostname} ${row.pathname}`, row]))
  const put = [...pages.values()].flatMap(({ site_id, hostname, pathname, timestamp }, n) => {
    const [before, prior_seen] = [new Date(+timestamp - 9_000), new Date(+timestamp - 5_000)]
    const page = { site_id, hostname: hostname ?? '', pathname: pathname ?? '' }
    return [
      editionRow({ ...page, first_seen: before, last_seen: prior_seen, replaced_at: timestamp }),
      editionRow({
        ...{ ...page, first_seen: timestamp, prior_seen, varies: n % 7 === 0, agent_seen: timestamp },
        ...{ agent_digest: n % 5 === 0 ? 'digest' : 'other', agent_samples: n % 6, agent_text_length: 9 },
        ...{ agent_headings: 1, agent_links: 2, agent_line: n % 3 === 0 ? null : 'For agents' },
      }),
    ]
  })
  return { put, remove: [] }
}

const ROWS_PER_COMMIT = 10_000
/** Appends rows in commits of a size that a journal takes. */
export async function appendInParts(store: Store, { events, agent_events }: Rows): Promise<void> {
  for (let from = 0; from < Math.max(events.length, agent_events.length); from += ROWS_PER_COMMIT) {
    const part = <R>(list: readonly R[]) => list.slice(from, from + ROWS_PER_COMMIT)
    await store.append({ events: part(events), agent_events: part(agent_events) })
  }
}

/** Leaves out sessions that overlap another one of their visitor: the worker makes none, and aggregates rely on that. */
function withoutOverlaps(events: readonly EventRow[]): EventRow[] {
  const sessions = new Map<string, { visitor: string; start: number; end: number }>()
  for (const { site_id, session_id, visitor_id, session_start, timestamp } of events) {
    const key = `${site_id} ${session_id}`
    const session = sessions.get(key) ?? { visitor: `${site_id} ${visitor_id}`, start: +session_start, end: 0 }
    sessions.set(key, { ...session, end: Math.max(session.end, +timestamp) })
  }
  const ends = new Map<string, number>()
  const kept = new Set<string>()
  for (const [key, { visitor, start, end }] of [...sessions].sort(([, a], [, b]) => a.start - b.start)) {
    if (start <= (ends.get(visitor) ?? 0)) continue
    ends.set(visitor, end)
    kept.add(key)
  }
  return events.filter(({ site_id, session_id }) => kept.has(`${site_id} ${session_id}`))
}

const ZONES = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Los_Angeles', 'Asia/Kolkata']
const COMPARES = ['none', 'previous', 'year']
const WINDOWS = [
  ...['range=30d', 'range=all', 'start=2026-10-20T22:00:00Z&end=2026-11-01T09:10:00Z', 'range=90d', 'range=today'],
  ...['start=2026-03-20T05:00:00Z&end=2026-03-31T07:30:00Z&granularity=week', 'range=12mo', 'range=24h'],
]
const dimensionsOf = (table: 'events' | 'agent_events') =>
  DIMENSIONS.filter(({ tables }) => tables.includes(table)).map(({ name }) => `dimension=${name}`)

/** The parameters of a read that has some of its own. */
const PARAMS: Readonly<Record<string, (audience: Audience) => readonly string[]>> = {
  '/api/stats/breakdown': (audience) =>
    audience === 'agent'
      ? dimensionsOf('agent_events')
      : audience === 'all'
        ? dimensionsOf('events').filter((one) => dimensionsOf('agent_events').includes(one))
        : [...dimensionsOf('events'), 'dimension=prop:plan', 'dimension=prop:price', 'dimension=prop:value'],
  '/api/stats/timeseries': (audience) => METRICS[audience].map((metric) => `metric=${metric}`),
  '/api/agents/breakdown': () => dimensionsOf('agent_events'),
  '/api/agents/coverage': () => ['', 'order=stale'],
  '/api/agents/llms-links': () => ['', 'hostname=example.com&hours=1'],
  '/api/stats/journeys': () => ['depth=8', 'depth=3&start=/', 'depth=8&start=/docs'],
  '/api/stats/journeys/steps': () => ['steps=/', 'steps=/docs', 'steps=%5B%22/%22,%22/docs%22%5D'],
  '/api/stats/retention': () => ['granularity=week', 'granularity=day', '', 'align=ids&granularity=week'],
  '/api/stats/performance': () => ['', 'dimension=pathname', 'dimension=device_type'],
  '/api/stats/events': () => ['', 'name=signup', 'property=price'],
  '/api/stats/funnel/{id}': () => ['per=session', 'per=visitor', 'step=2&outcome=dropped', 'per=visitor&step=1'],
  '/api/citation-gap': () => ['', 'operator=OpenAI'],
  '/api/citation-gap/summary': () => ['', 'operator=OpenAI'],
  '/api/answers': () => ['minutes=60', 'by=page_operator&minutes=60', 'by=operator&operator=OpenAI'],
  '/api/answers/summary': () => ['minutes=60'],
  '/api/bill': () => ['', 'operator=OpenAI'],
}

const VALUES: Readonly<Record<string, unknown>> = { exit_page: '/docs', goal: 'pro', duration: 60, referrer_spam: true }
const OPERATORS = { text: ['is', 'is_not', 'contains'], number: ['gte', 'between', 'is_not'] } as const

/** A filter by the dimension, with values that some rows have. */
function filterBy({ name, type, tables }: Dimension, n: number, rows: Rows): Record<string, unknown> {
  const stored = tables.flatMap((table) => rows[table].map((row) => new Map(Object.entries(row)).get(name) ?? []))
  const values = [...new Set(stored)].flat().toSorted()
  const found = VALUES[name] ?? values[Math.floor(values.length / 2)]
  const value = typeof found === 'bigint' ? hex(found) : found
  if (value === undefined) return { dimension: name, op: 'is_not_set' }
  if (type === 'boolean' || type === 'flag') return { dimension: name, op: 'is', value }
  const op = pick(OPERATORS[type], n)
  return { dimension: name, op, value: op === 'between' ? [value, Number(value) + 100] : value }
}

/** Sets of filters; all of them have one for each dimension, too. */
function listFilters(audience: Audience, rows: Rows) {
  const dimensions = whole ? DIMENSIONS.filter((each) => audiencesWith(each).includes(audience)) : []
  return [...FILTERS[audience], ...dimensions.map((each, n) => [filterBy(each, n, rows)])]
}

const pick = <V>(list: readonly V[], i: number): V | undefined => list[i % list.length]

/** Rounds to ten digits: engines sum in another order. Leaves out how long a read took. */
const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each) =>
      key === 'took_ms' ? 0 : typeof each === 'number' ? Number(each.toPrecision(10)) : each,
    ),
  )

interface AskOptions {
  words: Record<string, string>
  /** The whole list is read in parts, as an export reads it. */
  streamed?: boolean
}

async function answer(read: Read, query: string, { words, streamed }: AskOptions, store: Store): Promise<unknown> {
  const deps: ReadDependencies = {
    ...dependencies,
    store,
    catalog: listAgents(loadCatalog()),
    assistants: ASSISTANTS,
    blockedUrls: async () => ({
      candidates: [{ hostname: 'one.example', patterns: ['/docs'] }],
      areBlocked: async (urls) => urls.map(({ pathname }) => pathname.startsWith('/docs')),
    }),
  }
  try {
    if (!streamed) {
      const { data, meta } = await runRead(read, new URLSearchParams(query), deps, words)
      return rounded({ data, meta })
    }
    const parts: unknown[] = []
    const prepared = await prepareRead(read, new URLSearchParams(query), deps, words)
    for await (const { data } of prepared.stream(store, 7)) parts.push(data)
    return rounded(parts)
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'database_error') return { refused: error.code, field: error.field }
    throw error instanceof ApiError && error.cause instanceof Error ? error.cause : error
  }
}

/**
 * Asks both stores, which have these rows, every read for every audience and set of filters; the answers must be equal. With
 * another `turn`, the normal run asks with other sets of filters, and a whole one about other windows.
 */
export function compareReads(t: Test, rows: Rows, stores: () => readonly [Store, Store], turn = 0): void {
  const sessions = rows.events.filter(({ site_id }) => site_id === 1).map(({ session_id }) => session_id)
  const allFilters = {
    human: listFilters('human', rows),
    agent: listFilters('agent', rows),
    all: listFilters('all', rows),
  }
  for (const [j, read] of reads.entries()) {
    if (read.staticResult) continue
    for (const audience of AUDIENCES) {
      if ('only' in read.audience && read.audience.only !== audience) continue
      t.test(`${read.path}, ${audience}`, async (t) => {
        const params = PARAMS[read.path]?.(audience) ?? ['']
        const questions = Math.max(params.length, allFilters[audience].length)
        for (let i = 0; i < questions; i++) {
          // The normal run asks some; each set of filters meets several reads.
          if ((i + 5 * j + turn) % every > 0) continue
          const filters = pick(allFilters[audience], i) ?? []
          const query = [
            `site=${1 + (i % 2)}&audience=${audience}&tz=${pick(ZONES, i + j)}&${pick(WINDOWS, 3 * i + j + turn)}`,
            `compare=${pick(COMPARES, Math.floor(i / 2) + j)}&${pick(params, i)}`,
            filters.length > 0 ? `filters=${encodeURIComponent(JSON.stringify(filters))}` : '',
            (i + j) % 3 === 1 ? 'suspected=exclude' : '',
          ].join('&')
          const id = read.path.includes('funnel') ? `${1 + (i % 3)}` : hex(pick(sessions, 101 * i) ?? 0n)
          const [expected, found] = await Promise.all(
            stores().map((store) => answer(read, query, { words: { id } }, store)),
          )
          assertEqual(t, found, expected, decodeURIComponent(query))
        }
      })
    }
  }
}

/** Reads each list to its end, in parts; both stores must give the same. */
export function compareStreams(t: Test, stores: () => readonly [Store, Store]): void {
  t.test('whole lists are the same, read in parts', async (t) => {
    for (const read of reads.filter(({ list, staticResult }) => list && !staticResult)) {
      const audience = 'only' in read.audience ? read.audience.only : 'human'
      const query = `site=1&range=all&audience=${audience}&compare=previous&dimension=pathname`
      const options = { words: { id: '2' }, streamed: true }
      const [expected, found] = await Promise.all(stores().map((store) => answer(read, query, options, store)))
      assertEqual(t, found, expected, read.path)
      t.ok(Array.isArray(found) && found.length > 0, `${read.path}: ${JSON.stringify(found)?.slice(0, 200)}`)
    }
  })
}

const hex = (id: bigint): string => id.toString(16).padStart(16, '0')
