import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PRIOR_COLUMNS } from '../../../src/storage/aggregates/session-aggregates.js'
import { openDataFile } from '../../../src/storage/duckdb/datafile.js'
import { EVENTS_SCHEMA } from '../../../src/storage/duckdb/events-schema.js'
import { runQuery, runTransaction } from '../../../src/storage/duckdb/query.js'
import type { EventStore } from '../../../src/storage/event-store.js'
import type { EventRow } from '../../../src/storage/rows.js'
import { join as joined, type Param, raw, type Sql, sql } from '../../../src/storage/sql.js'
import { directory } from '../../fixtures/files.js'
import { generateRows } from '../../fixtures/generated-sessions.js'
import { eventRow } from '../../fixtures/rows.js'
import { openStoreAt, storeOptions } from '../../fixtures/store.js'
import { findWrongDailyCounts } from '../../fixtures/wrong-daily-counts.js'
import { checkRead } from '../../oracle/check-read.js'
import { EXPECTED_READS } from '../../oracle/expected-reads.js'
import type { Question } from '../../oracle/site-rows.js'

const NOW = Date.parse('2026-11-01T12:34:56.789Z')
const LATER = new Date('2026-12-01T00:00:00Z')
const rows = generateRows({ seed: 20261122, sessions: 150, agents: 200 })

/** A row by its present columns. */
const columnsOf = ({ vitals, error, ...row }: EventRow): [name: string, value: Param][] =>
  Object.entries({ ...row, ...vitals, error: error && JSON.stringify(error) })

/** Aggregates with the columns of version 5 and wrong values, which show in any result made of them. */
const SUMMED: readonly Sql[] = [
  sql`insert into sessions (site_id, session_id, visitor_id, started, ended, ms, views, acts, bounced, ids, mixed, entry_page,
      exit_page, channel, source, utm_campaign)
    select site_id, session_id, 1, min(session_start), max(timestamp), 1000, 50, 50, 1.0, 1, false, '/', '/', 'Email', 'old', 'old'
    from events group by all`,
  sql`insert into session_pages (site_id, session_id, visitor_id, started, ended, pathname, page_views, page_acts, engaged_ms,
      scroll, entered, exited, ms, views, bounced, ids)
    select site_id, session_id, 1, min(session_start), max(timestamp), '/', 50, 50, 0, 0, 1, 1, 1000, 50, 1.0, 1
    from events group by all`,
  sql`insert into unsealed select site_id, session_id, min(session_start) from events group by all limit 5`,
  sql`insert into seals values (${LATER})`,
]

/** Takes the columns of versions 15 and 16 and the names of version 14 back. */
const NAMES_OF_VERSION_13: readonly Sql[] = [
  sql`drop table page_samples`,
  sql`alter table agent_events drop column proof`,
  sql`alter table agent_events drop column proof_at`,
  sql`alter table agent_events drop column action`,
  sql`alter table agent_events drop column rule`,
  sql`alter table agent_events drop column accepts`,
  sql`alter table sessions drop column suspected`,
  sql`alter table session_pages drop column suspected`,
  sql`alter table sessions rename column interactions to acts`,
  sql`alter table sessions rename column visitor_ids to ids`,
  sql`alter table sessions rename column traits_vary to mixed`,
  sql`alter table session_pages rename column page_interactions to page_acts`,
  sql`alter table session_pages rename column visitor_ids to ids`,
  sql`alter table stale_sessions rename to unsealed`,
  sql`alter table aggregated_until rename column started to watermark`,
  sql`alter table aggregated_until rename to seals`,
  sql`alter table daily_aggregated_until rename to daily_seals`,
]

/** Fifty rows a statement: one for each row took most of the test's time. */
const chunks = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / 50) }, (_, n) => all.slice(n * 50, (n + 1) * 50))

/** A file as an earlier version left it, with every row stored; version 5 has aggregated them. */
async function oldFile(file: string, version: 1 | 5): Promise<void> {
  const old = await openDataFile({ ...storeOptions(file).options, migrations: EVENTS_SCHEMA.slice(0, version) })
  await old.write(async (writer) => {
    const known = await runQuery(writer, sql`select table_name || column_name as name from information_schema.columns`)
    const then = new Set(known.map(({ name }) => name))
    const insert = (table: string, stored: readonly [name: string, value: Param][][]) => {
      const present = stored.flat().filter(([name, value]) => value !== null && then.has(`${table}${name}`))
      const columns = [...new Set(present.map(([name]) => name))]
      const values = stored.map((row) => {
        const cells = new Map(row)
        return sql`(${joined(
          columns.map((name) => sql`${cells.get(name) ?? null}`),
          ', ',
        )})`
      })
      return sql`insert into ${raw(table)} (${raw(columns.join(', '))}) values ${joined(values, ', ')}`
    }
    const stored = [
      ...chunks(rows.events.map(columnsOf)).map((some) => insert('events', some)),
      ...chunks(rows.agent_events.map((row) => Object.entries(row))).map((some) => insert('agent_events', some)),
    ]
    await runTransaction(writer, [...stored, ...(version === 5 ? SUMMED : [])])
  })
  await old.close()
}

/** Reads that together use every column of `PRIOR_COLUMNS`. */
const READS = ['overview', 'sources', 'locations', 'devices', 'pages']
const TABLES = ['events', 'sessions', 'session_pages', 'stale_sessions', 'aggregated_until'] as const
const counts = async (store: EventStore) => {
  const of = joined(
    TABLES.map((table) => sql`(select count(*) from ${raw(table)}) as ${raw(table)}`),
    ', ',
  )
  const [found] = await store.query(sql`select ${of}, (select max(version) from schema_versions) as version`)
  return found
}

