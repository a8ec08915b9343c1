import type { ClickHouseClient } from '@clickhouse/client'
import type { Test } from 'tap'
import { z } from 'zod'
import { readAggregateState, readCountedDays } from '../../src/analytics/query/aggregate-split.js'
import { connect } from '../../src/storage/clickhouse/client.js'
import { type Sql, sql } from '../../src/storage/sql.js'
import type { Records } from '../../src/storage/store.js'
import type { ClickHouseServer } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openJournalRecords } from '../fixtures/clickhouse-store.js'
import { eventRow } from '../fixtures/rows.js'

const Statement = z.object({ query: z.string() })
const HOUR = 3_600_000
const at = new Date('2026-11-01T08:00:00Z')
const target = new Date('2026-11-05T00:00:00Z')

/** A client that, once armed, stops before each statement that matches; `reached` resolves there. */
function createPause(pattern: RegExp) {
  let isArmed = false
  let resume = () => {}
  let arrive = () => {}
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const resumed = new Promise<void>((resolve) => {
    resume = resolve
  })
  const connectTo = async (address: Parameters<typeof connect>[0]): Promise<ClickHouseClient> =>
    new Proxy(await connect(address), {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          if (isArmed && pattern.test(Statement.safeParse(given[0]).data?.query ?? '')) {
            arrive()
            await resumed
          }
          return Reflect.apply(value, target, given)
        }
      },
    })
  const arm = () => {
    isArmed = true
  }
  return { connectTo, reached, arm, resume: () => resume() }
}

/**
 * Records in which a commit can be on its way: `holdNext` has the next write rejected, and done `ms` later. As on
 * PostgreSQL, later writes wait for it and reads do not see it.
 */
function createSlowRecords(records: Records) {
  let held: number | undefined
  let pending: Promise<void> = Promise.resolve()
  return {
    holdNext(ms: number) {
      held = ms
    },
    query: (query: Sql) => records.query(query),
    async write(...statements: Sql[]) {
      if (held === undefined) {
        await pending
        return records.write(...statements)
      }
      const ms = held
      held = undefined
      pending = new Promise((resolve) => setTimeout(resolve, ms)).then(() => records.write(...statements))
      throw new Error('the connection was lost')
    },
  }
}

/** Faults at which a writer of the store is not alone with its records. */
export function takeoverContract(t: Test, server: ClickHouseServer): void {
  t.test('the first aggregates of a writer that was taken over do not count', async (t) => {
    for (const [name, pattern] of [
      ['sessions', /insert into aggregated_until/],
      ['days', /insert into daily_aggregated_until/],
    ] as const) {
      const [url, records, pause] = [await server.createDatabase(), await openJournalRecords(t), createPause(pattern)]
      const old = await openClickHouseWriter(t, url, { records, connectTo: pause.connectTo })
      await old.append({ events: [eventRow({ timestamp: at })], agent_events: [] })
      pause.arm()
      const step = old.aggregate(target)
      step.catch(() => {})
      await Promise.race([pause.reached, step])
      const present = await openClickHouseWriter(t, url, { records, epoch: 2 })
      const late = eventRow({ timestamp: new Date(at.getTime() + HOUR / 4), session_start: at, pathname: '/late' })
      await present.append({ events: [late], agent_events: [] })
      pause.resume()
      await step.catch(() => {})
      const found = await (name === 'sessions' ? readAggregateState(present) : readCountedDays(present, 1))
      t.equal(found, undefined, name)
      await present.aggregate(target)
      t.strictSame(await present.query(sql`select views from sessions`), [{ views: 2 }], 'with the late row')
    }
  })

  t.test('rows are there once, whenever a commit arrives whose result is unknown', async (t) => {
    const position = { run: '00000000000000aa', sequence: 1, human: 1, agent: 0, drops: {} }
    const append = { events: [eventRow({ timestamp: at })], agent_events: [] }
    const repetitions = ['at once', 'after another change'] as const
    for (const why of repetitions) {
      const records = createSlowRecords(await openJournalRecords(t))
      const store = await openClickHouseWriter(t, await server.createDatabase(), { records })
      records.holdNext(300)
      await t.rejects(store.append(append, position), { code: 'database_error' })
      if (why === 'after another change') await store.replaceSitemap('example.com', [])
      await store.append(append, position)
      t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 1 }], why)
    }
  })
}
