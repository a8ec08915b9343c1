import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Test } from 'tap'
import type { AggregateMarks } from '../../src/storage/clickhouse/aggregate-marks.js'
import { applyCommit } from '../../src/storage/clickhouse/append.js'
import { connect, parseAddress } from '../../src/storage/clickhouse/client.js'
import { type JournalEntry, openJournal } from '../../src/storage/clickhouse/journal.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { type Sql, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import type { ClickHouseServer } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openJournalRecords } from '../fixtures/clickhouse-store.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { whole } from './engine-reads.js'
import { compareRows, readAll, WRITE_STEPS } from './write-steps.js'

/** The normal run crashes after one of so many statements, after others in each step. */
const stride = whole ? 1 : 3

/** Nothing is aggregated. */
const NO_MARKS: AggregateMarks = {
  ofCommit: async () => {},
  ofVerdicts: async () => {},
  ofFetches: async () => {},
  ofEvents: async () => {},
  removePerson: async () => {},
  removeImport: async () => {},
  removeBefore: async () => {},
  assign: async () => {},
  erase: async () => {},
}

/** Makes the writes of a store fail: the nth from now is carried out, and then throws once. */
function createFault() {
  let left = Number.POSITIVE_INFINITY
  let struck = false
  const strike = async <T>(write: () => Promise<T>): Promise<T> => {
    const result = await write()
    if (--left > 0 || struck) return result
    struck = true
    // A code of a server, because an error of the network is repeated at once.
    throw Object.assign(new Error('the test stops here'), { code: '999' })
  }
  const wrapClient = (client: ClickHouseClient): ClickHouseClient =>
    new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        const call = (...given: unknown[]) => Reflect.apply(value, target, given)
        if (name === 'insert') return (...given: unknown[]) => strike(async () => call(...given))
        if (name !== 'query') return call
        return (given: { query: string }) =>
          /^\s*(?:insert|alter)/.test(given.query) ? strike(async () => call(given)) : call(given)
      },
    })
  return {
    arm(n: number): void {
      left = n
      struck = false
    },
    get struck() {
      return struck
    },
    connectTo: async (address: Parameters<typeof connect>[0]) => wrapClient(await connect(address)),
    wrap: (records: Records): Records => ({
      query: (query) => records.query(query),
      write: (...statements: Sql[]) => strike(() => records.write(...statements)),
    }),
  }
}

/** The rows that DuckDB has after each step. */
async function runOnDuckdb(t: Test): Promise<string[][]> {
  const duckdb = await openStore(t)
  const expected: string[][] = []
  for (const step of WRITE_STEPS) {
    await step.run(duckdb)
    expected.push(await readAll(duckdb))
  }
  return expected
}

const NO_DIFFERENCE = { missing: [], unexpected: [] }

