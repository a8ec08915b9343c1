import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import type { Filter } from '../../../src/analytics/query/filters.js'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import type { EventFile } from '../../../src/storage/duckdb/event-file.js'
import { type Change, createSharedReads } from '../../../src/storage/duckdb/shared-reads.js'
import type { Addition } from '../../../src/storage/rows.js'
import { keyOf, raw, type Sql, sql } from '../../../src/storage/sql.js'
import { queryCancelled, type ResultRow } from '../../../src/storage/store.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, editionRow, eventRow } from '../../fixtures/rows.js'

const Pages = z.array(z.object({ pathname: z.string() }))
const at = (text: string) => new Date(`2026-03-${text}Z`)
const before = (time: Date | string, n = 0) => sql`select ${n} as n from events where timestamp < ${time}`

/** Shared reads whose statements end when the test says so. */
function controlled(max_bytes = 1 << 20) {
  const running: { query: Sql; begin: () => void; end: (rows?: ResultRow[]) => void; stopped: boolean }[] = []
  const reads = createSharedReads((query, { signal, onStart }) => {
    return new Promise((resolve, reject) => {
      const one = { query, begin: onStart, end: (rows: ResultRow[] = [{ n: 1 }]) => resolve(rows), stopped: false }
      running.push(one)
      signal.addEventListener('abort', () => {
        one.stopped = true
        reject(queryCancelled())
      })
    })
  }, max_bytes)
  const ask = (query: Sql, { site = 1, signal }: { site?: number; signal?: AbortSignal } = {}) =>
    reads.query(query, signal, { site, asker: 'a' })
  return { reads, running, ask }
}

t.test('statements are equal if their texts and the types and values of their parameters are', async (t) => {
  const time = at('01T00:00:00.001')
  const different = [
    before(time),
    before(at('01T00:00:00.002')),
    before(time.toISOString()),
    before(time, 2),
    sql`select ${1}`,
    sql`select ${1n}`,
    sql`select ${'1'}`,
    sql`select ${true}`,
    sql`select ${'true'}`,
    sql`select ${null}`,
    sql`select ${'null'}`,
    sql`select ${Number.NaN}`,
    raw('select '),
    sql`select ${'a'}, ${'b'}`,
    sql`select ${'a", "b'}`,
  ]
  t.equal(new Set(different.map(keyOf)).size, different.length)
  t.equal(keyOf(before(new Date(time))), keyOf(before(time)))
})

t.test('an equal statement runs once for all who wait, and its result is kept', async (t) => {
  const { reads, running, ask } = controlled()
  const all = Array.from({ length: 8 }, () => ask(before(at('02T00:00'))))
  t.equal(running.length, 1, 'eight ask at once')
  running[0]?.end([{ n: 7 }])
  t.strictSame(
    await Promise.all(all),
    all.map(() => [{ n: 7 }]),
  )
  t.strictSame(await ask(before(at('02T00:00'))), [{ n: 7 }], 'and later')
  t.equal(running.length, 1)
  const others = [ask(before(at('02T00:01'))), ask(before(at('02T00:00'), 1))]
  t.equal(running.length, 3, 'other values are another statement')
  for (const one of running.slice(1)) one.end()
  await Promise.all(others)
  const failing = [ask(sql`selec`), ask(sql`selec`)]
  reads.changed('everything')
  t.equal(running.length, 4)
  const refused = createSharedReads(() => Promise.reject(new Error('no')), 1_000)
  for (let n = 0; n < 2; n++)
    await t.rejects(refused.query(sql`select 1`, undefined, { site: 1, asker: '' }), { message: 'no' }, 'none is kept')
  running[3]?.end()
  await Promise.all(failing)
})

