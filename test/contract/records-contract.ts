import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { auditStatements } from '../../src/manage/audit.js'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import { createLease } from '../../src/storage/records/lease.js'
import { createFencedWrite, createReaderWrite } from '../../src/storage/records/shared-records.js'
import { type Sql, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { deed } from '../fixtures/audit-context.js'

const AUTUMN = new Date('2026-10-25T00:30:00.123Z')
const SPRING = new Date('2026-03-29T01:30:00.000Z')

/** Statements, the value that a last one reads as `v`, and why. */
const VALUES: readonly (readonly [readonly Sql[], Sql, unknown, string])[] = [
  [[], sql`select count(*) as v from drops`, 0, 'a count is a number'],
  [
    [sql`insert into drops (day, site, count) values ('d', 1, 5000000000), ('d', 2, ${2 ** 40})`],
    sql`select sum(count) as v from drops where day = 'd'`,
    5_000_000_000 + 2 ** 40,
    'so is a sum of bigints',
  ],
  [[], sql`select count as v from drops where site = 2`, 2 ** 40, 'and a bigint'],
  ...[0.1, 3, -1.5e-7].map(
    (value, id) =>
      [
        [sql`insert into alerts (id, value) values (${id}, ${value})`],
        sql`select value as v from alerts where id = ${id}`,
        value,
        'a number in a column of doubles',
      ] as const,
  ),
  ...[AUTUMN, SPRING].map(
    (at, id) =>
      [
        [sql`insert into recorded (began, cause) values (${at}, ${`${id}`})`],
        sql`select began as v from recorded where cause = ${`${id}`} and began = ${at}`,
        at,
        'an instant in the hour that a time zone has twice, or not at all',
      ] as const,
  ),
  ...['it\'s \\ "x" $1 ?', '', 'ſ 文 🌊', '\n\t'].map(
    (name, i) =>
      [
        [sql`insert into goals (id, name) values (${i}, ${name})`],
        sql`select name as v from goals where name = ${name}`,
        name,
        'a text',
      ] as const,
  ),
  [
    [sql`insert into goals (id, name, site) values (9, ${null}, ${null})`],
    sql`select coalesce(${null}, name) as v from goals where id = 9`,
    null,
    'no value',
  ],
  [[], sql`select ${1} + ${0.5} as v`, 1.5, 'two values that have their type from nothing else'],
  [
    [],
    sql`select ${AUTUMN} - interval '1 minute' as v`,
    new Date(AUTUMN.getTime() - 60_000),
    'an instant is none of the other types that an interval is subtracted from',
  ],
  [
    [sql`insert into flags (id, enabled) values (1, ${true}), (2, ${false})`],
    sql`select enabled as v from flags where not enabled`,
    false,
    'a boolean',
  ],
]

/** The error of the API, without the words of the engine. */
const refusal = (done: 'read' | 'written') => ({
  code: 'database_error',
  message: new RegExp(`^The records cannot be ${done}\\.$`),
})

/** Everything that a store of records must do, wherever it is. */
export function recordsContract(t: Test, open: (t: Test) => Promise<Records>): void {
  t.test('values come back as they were written', async (t) => {
    const records = await open(t)
    for (const [statements, query, expected, why] of VALUES) {
      await records.write(...statements)
      const [row] = await records.query(query)
      t.strictSame(row?.v, expected, why)
    }
  })

  t.test('one process at a time has the lease', async (t) => {
    const records = await open(t)
    const [a, b, c] = ['a', 'b', 'c'].map((instance) =>
      createLease({ records, instance, address: `http://${instance}`, clock: () => performance.now() }),
    )
    if (!a || !b || !c) return
    const takers = await Promise.all([a.take(), b.take(), c.take()])
    t.same(takers.filter(Number), [1], 'of three that want it at once, one gets it')
    await records.write(sql`update writers set instance = ${'a'}, address = ${'http://a'}`)
    t.equal(await a.take(), 2, 'a process whose worker was started again takes its own lease, as a new epoch')
    t.equal(await a.renew(1), false, 'the epoch before is over')
    t.equal(await b.take(), undefined, 'another process waits')
    t.equal(b.writerAddress(), 'http://a', 'and knows where the holder is')
    for (let poll = 1; poll < 8; poll++) t.equal(await b.take(), undefined, `after ${poll} s without a sign`)
    t.equal(await a.renew(2), true, 'a sign')
    t.equal(b.isRenewed(), false, 'which the other has not read')
    for (let poll = 0; poll < 8; poll++) {
      t.equal(await b.take(), undefined, 'so the wait begins again')
      t.equal(b.isRenewed(), poll === 0, 'a renewal is new once')
    }
    t.equal(await b.take(), 3, 'after eight equal reads the holder counts as gone')
    t.equal(await a.renew(2), false, 'which it learns when it comes back')
    await b.release(2)
    t.equal(await c.take(), undefined, 'an epoch that is over releases nothing')
    await b.release(3)
    t.equal(await c.take(), 4, 'a released lease is free at once')
  })

  t.test('a writer that was taken over changes no record', async (t) => {
    const records = await open(t)
    const lease = (instance: string) => createLease({ records, instance, address: '', clock: () => performance.now() })
    const [first, next] = [lease('a'), lease('b')]
    const epoch = (await first.take()) ?? 0
    const write = createFencedWrite(records, epoch)
    const add = (id: number) => sql`insert into goals (id) values (${id})`
    await write(add(1))
    await t.rejects(write(add(2), sql`insert into no_such_table values (1)`), refusal('written'))
    await next.seize()
    const refused = { code: 'database_error', message: /another writer has taken over \(epoch 2, this one has 1\)/ }
    await t.rejects(write(add(3)), refused)
    await t.rejects(write(), refused, 'the test alone')
    t.equal(await first.renew(epoch), false)
    t.same(await records.query(sql`select id from goals`), [{ id: 1 }])
  })

  t.test('a process that only reads counts uses, and changes nothing else', async (t) => {
    const records = await open(t)
    const write = createReaderWrite(records)
    const [by, at] = [{ kind: 'operator', name: 'x' } as const, AUTUMN]
    await write(
      sql`update keys set requests = requests + 1 where id = 1`,
      sql`update sessions set last_seen_at = ${AUTUMN} where id = 1`,
      sql`delete from sessions where id = 2`,
      ...auditStatements({ by, at, org: 1 }, { action: 'show', object: 'ingest_key' }),
    )
    t.same(await records.query(sql`select action from audit`), [{ action: 'show' }])
    for (const other of [
      sql`update keys_x set requests = 1`,
      sql`insert into keys (id) values (1)`,
      sql`insert into sessions (id) values (1)`,
      sql`delete from tokens`,
    ])
      await t.rejects(write(sql`update keys set requests = 9`, other), {
        code: 'database_error',
        message: /only reads/,
      })
  })

  t.test('uses of a key are counted once, whatever became of a failed write', async (t) => {
    const records = await open(t)
    await bootstrap(records, { domains: ['a.com'], timezone: 'UTC', now: AUTUMN })
    const fates: ('made' | 'refused')[] = []
    const write: Records['write'] = async (...statements) => {
      const fate = fates.shift()
      if (fate !== 'refused') await records.write(...statements)
      if (fate) throw new ApiError('database_error', 'The store does not respond.')
    }
    let now = AUTUMN.getTime()
    const deps = { records: { ...records, write }, sites: createSites(records), random: randomBytes }
    const keys = createKeys({ ...deps, now: () => new Date(++now) })
    const { id, secret } = await keys.create({ org: 1, name: 'x', scopes: [] }, deed)
    let uses = 0
    for (const [fate, why] of [
      [['made'], 'it was made, and its result came too late'],
      [['refused'], 'it was not made'],
      [['made', 'made'], 'it was made, and its repetition failed too'],
      [['refused', 'made'], 'its repetition was made'],
    ] as const) {
      for (const one of fate) {
        fates.push(one)
        await keys.authenticate(secret)
        await t.rejects(keys.flush())
      }
      await keys.authenticate(secret)
      await keys.flush()
      uses += fate.length + 1
      t.equal((await keys.usage(id)).requests, uses, why)
      t.match(await records.query(sql`select requests, last_used_at from keys`), [
        { requests: uses, last_used_at: new Date(now) },
      ])
    }
  })

  t.test('a write is done whole or not at all', async (t) => {
    const records = await open(t)
    const add = sql`insert into goals (id, name) values (1, 'a')`
    await t.rejects(records.write(add, sql`insert into no_such_table values (1)`), refusal('written'))
    t.same(await records.query(sql`select id from goals`), [], 'the first statement is undone')
    await t.rejects(records.query(sql`select no_such_column from goals`), refusal('read'))
    await records.write(add, sql`update goals set name = 'b'`)
    t.same(await records.query(sql`select id, name from goals`), [{ id: 1, name: 'b' }], 'the next ones are done')
  })

  t.test('writes at the same time are all done', async (t) => {
    const records = await open(t)
    const add = sql`update last_ids set id = id + 1 where kind = 'goals'`
    await Promise.all(Array.from({ length: 20 }, () => records.write(add)))
    t.same(await records.query(sql`select id from last_ids where kind = 'goals'`), [{ id: 20 }])
  })
}