/** Everything that a store on ClickHouse must do with stored rows, compared with DuckDB row for row. */
export function writeContract(t: Test, server: ClickHouseServer): void {
  let onDuckdb: Promise<string[][]> | undefined
  const check = async (t: Test, store: EventStore, step: number, why: string) => {
    onDuckdb ??= runOnDuckdb(t)
    t.strictSame(compareRows(await readAll(store), (await onDuckdb).at(step) ?? []), NO_DIFFERENCE, why)
  }

  t.test('the same commits and changes leave the same rows, and again when they are repeated', async (t) => {
    const store = await openClickHouseWriter(t, await server.createDatabase())
    for (const [n, { name, run }] of WRITE_STEPS.entries())
      for (const why of ['', ', repeated']) {
        await run(store)
        await check(t, store, n, `${name}${why}`)
        await store.maintain({ aggregate: true })
      }
  })

  t.test('a commit that failed half-way is completed by its repetition', async (t) => {
    const [records, fault] = [await openJournalRecords(t), createFault()]
    const options = { records: fault.wrap(records), connectTo: fault.connectTo }
    const store = await openClickHouseWriter(t, await server.createDatabase(), options)
    for (const [index, { name, commit }] of WRITE_STEPS.entries()) {
      if (!commit) break
      // The journal, and each of the statements after it.
      fault.arm(1 + (index % 5))
      await commit.retry(store).catch((error) => {
        if (!fault.struck) throw error
      })
      if (fault.struck) await commit.retry(store)
      await check(t, store, index, name)
    }
  })

  t.test('the same rows, with a crash after any statement, and writers that come back', async (t) => {
    const [url, records, fault] = [await server.createDatabase(), await openJournalRecords(t), createFault()]
    const stores: EventStore[] = []
    const entries = new Map<bigint, JournalEntry>()
    const keepEntry = async () => {
      const entry = await (await openJournal(records, stores.length)).read()
      if (entry) entries.set(entry.number, entry)
    }
    const open = async () => {
      const options = { records: fault.wrap(records), epoch: stores.length + 1, connectTo: fault.connectTo }
      stores.push(await openClickHouseWriter(t, url, options))
    }
    const current = () => {
      const store = stores.at(-1)
      if (!store) throw new Error('no store is open')
      return store
    }
    await open()
    for (const [index, { name, run }] of WRITE_STEPS.entries()) {
      for (let n = 1 + (index % stride); ; n += stride) {
        fault.arm(n)
        await run(current()).catch((error) => {
          if (!fault.struck) throw error
        })
        if (!fault.struck) break
        fault.arm(Number.POSITIVE_INFINITY)
        // The next writer empties the journal.
        await keepEntry()
        await open()
      }
      await check(t, current(), index, name)
      await keepEntry()
    }
    t.ok(stores.length > (2 * WRITE_STEPS.length) / stride, `${stores.length} crashes`)
    fault.arm(Number.POSITIVE_INFINITY)
    // Stopped for a minute, taken over, and continued.
    for (const old of [stores[0], stores.at(-2)])
      for (const { name, run, commit } of WRITE_STEPS) {
        if (!old || name.startsWith('devices') || name === 'the removals are forgotten') continue
        await t.rejects((commit?.append ?? run)(old), /another writer has taken over/, `${name}, by an old writer`)
      }
    const client = await connect(parseAddress(url))
    t.teardown(() => client.close())
    t.ok(entries.size >= WRITE_STEPS.filter(({ commit }) => commit).length, `${entries.size} commits`)
    for (const entry of entries.values()) await applyCommit(client, NO_MARKS, entry)
    await check(t, current(), -1, 'what such a writer had sent already changes nothing')
  })

  t.test('an erasure has ended when no file has the rows any more', async (t) => {
    const url = await server.createDatabase()
    const store = await openClickHouseWriter(t, url)
    const client = await connect(parseAddress(url))
    t.teardown(() => client.close())
    const marks = ['erased-person-7c1e', 'erased-site-93ab', 'expired-5d20', 'kept-e1f4'] as const
    const [person, site, expired, kept] = marks
    const at = (day: number) => new Date(Date.UTC(2026, 9, day))
    const row = (pathname: string, day: number, given = {}) =>
      eventRow({ pathname: `/${pathname}`, timestamp: at(day), visitor_id: 5n, session_id: 5n, ...given })
    await store.append({
      events: [
        row(person, 20, { visitor_id: 7n, session_id: 7n }),
        row(expired, 2),
        row(kept, 20),
        row(site, 20, { site_id: 2 }),
      ],
      agent_events: [agentRow({ site_id: 2, user_agent: site, timestamp: at(3) }), agentRow({ user_agent: kept })],
    })
    // Versions that were replaced are erased too: the second is in another month.
    const key = { site_id: 1, visitor_id: 7n, kind: 'engagement', hostname: 'example.com', pathname: `/${person}` }
    const [first, second] = [at(31), new Date(Date.UTC(2026, 10, 1))]
    const report = row(person, 31, {
      kind: key.kind,
      visitor_id: 7n,
      session_id: 7n,
      reported_at: first,
      engaged_ms: 1,
    })
    await store.append({ events: [report], agent_events: [] })
    const { arrival, ...to } = {
      arrival: { ...report, entry_page: `/${person}` },
      session_id: 8n,
      session_start: first,
    }
    const place = { ...to, arrival, timestamp: second, visitor_id: 7n, pathname: `/${person}`, reported_at: second }
    await store.append({ events: [], agent_events: [] }, undefined, {
      placements: [{ key: { ...key, reported_at: first, engaged_ms: 1 }, from: undefined, to: place }],
    })

    const findMarks = async () => {
      const versions = `select pathname as text from events union all select user_agent from agent_events`
      const result = await client.query({ query: versions, format: 'JSONEachRow' })
      const text = JSON.stringify(await result.json())
      const files = server.data === undefined ? [] : listFiles(server.data)
      return marks.map((mark) => [text.includes(mark), files.some((file) => hasText(file, mark))])
    }
    const inFiles = server.data !== undefined
    const [there, gone] = [
      [true, inFiles],
      [false, false],
    ]
    t.strictSame(await findMarks(), [there, there, there, there])
    const removals = [
      [{ site: 1, key: 'p', visitor: 7n }, [gone, there, there, there]],
      [{ site: 2, key: 's', hostnames: [] }, [gone, gone, there, there]],
      [{ site: 1, before: at(10) }, [gone, gone, gone, there]],
    ] as const
    for (const [removal, expected] of removals) {
      while ((await store.remove(removal)).more);
      t.strictSame(await findMarks(), expected, JSON.stringify(expected))
    }
    t.strictSame(await store.query(sql`select pathname from events`), [{ pathname: `/${kept}` }])
    const left = await client.query({
      query: 'select countIf(is_deleted = 1) as keys from events',
      format: 'JSONEachRow',
    })
    t.strictSame(
      await left.json(),
      [{ keys: 4 }],
      'keys without values are left: the person’s three, and one of the site',
    )
  })
}

const listFiles = (folder: string): string[] =>
  unlessDeleted(() => readdirSync(folder, { withFileTypes: true }))?.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return listFiles(path)
    return entry.isFile() ? [path] : []
  }) ?? []

const hasText = (file: string, text: string): boolean =>
  unlessDeleted(() => readFileSync(file))?.includes(text) ?? false

/** Returns undefined if a file or folder was deleted meanwhile: by a merge. */
function unlessDeleted<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