t.test('a caller who leaves stops nothing that another waits for; the last to leave does', async (t) => {
  const { running, ask } = controlled()
  const leaving = [0, 1, 2].map(() => new AbortController())
  const all = leaving.map(({ signal }) => ask(before(at('02T00:00')), { signal }))
  const ends = all.map((one) => t.rejects(one, { message: 'The query was cancelled.' }))
  leaving[0]?.abort()
  await ends[0]
  leaving[1]?.abort()
  await ends[1]
  t.notOk(running[0]?.stopped, 'one is left')
  leaving[2]?.abort()
  await ends[2]
  t.ok(running[0]?.stopped)
  const again = ask(before(at('02T00:00')))
  t.equal(running.length, 2, 'the next caller does not join what was stopped')
  running[1]?.end()
  await again
  await t.rejects(ask(before(at('03T00:00')), { signal: AbortSignal.abort() }), { message: 'The query was cancelled.' })
  t.equal(running.length, 2, 'one who left before asks nothing')
  const [first, staying] = [new AbortController(), new AbortController()]
  const left = t.rejects(ask(before(at('04T00:00')), { signal: first.signal }), { message: 'The query was cancelled.' })
  const stays = ask(before(at('04T00:00')), { signal: staying.signal })
  first.abort()
  await left
  running[2]?.end([{ n: 4 }])
  t.strictSame(await stays, [{ n: 4 }])
})

/** A result for site 1 until 2 March, and whether the next question runs after the change. */
const changes: [change: Change, again: boolean, why: string][] = [
  [{ site: 1, since: at('01T12:00') }, true, 'a row of its time'],
  [{ site: 1, since: at('02T00:00') }, true, 'a row of its last moment'],
  [{ site: 1, since: at('02T00:00:00.001') }, false, 'a row that happened after it'],
  [{ site: 1, since: new Date(0) }, true, 'a row that happened before it, which may be of the same person'],
  [{ site: 2, since: at('01T12:00') }, false, 'a row of another site'],
  ['everything', true, 'a change without limits'],
]
t.test('a result is kept until something that it reads is changed', async (t) => {
  for (const [change, again, why] of changes) {
    const { reads, running, ask } = controlled()
    const kept = ask(before(at('02T00:00')))
    running[0]?.begin()
    running[0]?.end()
    await kept
    reads.changed(change)
    void ask(before(at('02T00:00')))
    t.equal(running.length, again ? 2 : 1, why)
    t.equal(reads.bytes() === 0, again, `bytes, ${why}`)
  }
  const { reads, running, ask } = controlled()
  const whole = ask(sql`select min(timestamp) as first from events`)
  running[0]?.end()
  await whole
  reads.changed({ site: 1, since: at('30T00:00') })
  void ask(sql`select min(timestamp) as first from events`)
  t.equal(running.length, 2, 'a statement without times reads all times')
})

t.test('a statement that ran during a change is joined no more and not kept; one that waits is', async (t) => {
  for (const [change, again, why] of changes) {
    const { reads, running, ask } = controlled()
    const early = ask(before(at('02T00:00')))
    running[0]?.begin()
    reads.changed(change)
    const late = ask(before(at('02T00:00')))
    t.equal(running.length, again ? 2 : 1, why)
    running[0]?.end([{ n: 1 }])
    running[1]?.end([{ n: 2 }])
    t.strictSame([await early, await late], [[{ n: 1 }], [{ n: again ? 2 : 1 }]], why)
    t.strictSame(await ask(before(at('02T00:00'))), [{ n: again ? 2 : 1 }], `kept: ${why}`)
  }
  const { reads, running, ask } = controlled()
  const early = ask(before(at('02T00:00')))
  reads.changed('everything')
  const late = ask(before(at('02T00:00')))
  t.equal(running.length, 1, 'a statement that has not begun will see the change')
  running[0]?.begin()
  running[0]?.end()
  await Promise.all([early, late])
})

t.test('results are kept up to a number of bytes, those used last, and none that is large', async (t) => {
  const max = 100_000
  const { reads, running, ask } = controlled(max)
  const answer = async (n: number, length: number) => {
    const asked = ask(before(at('02T00:00'), n))
    const count = running.length
    running.at(-1)?.end([{ text: 'x'.repeat(length) }])
    await asked
    return count
  }
  for (let n = 0; n < 200; n++) {
    await answer(n, 2_000)
    await answer(0, 2_000)
    t.ok(reads.bytes() <= max, `${reads.bytes()} bytes`)
  }
  t.ok(reads.bytes() > max / 2, 'most of them are used')
  const runs = running.length
  t.equal(await answer(0, 2_000), runs, 'the first was used each time and is there')
  t.equal(await answer(1, 2_000), runs + 1, 'the second was not')
  await answer(500, 10_000)
  t.equal(await answer(500, 10_000), runs + 3, 'a large one is not kept')
  for (const rows of [[], [{ a: null, b: ['x', { c: new Date() }], d: 1n }]]) {
    const asked = ask(before(at('02T00:00'), 501 + rows.length))
    running.at(-1)?.end(rows)
    t.strictSame(await asked, rows)
  }
})

