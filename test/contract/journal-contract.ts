import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import { type Commit, decodeCommit, encodeCommit, openJournal } from '../../src/storage/clickhouse/journal.js'
import { createFencedWrite } from '../../src/storage/records/shared-records.js'
import { sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

const record = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(shape, { noNullPrototype: true })

const anyText = fc.string({ unit: 'binary' })
/** Half a pair of surrogates is text for JavaScript, and a text of PostgreSQL cannot have a zero. */
const text = fc.oneof(anyText, fc.constantFrom('\ud83d', 'a\udc00b', '\0', '"\\\n', 'n1', 'd2', 's', ''))
const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const instant = fc.date({ noInvalidDate: true })
/** Zero has no sign in JSON, and none in a column. */
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
const number = fc.oneof(fc.integer(), double)
const vital = fc.option(double.map(Math.abs))
const vitals = record({ lcp: vital, cls: vital, inp: vital, fcp: vital, ttfb: vital })
const error = record({ type: text, message: text, frame: fc.option(text), fingerprint: text })
const event = record({
  ...{ timestamp: instant, visitor_id: id, session_id: id, session_start: instant, pathname: text },
  ...{
    utm_term: fc.option(text),
    duration_ms: fc.option(number),
    vitals: fc.option(vitals),
    error: fc.option(error),
  },
  ...{ suspected: fc.boolean(), reported_at: fc.option(instant), props: fc.option(text) },
  import_key: fc.option(id),
}).map(eventRow)
const fetch = record({ timestamp: instant, ip_hash: id, user_agent: text, bytes: number }).map(agentRow)
const changes = record({
  loose: fc.array(event, { maxLength: 2 }),
  deliveries: fc.array(
    record({
      ...{ site_id: fc.nat(), signature: fc.option(text), sender: fc.option(text), number: fc.option(fc.nat()) },
      accepted_at: fc.nat(),
    }),
    { maxLength: 2 },
  ),
})
const commit: fc.Arbitrary<Commit> = record({
  rows: record({ events: fc.array(event, { maxLength: 3 }), agent_events: fc.array(fetch, { maxLength: 3 }) }),
  changes,
})

const EMPTY = { rows: { events: [], agent_events: [] }, changes: {} }
const position = (sequence: number) => ({ run: '00000000000000aa', sequence, human: 1, agent: 2, drops: { fault: 3 } })

/** Opens the journal as a writer that has just taken the lease. */
async function takeOver(records: Records, epoch: number) {
  await records.write(sql`update writers set epoch = ${epoch} where epoch < ${epoch}`)
  return openFenced(records, epoch)
}

const openFenced = (records: Records, epoch: number) =>
  openJournal({ ...records, write: createFencedWrite(records, epoch) }, epoch)

/** Everything that the journal of commits must do, wherever the records are. */
export function journalContract(t: Test, open: (t: Test) => Promise<Records>): void {
  t.test('a commit comes back from the journal as it was written', async (t) => {
    const journal = await takeOver(await open(t), 1)
    const compare = (given: Commit, found: Commit) => {
      if (!isDeepStrictEqual(found, given)) throw new Error(encodeCommit(found))
    }
    fc.assert(
      fc.property(commit, (given) => compare(given, decodeCommit(encodeCommit(given)))),
      { numRuns: 300, seed: 20261123 },
    )
    for (const given of fc.sample(commit, { numRuns: 20, seed: 20261123 })) {
      const { number, firstRow } = await journal.write(given, 6, undefined)
      t.ok(isDeepStrictEqual(await journal.read(), { number, firstRow, ...given }))
    }
  })

  t.test('one entry, one position of a run, ids and numbers that only grow', async (t) => {
    const records = await open(t)
    const journal = await takeOver(records, 7)
    t.equal(await journal.lastCommit('00000000000000aa'), undefined)
    t.equal(await journal.read(), undefined)
    const first = await journal.write(EMPTY, 5, position(1))
    const second = await journal.write(EMPTY, 3, position(2))
    t.match(first, { number: (7n << 32n) + 1n, firstRow: 1 })
    t.match(second, { number: (7n << 32n) + 5n, firstRow: 6 }, 'a commit has four numbers')
    t.match(await journal.read(), { number: second.number, firstRow: 6 }, 'the last commit alone')
    t.strictSame(await journal.lastCommit('00000000000000aa'), position(2))
    t.strictSame(await records.query(sql`select count(*) as n from commits`), [{ n: 1 }])
    t.equal(await journal.takeNumbers(2), (7n << 32n) + 9n)
    t.equal(await journal.read(), undefined, 'a change without an entry empties the journal')
    const again = await openFenced(records, 7)
    t.equal(await again.takeNumbers(), (7n << 32n) + 11n, 'the same epoch counts on')
    const next = await takeOver(records, 8)
    t.match(await next.write(EMPTY, 1, undefined), { number: (8n << 32n) + 1n, firstRow: 9 }, 'the next one from 1')
  })

  t.test('a writer that was taken over writes nothing', async (t) => {
    const records = await open(t)
    const old = await takeOver(records, 3)
    await old.write(EMPTY, 1, position(1))
    const present = await takeOver(records, 4)
    t.match(await present.read(), { number: (3n << 32n) + 1n }, 'what the old one left')
    const refused = { code: 'database_error', message: /another writer has taken over \(epoch 4, this one has 3\)/ }
    await t.rejects(old.write(EMPTY, 1, position(2)), refused)
    await t.rejects(old.takeNumbers(), refused)
    await t.rejects(openFenced(records, 3), refused)
    t.match(await present.read(), { number: (3n << 32n) + 1n })
    t.match(await present.lastCommit('00000000000000aa'), { sequence: 1 })
    const other = await takeOver(records, 5)
    await t.rejects(present.takeNumbers(), /another writer/)
    await other.takeNumbers()
  })

  t.test('of writers that write at the same time, none writes after the last took over', async (t) => {
    const records = await open(t)
    const written: number[] = []
    let latest = 0
    const write = async (epoch: number) => {
      const journal = await takeOver(records, epoch)
      latest = Math.max(latest, epoch)
      for (let n = 0; n < 5; n++) {
        const before = latest
        await journal.write(EMPTY, 1, position(n))
        if (epoch < before) throw new Error(`epoch ${epoch} wrote after ${before}`)
        written.push(epoch)
      }
    }
    const ended = await Promise.allSettled([1, 2, 3].map(write))
    t.equal(ended[2]?.status, 'fulfilled')
    t.equal(written.filter((epoch) => epoch === 3).length, 5)
    for (const end of ended) if (end.status === 'rejected') t.match(end.reason.message, /taken over/)
    t.match(await records.query(sql`select epoch from journal`), [{ epoch: 3 }])
  })
}
