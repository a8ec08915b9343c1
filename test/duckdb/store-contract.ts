import type { Test } from 'tap'
import { ApiError } from '../../src/errors.js'
import { raw, sql } from '../../src/sql.js'
import type { Store } from '../../src/store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Tests that every store must pass, whatever its engine. `open` returns a new and empty store. */
export function storeContract(t: Test, open: (t: Test) => Promise<Store>): void {
  t.test('every value is returned as it was stored', async (t) => {
    const store = await open(t)
    const events: [string, Parameters<typeof eventRow>[0], Record<string, unknown>][] = [
      ['empty', {}, { utm_term: null, scroll: null }],
      ['the highest id', { visitor_id: 0xffffffffffffffffn }, { visitor_id: 'ffffffffffffffff' }],
      ['the lowest id', { visitor_id: 0n }, { visitor_id: '0000000000000000' }],
      ['milliseconds', { timestamp: new Date('2026-03-29T01:00:00.001Z') }, { timestamp: new Date(1774746000001) }],
      ['before 1970', { timestamp: new Date(-1) }, { timestamp: new Date(-1) }],
      ['numbers', { asn: 4294967295, engaged_ms: 2147483647 }, { asn: 4294967295, engaged_ms: 2147483647 }],
      ['a fraction is rounded', { duration_ms: 12.5 }, { duration_ms: 13 }],
      ['a number past the column is held at its end', { duration_ms: 1e12 }, { duration_ms: 2147483647 }],
      ['quotes', { pathname: `/'"\`;--` }, { pathname: `/'"\`;--` }],
      ['NUL and controls', { pathname: '/\u0000\u001b[2J\r\n' }, { pathname: '/\u0000\u001b[2J\r\n' }],
      ['astral and right to left', { pathname: '/😀\u202e' }, { pathname: '/😀\u202e' }],
      ['half a pair becomes U+FFFD', { pathname: '/\ud83d' }, { pathname: '/\ufffd' }],
      ['the empty string is not null', { utm_term: '' }, { utm_term: '' }],
      [
        'vitals, measured or not',
        { vitals: { lcp: 1234.5, cls: 0.02, inp: null, fcp: null, ttfb: 0 } },
        { lcp: 1234.5, cls: 0.02, inp: null, fcp: null, ttfb: 0 },
      ],
      [
        'an error',
        { error: { type: 'TypeError', message: "it's\n", frame: null, fingerprint: 'f' } },
        { error: '{"type":"TypeError","message":"it\'s\\n","frame":null,"fingerprint":"f"}', lcp: null },
      ],
      ['100,000 characters', { referrer: 'x'.repeat(100_000) }, { referrer: 'x'.repeat(100_000) }],
    ]
    for (const [index, [, given]] of events.entries()) {
      await store.append({ events: [eventRow({ ...given, site_id: index })], agent_events: [] })
    }
    for (const [index, [why, , expected]] of events.entries()) {
      const [row] = await store.query(sql`select * from events where site_id = ${index}`)
      for (const [column, value] of Object.entries(expected)) t.strictSame(row?.[column], value, `${why}: ${column}`)
    }
    await store.append({ events: [], agent_events: [agentRow({ verified: false, bytes: 2 ** 53 - 1 })] })
    const [agent] = await store.query(
      sql`select verified, bytes, is_pageview, ip_hash, robots_allowed from agent_events`,
    )
    t.strictSame(agent, {
      verified: false,
      bytes: 9007199254740991,
      is_pageview: true,
      ip_hash: '0000000000000003',
      robots_allowed: null,
    })
  })

  t.test('counts and sums are numbers, parameters keep their type', async (t) => {
    const store = await open(t)
    const agent_events = [1, 2, 3].map((n) => agentRow({ bytes: n, pathname: `/${n}` }))
    await store.append({ events: [eventRow({ visitor_id: 0xfedcba9876543210n })], agent_events })
    const [row] = await store.query(sql`select count(*) as n, sum(bytes) as bytes, avg(bytes) as mean,
      max(timestamp) as latest, sum(asn) as nothing from agent_events`)
    t.strictSame(row, { n: 3, bytes: 6, mean: 2, latest: new Date('2026-11-21T08:00:00Z'), nothing: null })
    const cases: [ReturnType<typeof sql>, number, string][] = [
      [sql`visitor_id = ${0xfedcba9876543210n}`, 1, '64-bit id'],
      [sql`visitor_id = ${0xfedcba9876543211n}`, 0, 'the id beside it'],
      [sql`timestamp = ${new Date('2026-11-21T08:00:00Z')}`, 1, 'instant'],
      [sql`timestamp < ${new Date('2026-11-21T08:00:00Z')}`, 0, 'exclusive'],
      [sql`site_id = ${1}`, 1, 'number'],
      [sql`pathname = ${"' or 1=1 --"}`, 0, 'a value is never text'],
      [sql`(${true} and pathname = ${'/'})`, 1, 'boolean and text'],
      [sql`coalesce(${null}, pathname) = ${'/'}`, 1, 'null'],
    ]
    for (const [where, expected, why] of cases) {
      t.strictSame(await store.query(sql`select count(*) as n from events where ${where}`), [{ n: expected }], why)
    }
  })

  t.test('a failed query is a database_error and changes nothing', async (t) => {
    const store = await open(t)
    await store.append({ events: [eventRow()], agent_events: [] })
    for (const text of ['select nothing from nowhere', 'selec', '', 'select 1; delete from events']) {
      await t.rejects(store.query(raw(text)), { code: 'database_error', name: 'ApiError' }, text)
    }
    await t.rejects(store.query(sql`select cast(pathname as integer) from events`), ApiError)
    t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 1 }])
  })

  t.test('concurrent queries all return their own rows while rows are stored', async (t) => {
    const store = await open(t)
    const asked = Array.from({ length: 20 }, async (_, n) => {
      t.strictSame(await store.query(sql`select ${n} as n`), [{ n }])
    })
    const appended = Array.from({ length: 20 }, (_, n) =>
      store.append({ events: [eventRow({ site_id: n })], agent_events: [agentRow({ site_id: n })] }),
    )
    await Promise.all([...asked, ...appended])
    const counted = sql`select (select count(*) from events) as events, (select count(*) from agent_events) as agents`
    t.strictSame(await store.query(counted), [{ events: 20, agents: 20 }])
  })

  t.test('an append stores all rows or none', async (t) => {
    const store = await open(t)
    const bad = eventRow({ timestamp: new Date(Number.NaN) })
    const good = Array.from({ length: 3_000 }, () => eventRow())
    await t.rejects(store.append({ events: [...good, bad], agent_events: [agentRow()] }))
    await t.rejects(store.append({ events: good, agent_events: [agentRow({ bytes: Number.NaN })] }))
    await store.append({ events: [eventRow()], agent_events: [] })
    const counted = sql`select (select count(*) from events) as events, (select count(*) from agent_events) as agents`
    t.strictSame(await store.query(counted), [{ events: 1, agents: 0 }])
  })

  t.test('after close every call fails and none hangs', async (t) => {
    const store = await open(t)
    await store.close()
    await t.rejects(store.query(sql`select 1`), { code: 'database_error' })
    await t.rejects(store.append({ events: [eventRow()], agent_events: [] }), { code: 'database_error' })
    await store.close()
  })
}