const view = { timestamp: at('01T10:00'), visitor_id: 5n, session_id: 50n }
const NO_ADDITION: Omit<Addition, 'to'> = {
  ...{
    screen_class: null,
    language: null,
    timezone: null,
    identified_id: null,
    props: null,
    traits: null,
    vitals: null,
  },
  ...{ status: null, duration_ms: null },
}
const ARRIVAL = {
  ...{ entry_page: '/', referrer: null, source: null, channel: 'Direct', utm_source: null, utm_medium: null },
  ...{ utm_campaign: null, utm_content: null, utm_term: null },
}
const LOOSE = eventRow({ ...view, kind: 'engagement', engaged_ms: 9, reported_at: at('01T10:30') })

/** Every kind of write, in this order on one store. */
const WRITES: [what: string, write: (store: EventFile) => Promise<unknown>][] = [
  ['a row', (store) => store.append({ events: [eventRow(view)], agent_events: [agentRow(view)] })],
  ['a row of another site', (store) => store.append({ events: [eventRow({ ...view, site_id: 2 })], agent_events: [] })],
  ['aggregation', (store) => store.aggregate(at('04T00:00'))],
  [
    'a late row',
    (store) => store.append({ events: [eventRow({ ...view, visitor_id: 6n, session_id: 60n })], agent_events: [] }),
  ],
  ['aggregation of stale sessions', (store) => store.aggregate(at('04T00:00'))],
  [
    'the other half of a view',
    (store) =>
      store.append({ events: [], agent_events: [] }, undefined, {
        additions: [
          { ...NO_ADDITION, to: { site_id: 1, hostname: 'example.com', pathname: '/', ...view }, language: 'de' },
        ],
      }),
  ],
  [
    'a report without a session',
    (store) => store.append({ events: [], agent_events: [] }, undefined, { loose: [LOOSE] }),
  ],
  [
    'its place in a session',
    (store) =>
      store.append({ events: [], agent_events: [] }, undefined, {
        placements: [
          {
            key: { ...LOOSE, engaged_ms: 9, reported_at: at('01T10:30') },
            from: undefined,
            to: { ...LOOSE, session_start: at('01T10:00'), arrival: ARRIVAL },
          },
        ],
      }),
  ],
  [
    'sessions that become one',
    (store) =>
      store.append({ events: [], agent_events: [] }, undefined, {
        moves: [
          {
            ...{ site_id: 1, session_ids: [60n], first: at('01T10:00'), last: at('01T10:00') },
            to: { session_id: 50n, session_start: at('01T10:00'), arrival: ARRIVAL },
          },
        ],
      }),
  ],
  [
    'a late verdict',
    (store) =>
      store.updateVerdicts([
        {
          ...{ site_id: 1, timestamp: at('01T10:00'), agent_id: 'gptbot', ip_hash: 3n },
          verified: true,
          verification: 'rdns',
        },
      ]),
  ],
  ['rows classified again', (store) => store.updateRows(async () => [sql`update events set engaged_ms = 77`])],
  ['a sitemap', (store) => store.replaceSitemap('example.com', [{ pathname: '/', lastmod: null }])],
  ['an edition of a page', (store) => store.writePageEditions({ put: [editionRow()], remove: [] })],
  ['erasure', (store) => store.remove({ site: 1, visitor: 6n })],
  ['rows given to another site', (store) => store.assign({ from: 2, to: 1 })],
  ['retention', (store) => store.remove({ site: 1, before: at('01T10:00:00.001') })],
  ['one more row', (store) => store.append({ events: [eventRow(view)], agent_events: [] })],
  ['the removal of a site', (store) => store.remove({ site: 1, hostnames: ['example.com'] })],
]