for (const from of [1, 5] as const) t.test(`a file of version ${from} is migrated`, (t) => checkMigration(t, from))

async function checkMigration(t: Test, from: 1 | 5): Promise<void> {
  const file = join(directory(t), 'events.duckdb')
  await oldFile(file, from)
  const answersAsItsHits = async (store: EventStore, when: string) => {
    const window: Question['window'] = [Date.parse('2026-10-05T00:00Z'), Date.parse('2026-10-31T00:00Z')]
    const deps = {
      store,
      now: () => new Date(NOW),
      site: async (id: number) => ({ id, timezone: 'UTC', visitor_salt: 'month' as const, owns: () => true }),
      segment: async () => undefined,
      ...{ catalog: [], assistants: [] },
    }
    for (const judged of EXPECTED_READS.filter(({ path }) => READS.includes(path))) {
      const q: Question = { site: 1, audience: 'human', window, tz: 'UTC', filters: [] }
      const asked = window.map((at) => new Date(at).toISOString())
      const { found, wanted } = await checkRead(
        judged,
        rows,
        {
          ...{ q, window: `start=${asked[0]}&end=${asked[1]}`, compare: 'none' },
          more: { now: NOW, unit: 'day', pick: 0 },
        },
        deps,
      )
      t.strictSame(found, wanted, `${judged.path}, ${when}`)
    }
  }

  const own = rows.events.length
  const all = new Set(rows.events.map(({ site_id, session_id }) => `${site_id} ${session_id}`)).size
  const pages = new Set(rows.events.map((row) => `${row.site_id} ${row.session_id} ${row.pathname}`)).size
  const version = EVENTS_SCHEMA.length

  const store = await openStoreAt(file)
  const emptied = { events: own, sessions: 0, session_pages: 0, stale_sessions: 0, aggregated_until: 0, version }
  t.strictSame(await counts(store), emptied, 'what was aggregated is gone, the rows are not')
  await answersAsItsHits(store, 'nothing aggregated')

  await store.aggregate(LATER)
  t.strictSame(await findWrongDailyCounts(store), [], 'every day is counted')
  const [counted] = await store.query(sql`select sum(fetches)::integer as fetches from daily_urls`)
  t.equal(counted?.fetches, rows.agent_events.length)
  const filled = { ...emptied, sessions: all, session_pages: pages, aggregated_until: 1 }
  t.strictSame(await counts(store), filled, 'all is aggregated again')
  for (const column of PRIOR_COLUMNS) {
    const [found] = await store.query(sql`select count(${raw(column)}) as n from sessions`)
    t.ok(Number(found?.n) > 0, `${column} tells of sessions before`)
  }
  await answersAsItsHits(store, 'all aggregated')
  await store.close()

  const again = await openStoreAt(file)
  t.strictSame(await counts(again), filled, 'it is emptied once')
  await answersAsItsHits(again, 'opened again')
  await again.close()
}

t.test('a file of version 13 has the same aggregates under their new names', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(file)
  await store.append(rows)
  await store.aggregate(LATER)
  const dump = (one: EventStore) =>
    Promise.all(
      ['sessions', 'session_pages', 'aggregated_until', 'daily_aggregated_until'].map((table) =>
        one.query(sql`select * from ${raw(table)} order by all`),
      ),
    )
  const stored = await dump(store)
  t.ok(stored.every((table) => table.length > 0))
  await store.close()
  const old = await openDataFile({ ...storeOptions(file).options, migrations: EVENTS_SCHEMA })
  await old.write((writer) =>
    runTransaction(writer, [...NAMES_OF_VERSION_13, sql`delete from schema_versions where version > 13`]),
  )
  await old.close()
  const again = await openStoreAt(file)
  // The last version aggregates them again, with its column `suspected`.
  await again.aggregate(LATER)
  t.strictSame(await dump(again), stored)
  await again.close()
})

t.test(
  'aggregated sessions of several visitor ids are aggregated again, for the visitor of their first hit',
  async (t) => {
    const file = join(directory(t), 'events.duckdb')
    const session = { session_id: 1n, session_start: new Date('2026-10-01T23:50:00Z') }
    const before = eventRow({ ...session, visitor_id: 9n, timestamp: session.session_start })
    const after = eventRow({ ...session, visitor_id: 2n, timestamp: new Date('2026-10-02T00:05:00Z') })
    const later = new Date('2026-10-02T10:00:00Z')
    const next = eventRow({ visitor_id: 2n, session_id: 2n, session_start: later, timestamp: later })
    const store = await openStoreAt(file)
    await store.append({ events: [before, after, next], agent_events: [] })
    await store.aggregate(LATER)
    await store.close()
    // As versions before left it: with the least id, and without the last step.
    const old = await openDataFile({ ...storeOptions(file).options, migrations: EVENTS_SCHEMA })
    await old.write((writer) =>
      runTransaction(writer, [sql`update sessions set visitor_id = 2, first_seen = ${session.session_start}`]),
    )
    await old.write((writer) =>
      runTransaction(writer, [...NAMES_OF_VERSION_13, sql`delete from schema_versions where version >= 13`]),
    )
    await old.close()
    const again = await openStoreAt(file)
    await again.aggregate(LATER)
    t.strictSame(await again.query(sql`select visitor_id, first_seen from sessions order by session_id`), [
      { visitor_id: '0000000000000009', first_seen: session.session_start },
      { visitor_id: '0000000000000002', first_seen: later },
    ])
    await again.close()
  },
)
