import type { Test } from 'tap'
import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import type { CatalogAgent } from '../../src/analytics/query/read-context.js'
import overview from '../../src/analytics/reads/agents/overview.js'
import bill from '../../src/analytics/reads/bill.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow, EventRow } from '../../src/storage/rows.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Stores random fetches and visits, and recounts the bill row by row. */
const DAY = 86_400_000
const END = Date.parse('2026-11-01T00:00:00.000Z')
const START = END - 7 * DAY
const random = seeded(20261129)
/** The window, and the one before. */
const moment = () => new Date(START - 7 * DAY + random.int(14 * DAY - 1))
const where = () => ({
  site_id: random() < 0.9 ? 1 : 2,
  timestamp: moment(),
  country: random.of(['DE', 'US', null]),
  pathname: random.of(['/', '/docs', "/it's"]),
})
type AgentFacts = readonly [id: string, operator: string, purpose: string, obeys: 'yes' | 'no' | 'unknown']
const AGENTS: readonly [AgentFacts, ...AgentFacts[]] = [
  ['gptbot', 'OpenAI', 'training', 'yes'],
  ['chatgpt-user', 'OpenAI', 'assistant', 'no'],
  ['googlebot', 'Google', 'search', 'yes'],
  ['ahrefsbot', 'Ahrefs', 'seo', 'unknown'],
]
const UNNAMED: AgentFacts = ['other', 'Unknown', 'other', 'unknown']
const fetches = Array.from({ length: 2_500 }, () => {
  const [agent_id, operator, purpose] = random.of([...AGENTS, UNNAMED])
  const allowed = random.of([true, true, false, null])
  const checked = random.of<Pick<AgentEventRow, 'verified' | 'verification'>>([
    { verified: true, verification: 'ranges' },
    { verified: null, verification: 'unverifiable' },
    { verified: false, verification: 'spoofed' },
  ])
  return agentRow({
    ...where(),
    ...{ agent_id, operator, purpose, method: random.of(['GET', 'HEAD']), status: random.of([200, 206, 304, 404]) },
    ...(agent_id === 'other' ? { verified: null, verification: 'unverifiable' } : checked),
    action: random.of([null, null, 'allow', 'block', 'limit']),
    // Ahrefs has neither: its rows come from a log that says nothing of both.
    bytes: operator === 'Ahrefs' ? 0 : random.of([0, random.int(5_000_000)]),
    duration_ms: operator === 'Ahrefs' ? 0 : random.of([0, random.int(4_000)]),
    ...{ robots_allowed: allowed, robots_grace: allowed === false ? random.of([true, false, null]) : null },
  })
})
type Source = readonly [channel: string, source: string | null, operator?: string]
const SOURCES: readonly [Source, ...Source[]] = [
  ['AI Assistants', 'ChatGPT', 'OpenAI'],
  ['Organic Search', 'Google', 'Google'],
  ['Organic Search', 'Kagi', 'Kagi'],
  ['Paid Search', 'Google'],
  ['Organic Search', 'a small one'],
  ['Direct', null],
]
let sessions = 0n
const visits = Array.from({ length: 500 }, () => {
  sessions += 1n
  const [channel, source] = random.of(SOURCES)
  const { timestamp: session_start, ...place } = where()
  const own = { ...place, channel, source, session_id: sessions, session_start, entry_page: place.pathname }
  const at = (ms: number) => new Date(session_start.getTime() + ms)
  const kinds: Partial<EventRow>[] = [
    { timestamp: session_start, kind: random.of(['pageview', 'pageview', 'custom']), duration_ms: random.int(900) },
    // A goal, reached twice.
    ...(random() < 0.3 ? [10_000, 20_000].map((ms) => ({ timestamp: at(ms), pathname: '/thanks' })) : []),
    ...(random() < 0.3 ? [{ timestamp: at(30_000), kind: 'custom', event_name: 'signup', duration_ms: null }] : []),
  ]
  return kinds.map((of) => eventRow({ kind: 'pageview', duration_ms: 7, ...own, ...of }))
}).flat()