const IN_WINDOW = sql`site_id = 1 and timestamp < ${at('05T00:00')}`
const QUESTIONS: [site: number, Sql][] = [
  [1, sql`select count(*) as n, max(engaged_ms) as e, max(language) as l from events where ${IN_WINDOW}`],
  [1, sql`select count(distinct session_id) as n from events where site_id = 1 and session_start < ${at('01T10:01')}`],
  [1, sql`select list(verification order by all) as v from agent_events where ${IN_WINDOW}`],
  [1, sql`select count(*) as n from sessions where site_id = 1 and started < ${at('05T00:00')}`],
  [1, sql`select count(*) as n, min(session_start) as s from stale_sessions where site_id = 1`],
  [1, sql`select max(started) as w from aggregated_until`],
  [1, sql`select count(*) as n from loose_reports where ${IN_WINDOW}`],
  [1, sql`select distinct hostname from sitemap_urls order by all`],
  [1, sql`select count(*) as n from page_samples where site_id = 1`],
  [2, sql`select count(*) as n from events where site_id = 2 and timestamp < ${at('05T00:00')}`],
]

t.test('after every kind of write, shared results are those of the store', async (t) => {
  const store = await openStore(t)
  const ask = (shared: boolean) =>
    Promise.all(
      QUESTIONS.map(([site, query]) => store.query(query, undefined, shared ? { site, asker: '' } : undefined)),
    )
  let last = await ask(true)
  for (const [what, write] of WRITES) {
    await write(store)
    const expected = await ask(false)
    t.notSame(expected, last, `${what} changes an answer`)
    last = await ask(true)
    t.strictSame(last, expected, what)
  }
})

t.test('a caller gets the answer to their own filters and site, beside other callers', async (t) => {
  const now = at('02T00:00')
  const events = ['/a', '/a', '/b', '/c'].map((pathname, n) => eventRow({ ...view, pathname, session_id: BigInt(n) }))
  const store = await openStore(t)
  await store.append({ events: [...events, eventRow({ ...view, site_id: 2, pathname: '/z' })], agent_events: [] })
  const only = (pathname: string) => [{ dimension: 'pathname', op: 'is', value: [pathname] }] as const
  const callers: [query: string, mandatory: readonly Filter[], paths: string[], why: string][] = [
    ['site=1', [], ['/a', '/b', '/c'], 'all pages'],
    ['site=1', only('/a'), ['/a'], 'a share of one page'],
    ['site=1', only('/b'), ['/b'], 'a share of another page'],
    ['site=2', [], ['/z'], 'another site'],
    ['site=1&filters=[{"dimension":"pathname","op":"is","value":["/a"]}]', only('/b'), [], 'a filter cannot widen it'],
  ]
  const [pages] = reads.filter(({ path }) => path === '/api/stats/pages')
  if (!pages) throw new Error('no read')
  const ask = async ([query, mandatory]: (typeof callers)[number]) => {
    const deps = {
      ...{ store, mandatory, catalog: [], assistants: [], now: () => now, segment: async () => undefined },
      site: async (id: number) => ({ id, timezone: 'UTC', visitor_salt: 'never' as const, owns: () => true }),
    }
    const { data } = await runRead(pages, new URLSearchParams(`${query}&range=24h`), deps)
    return Pages.parse(data).map(({ pathname }) => pathname)
  }
  for (const when of ['at once', 'one more time, from what is kept'])
    t.strictSame(
      (await Promise.all(callers.map(ask))).map((paths) => paths.toSorted()),
      callers.map(([, , paths]) => paths),
      when,
    )
})

t.test('a caller with one question does not wait for all questions of another', async (t) => {
  const store = await openStore(t)
  const order: string[] = []
  const ask = (asker: string, n: number) =>
    store
      .query(sql`select count(*) as n from range(${300_000 + n}) a`, undefined, { site: 1, asker })
      .then(() => order.push(asker))
  const all = Array.from({ length: 20 }, (_, n) => ask('many', n))
  await sleep(0)
  await Promise.all([...all, ask('one', 100)])
  t.ok(order.indexOf('one') < 6, `as number ${order.indexOf('one')}`)
})
