import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { createApp } from '../../src/api/app.js'
import { dropRoutes } from '../../src/api/sites.js'
import { createDrops } from '../../src/manage/drops.js'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createRefusedHostnames } from '../../src/manage/refused-hostnames.js'
import { createSites } from '../../src/manage/sites.js'
import { raw, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { deed } from '../fixtures/audit-context.js'
import { copySite } from '../fixtures/copy-site.js'
import { directory } from '../fixtures/files.js'
import { openRecordsAt } from '../fixtures/store.js'

async function open(t: Test) {
  const records = await openRecordsAt(directory(t))
  t.teardown(() => records.close())
  const clock = { now: new Date('2026-11-21T23:59:59.999Z') }
  const over = (records: Records, isWriter = () => true) => createDrops({ records, isWriter, now: () => clock.now })
  return { records, clock, over, drops: over(records) }
}
const row = (day: string, reason: string, count: number, door = 'track') => ({ day, door, reason, count })
const Body = z.object({
  data: z.array(z.unknown()).optional(),
  meta: z.object({ total: z.number() }).optional(),
  error: z.object({ field: z.string().optional() }).optional(),
})
const TODAY = '2026-11-21'

t.test(
  'drops are counted by site, day, endpoint and reason: the same before and after a write and a restart',
  async (t) => {
    const { drops, clock, over, records } = await open(t)
    drops.add(1, 'track', 'malformed')
    drops.add(1, 'track', 'malformed', 4)
    drops.add(1, 'edge', 'malformed', 2)
    drops.add(2, 'track', 'rate_limited')
    drops.add(undefined, 'track', 'unknown_site', 9)
    const expected = [row(TODAY, 'malformed', 5), row(TODAY, 'malformed', 2, 'edge')]
    t.strictSame(await drops.list(1, 30), expected, 'in memory')
    t.strictSame(await over(records).list(1, 30), [], 'not yet in the table')
    await drops.flush()
    t.strictSame(await drops.list(1, 30), expected, 'written')
    t.strictSame(await drops.list(2, 30), [row(TODAY, 'rate_limited', 1)], 'another site')
    await drops.flush()
    drops.add(1, 'edge', 'malformed')
    await drops.flush()
    const again = over(records)
    again.add(1, 'track', 'malformed', 10)
    const later = [row(TODAY, 'malformed', 15), row(TODAY, 'malformed', 3, 'edge')]
    t.strictSame(await again.list(1, 30), later, 'a restart goes on where the table is')
    await again.flush()
    t.strictSame(await again.list(1, 30), later)
    clock.now = new Date('2026-11-22T00:00:00.000Z')
    again.add(1, 'track', 'opted_out')
    const next = row('2026-11-22', 'opted_out', 1)
    t.strictSame(await again.list(1, 30), [next, ...later], 'the next day first')
    await again.flush()
    await again.flush()
    t.strictSame(await again.list(1, 1), [next], 'today alone')
    t.strictSame(await again.list(1, 2), [next, ...later], 'and yesterday')
    t.strictSame(again.totals(), [
      { door: 'track', reason: 'malformed', count: 10 },
      { door: 'track', reason: 'opted_out', count: 1 },
    ])
    t.strictSame(await records.query(sql`select count(*) as n from drops`), [{ n: 4 }], 'one row of each')
  },
)

t.test('processes that write after each other lose no count, and one that only reads writes none', async (t) => {
  const { records, over } = await open(t)
  let writer = 0
  const [a, b] = [over(records, () => writer === 0), over(records, () => writer === 1)]
  const sum = async (of = a) => (await of.list(1, 1)).map(({ count }) => count)
  const become = (next: number) => {
    writer = next
    ;[a, b][1 - next]?.yield()
  }
  a.add(1, 'track', 'malformed', 5)
  b.add(1, 'track', 'malformed', 1)
  await a.flush()
  await b.flush()
  t.strictSame([await sum(a), await sum(b)], [[5], [5]], 'of the writer alone')
  a.add(1, 'track', 'malformed', 2)
  become(1)
  await a.flush()
  b.add(1, 'track', 'malformed', 10)
  await b.flush()
  t.strictSame([await sum(a), await sum(b)], [[16], [16]], 'after those of the writer before')
  become(0)
  a.add(1, 'track', 'malformed', 100)
  t.strictSame(await sum(a), [118], 'and the other way, with what could not be written then')
  await a.flush()
  t.strictSame([await sum(a), await sum(b)], [[118], [118]])
})

t.test('nothing is lost or counted twice when a write fails, before or after it was stored', async (t) => {
  const { records, over } = await open(t)
  let fail: 'before' | 'after' | undefined
  const drops = over({
    query: (asked) => records.query(asked),
    async write(...statements) {
      if (fail === 'before') throw new Error('away')
      await records.write(...statements)
      if (fail === 'after') throw new Error('away before it could say so')
    },
  })
  drops.add(1, 'track', 'malformed', 3)
  for (const when of ['before', 'after', 'before', 'after'] as const) {
    fail = when
    await t.rejects(drops.flush())
    drops.add(1, 'track', 'malformed')
  }
  t.strictSame(await drops.list(1, 1), [row(TODAY, 'malformed', 7)], 'read exactly all along')
  fail = undefined
  await drops.flush()
  t.strictSame(await over(records).list(1, 1), [row(TODAY, 'malformed', 7)])
  drops.add(1, 'track', 'malformed')
  await Promise.all([drops.flush(), drops.flush()])
  t.strictSame(await over(records).list(1, 1), [row(TODAY, 'malformed', 8)], 'two at once')
})

t.test('counts older than 400 days are deleted', async (t) => {
  const { records, clock, drops } = await open(t)
  await records.write(
    raw(`insert into drops values ('2025-10-16', 1, 'track', 'malformed', 1),
    ('2025-10-17', 1, 'track', 'malformed', 1)`),
  )
  clock.now = new Date('2026-11-21T12:00:00Z')
  drops.add(1, 'track', 'malformed')
  await drops.flush()
  t.strictSame(await records.query(sql`select day from drops order by day`), [{ day: '2025-10-17' }, { day: TODAY }])
})

t.test('drops are readable only with access to the site', async (t) => {
  const { records, drops, clock } = await open(t)
  const now = () => clock.now
  await bootstrap(records, { domains: [], timezone: 'UTC', now: now() })
  await records.write(
    sql`insert into organisations (id, name, created_at, require_totp) values (2, 'Other', ${now()}, false)`,
    ...[2, 3].map((id) => copySite(id, { org: 2, name: 'x' })),
  )
  const sites = createSites(records)
  const keys = createKeys({ records, sites, now, random: randomBytes })
  const refusedHostnames = createRefusedHostnames({ sites: sites.list, orgs: async () => [{ id: 1 }, { id: 2 }], now })
  refusedHostnames.add(1, 'one.example')
  refusedHostnames.add(2, 'two.example')
  refusedHostnames.add(undefined, 'unknown.example')
  const app = createApp({
    routes: dropRoutes({ sites, drops, refusedHostnames }),
    credentials: { keys },
    version: '0',
    log: () => {},
  })
  drops.add(1, 'track', 'foreign_host', 2)
  drops.add(2, 'track', 'malformed')
  const org = (await keys.create({ org: 1, name: 'org', scopes: ['manage:read'] }, deed)).secret
  const bound = (await keys.create({ org: 1, site: 1, name: 'bound', scopes: ['manage:read'] }, deed)).secret
  const other = (await keys.create({ org: 2, name: 'other', scopes: ['manage:read'] }, deed)).secret
  const stats = (await keys.create({ org: 1, name: 'stats', scopes: ['stats:read'] }, deed)).secret
  const rows: [string, string | undefined, number, number | string | undefined, string][] = [
    ['1/drops', org, 200, 1, 'its own'],
    ['1/drops?days=1', bound, 200, 1, 'the one site of a key'],
    ['1/drops?days=366', bound, 200, 1, 'the most'],
    ['2/drops', other, 200, 1, "the other organisation's"],
    ['3/drops', other, 200, 0, 'none'],
    ['2/drops', org, 404, undefined, "another organisation's"],
    ['1/drops', other, 404, undefined, 'the other way'],
    ['2/drops', bound, 404, undefined, 'beside its site'],
    ['9/drops', org, 404, undefined, "nobody's"],
    ['x/drops', org, 404, undefined, 'no id'],
    ['1/drops', stats, 403, undefined, 'without the scope'],
    ['1/drops', undefined, 401, undefined, 'nobody'],
    ['1/refused-hostnames', org, 200, 1, 'its own, without those that name no site'],
    ['2/refused-hostnames', other, 200, 1, "the other organisation's"],
    ['3/refused-hostnames', other, 200, 0, 'none'],
    ['2/refused-hostnames', org, 404, undefined, "another organisation's"],
    ['1/refused-hostnames', other, 404, undefined, 'the other way'],
    ['1/refused-hostnames', stats, 403, undefined, 'without the scope'],
    ['1/refused-hostnames', undefined, 401, undefined, 'without a key'],
    ['1/drops?days=0', org, 422, 'days', 'no day'],
    ['1/drops?days=367', org, 422, 'days', 'over a year'],
    ['1/drops?days=x', org, 422, 'days', 'no number'],
  ]
  for (const [path, secret, status, expected, why] of rows) {
    const response = await app(
      new Request(`http://x/api/sites/${path}`, { headers: secret ? { authorization: `Bearer ${secret}` } : {} }),
      { ip: '', operator: false },
    )
    t.equal(response.status, status, why)
    const { data, meta, error } = Body.parse(await response.json())
    if (status === 200) t.same([data?.length, meta?.total], [expected, expected], why)
    if (status === 422) t.equal(error?.field, expected, why)
  }
})