const PRICES = { price_per_gigabyte: 0.09, price_per_thousand_requests: 0.4, price_per_origin_second: 0.000_012 }
/** Millionths of the currency. */
const MICROS = { gigabyte: 90_000n, thousand: 400_000n, second: 12n }
const CATALOG: readonly CatalogAgent[] = AGENTS.map(([agent_id, operator, purpose, respects_robots]) => ({
  ...{ agent_id, name: agent_id, operator, purpose, respects_robots, docs_url: '', verification: [] },
}))
const page = { type: 'page', match: { op: 'is', value: '/thanks' } } as const
const signup = { type: 'event', match: { op: 'is', value: 'signup' } } as const
type CheckedStore = Pick<EventStore, 'append' | 'query' | 'dialect'>
const depsOf = (store: CheckedStore, prices: object): ReadDependencies => ({
  ...{ store, catalog: CATALOG, now: () => new Date(END), segment: async () => undefined },
  site: async (id) => ({
    ...{ id, timezone: 'UTC', visitor_salt: 'never', currency: 'CHF', owns: () => true, ...prices },
  }),
  goals: async () => [
    { id: 1, name: 'thanks', ...page },
    { id: 2, name: 'signed up', ...signup },
  ],
  assistants: [{ source: 'ChatGPT', operator: 'OpenAI' }],
})

type Row = EventRow | AgentEventRow
type Priced = 'priced' | 'free'
const isRefused = ({ action }: AgentEventRow) => action === 'block' || action === 'limit'
const isSpoofed = ({ verification }: AgentEventRow) => verification === 'spoofed'
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)

function tookOf(rows: readonly AgentEventRow[], priced: Priced) {
  const noSize = rows.filter(
    ({ bytes, method, status }) => bytes === 0 && method === 'GET' && (status === 200 || status === 206),
  ).length
  const noTime = rows.filter(({ duration_ms }) => duration_ms === 0).length
  const n = rows.length
  const bytes = sum(rows.map((row) => row.bytes))
  const ms = sum(rows.map((row) => row.duration_ms))
  const knowsBytes = n === 0 || noSize < n
  const knowsTime = n === 0 || noTime < n
  // In 10^-15: 10^9 bytes, 1,000 fetches, 1,000 ms.
  const exact =
    (knowsBytes ? BigInt(bytes) * MICROS.gigabyte : 0n) +
    BigInt(n) * MICROS.thousand * 1_000_000n +
    (knowsTime ? BigInt(ms) * MICROS.second * 1_000_000n : 0n)
  const micros = exact / 1_000_000_000n + (exact % 1_000_000_000n >= 500_000_000n ? 1n : 0n)
  return {
    micros,
    fields: {
      fetches: n,
      ...(knowsBytes ? { bytes } : {}),
      ...(knowsTime ? { origin_seconds: ms / 1_000 } : {}),
      ...(priced === 'priced' ? { cost: Number(micros) / 1e6 } : {}),
      ...(noSize > 0 ? { without_bytes: noSize } : {}),
      ...(noTime > 0 ? { without_duration: noTime } : {}),
    },
    ms,
  }
}

/** Adds up fetches of several agents, and the cost of each agent. */
function addUp(rows: readonly AgentEventRow[], priced: Priced) {
  const keys = new Set(rows.map(({ agent_id, operator }) => `${agent_id} ${operator}`))
  const costs = [...keys].map(
    (key) =>
      tookOf(
        rows.filter((row) => `${row.agent_id} ${row.operator}` === key),
        priced,
      ).micros,
  )
  const { fields, ms } = tookOf(rows, priced)
  const micros = costs.reduce((a, b) => a + b, 0n)
  return { micros, ms, fields: { ...fields, ...(priced === 'priced' ? { cost: Number(micros) / 1e6 } : {}) } }
}

interface Asked {
  priced: Priced
  operator?: string
  passes(row: Row): boolean
}

function recount({ priced, operator, passes }: Asked) {
  const within = ({ timestamp, site_id }: Row) => site_id === 1 && +timestamp >= START && +timestamp < END
  const rows = fetches.filter((row) => within(row) && passes(row))
  const kept = rows.filter((row) => !isRefused(row))
  const served = kept.filter((row) => !isSpoofed(row))
  const people = visits.filter(within)
  const arrived = people.filter(
    (row) =>
      row.kind === 'pageview' &&
      +row.timestamp === +row.session_start &&
      row.pathname === row.entry_page &&
      passes(row),
  )
  const peopleMs = sum(
    people.filter((row) => row.kind === 'pageview' && passes(row)).map((row) => row.duration_ms ?? 0),
  )
  const given = (name: string) => {
    const own = arrived.filter((row) =>
      SOURCES.some(([channel, source, of]) => of === name && row.channel === channel && row.source === source),
    )
    const reached = own.flatMap(({ session_id }) => {
      const of = people.filter((row) => row.session_id === session_id)
      const goals = [
        of.some((row) => row.kind === 'pageview' && row.pathname === '/thanks'),
        of.some((row) => row.kind === 'custom' && row.event_name === 'signup'),
      ]
      return goals.filter(Boolean)
    })
    return { readers: own.length, goals: reached.length }
  }
  const allMs = peopleMs + tookOf(kept, priced).ms
  const shareOf = ({ fields, ms }: ReturnType<typeof addUp>) =>
    'origin_seconds' in fields ? { share: ms / allMs } : {}
  const ofOperator = (name: string) => {
    const took = addUp(
      served.filter((row) => row.operator === name),
      priced,
    )
    const { readers, goals } = given(name)
    const each =
      priced === 'free'
        ? { no_cost_per_reader: 'no_prices' }
        : readers === 0
          ? { no_cost_per_reader: 'no_reader_came' }
          : { cost_per_reader: Math.round(Number(took.micros) / readers) / 1e6 }
    return { kind: 'operator', operator: name, ...took.fields, readers, goals, ...shareOf(took), ...each }
  }
  const nameless = (kind: string, of: readonly AgentEventRow[]) => {
    const took = addUp(of, priced)
    return of.length === 0 ? [] : [{ kind, ...took.fields, ...shareOf(took), no_cost_per_reader: 'no_operator' }]
  }
  const names = ['OpenAI', 'Google', 'Ahrefs', 'Kagi'].filter(
    (name) => served.some((row) => row.operator === name) || given(name).readers > 0,
  )
  const lines =
    operator === undefined
      ? [
          ...names.map(ofOperator),
          ...nameless(
            'no_operator',
            served.filter((row) => row.operator === 'Unknown'),
          ),
          ...nameless('spoofed', kept.filter(isSpoofed)),
        ]
      : names.filter((name) => name === operator).map(ofOperator)
  const onBill = operator === undefined ? kept : served.filter((row) => row.operator === operator)
  const disallowed = onBill.filter((row) => row.robots_allowed === false)
  const severityOf = (row: AgentEventRow) => {
    if (row.robots_grace === true) return 'grace'
    if (row.verified !== true) return 'unverified'
    const [, , , obeys] = AGENTS.find(([id]) => id === row.agent_id) ?? UNNAMED
    return { yes: 'breach', no: 'unbound', unknown: 'unclear' }[obeys]
  }
  const groups = new Map<string, AgentEventRow[]>()
  for (const row of disallowed) {
    const key = JSON.stringify([severityOf(row), row.agent_id, row.operator, isSpoofed(row)])
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  const named = (list: readonly AgentEventRow[]) =>
    list.filter((row) => operator === undefined || row.operator === operator)
  const refused = named(rows.filter(isRefused))
  const spoofed = named(kept.filter(isSpoofed))
  return {
    lines,
    disobedience: [...groups].map(([key, of]) => {
      const [severity, agent_id, name, claimed] = z
        .tuple([z.string(), z.string(), z.string(), z.boolean()])
        .parse(JSON.parse(key))
      const own = { severity, agent_id, operator: name, ...(claimed ? { spoofed: true } : {}) }
      return { ...own, name: agent_id === 'other' ? 'Other agents' : agent_id, ...tookOf(of, priced).fields }
    }),
    people_seconds: peopleMs / 1_000,
    refused_fetches: refused.length,
    refused_bytes: sum(refused.map((row) => row.bytes)),
    spoofed_fetches: spoofed.length,
    spoofed_bytes: sum(spoofed.map((row) => row.bytes)),
    disallowed_fetches: disallowed.length,
    total: addUpLines(onBill, priced),
  }
}
/** Spoofed fetches of an agent are another line than its own, and rounded apart. */
function addUpLines(rows: readonly AgentEventRow[], priced: Priced) {
  const parts = [rows.filter(isSpoofed), rows.filter((row) => !isSpoofed(row))].map((of) => addUp(of, priced).micros)
  const { fields } = addUp(rows, priced)
  return { ...fields, ...(priced === 'priced' ? { cost: parts.reduce((n, each) => n + Number(each), 0) / 1e6 } : {}) }
}

const QUESTIONS: readonly (Asked & { filters: object[]; why: string })[] = [
  { priced: 'priced', filters: [], passes: () => true, why: 'everything' },
  { priced: 'free', filters: [], passes: () => true, why: 'without prices' },
  { priced: 'priced', operator: 'OpenAI', filters: [], passes: () => true, why: 'one operator' },
  {
    ...{ priced: 'priced', why: 'of both' },
    filters: [{ dimension: 'country', op: 'is', value: 'DE' }],
    passes: (row) => row.country === 'DE',
  },
  {
    ...{ priced: 'priced', why: 'of agents' },
    filters: [{ dimension: 'operator', op: 'is', value: 'Google' }],
    passes: (row) => !('agent_id' in row) || row.operator === 'Google',
  },
  {
    ...{ priced: 'priced', why: 'of people' },
    filters: [{ dimension: 'source', op: 'is', value: 'Kagi' }],
    passes: (row) => 'agent_id' in row || row.source === 'Kagi',
  },
]
const Numbers = z.looseObject({ fetches: z.number(), bytes: z.number().optional(), cost: z.number().optional() })
const Data = Numbers.extend({
  lines: z.array(Numbers),
  agents: z.array(Numbers).optional(),
  buckets: z.array(Numbers),
  disobedience: z.array(Numbers),
  refused_fetches: z.number(),
  refused_bytes: z.number(),
})
const inOrder = (rows: readonly object[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort()
const micros = (rows: readonly { cost?: number | undefined }[]) =>
  sum(rows.map(({ cost = 0 }) => Math.round(cost * 1e6)))

/** Stores the rows and compares the read with their recount, and its sums with each other and with the overview of agents. */
export async function checkBill(t: Test, store: CheckedStore): Promise<void> {
  await store.append({ events: visits, agent_events: fetches })
  for (const { filters, why, ...asked } of QUESTIONS)
    t.test(`recounted: ${why}`, async (t) => {
      const query = new URLSearchParams({ site: '1', filters: JSON.stringify(filters), granularity: 'day' })
      query.set('start', new Date(START).toISOString())
      query.set('end', new Date(END).toISOString())
      const all = new URLSearchParams(query)
      // The overview is about agents, and is refused a filter that only people have.
      if (why === 'of people') all.delete('filters')
      if (asked.operator !== undefined) query.set('operator', asked.operator)
      const deps = depsOf(store, asked.priced === 'priced' ? PRICES : {})
      const { data: found } = await runRead(bill, query, deps)
      bill.data.parse(found)
      const data = Data.parse(found)
      const { lines, disobedience, total, ...wanted } = recount(asked)
      t.ok(lines.length > 0 && disobedience.length > 0)
      assertEqual(t, inOrder(data.lines), inOrder(lines), 'lines')
      assertEqual(t, inOrder(data.disobedience), inOrder(disobedience), 'disobedience')
      t.match(data, { ...wanted, ...total, currency: 'CHF' }, 'totals')
      t.equal(micros([data]), micros(data.lines), 'lines add up to the total')
      if (data.agents) t.equal(micros(data.agents), micros([data]), 'agents add up to their operator')
      t.equal(sum(data.buckets.map((each) => each.fetches)), data.fetches, 'and so do the days')
      t.equal(sum(data.buckets.map(({ bytes = 0 }) => bytes)), data.bytes ?? 0)
      if (asked.operator !== undefined) return
      const counted = Numbers.parse((await runRead(overview, all, deps)).data)
      t.equal(data.fetches + data.refused_fetches, counted.fetches, 'with refused fetches, all that agents made')
      t.equal((data.bytes ?? 0) + data.refused_bytes, counted.bytes, 'to the byte')
    })
}
