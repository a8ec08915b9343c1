import { join } from 'node:path'
import t from 'tap'
import { openDataFile } from '../../src/duckdb/datafile.js'
import type { EventStore } from '../../src/duckdb/event-store.js'
import { EVENTS_SCHEMA } from '../../src/duckdb/events-schema.js'
import { runQuery, runTransaction } from '../../src/duckdb/query.js'
import type { EventRow } from '../../src/rows.js'
import { PRIOR_COLUMNS } from '../../src/session-aggregates.js'
import { join as joined, raw, type Sql, sql } from '../../src/sql.js'
import { directory } from '../fixtures/files.js'
import { generateRows } from '../fixtures/generated-sessions.js'
import { openStoreAt, storeOptions } from '../fixtures/store.js'
import { checkRead } from '../oracle/check-read.js'
import { EXPECTED_READS } from '../oracle/expected-reads.js'
import type { Question } from '../oracle/site-rows.js'

const NOW = Date.parse('2026-11-01T12:34:56.789Z')
const LATER = new Date('2026-12-01T00:00:00Z')
const rows = generateRows({ seed: 20261122, sessions: 150, agents: 0 })

/** A row by its present columns. */
const columnsOf = ({ vitals, error, ...row }: EventRow) =>
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

/** A file as version 5 left it, with every row stored and aggregated. */
async function oldFile(file: string): Promise<void> {
  const old = await openDataFile({ ...storeOptions(file).options, migrations: EVENTS_SCHEMA.slice(0, 5) })
  await old.write(async (writer) => {
    const known = await runQuery(
      writer,
      sql`select column_name as name from information_schema.columns where table_name = 'events'`,
    )
    const then = new Set(known.map(({ name }) => name))
    const stored = rows.events.map((row) => {
      const columns = columnsOf(row).filter(([name, value]) => value !== null && then.has(name))
      const names = raw(columns.map(([name]) => name).join(', '))
      const values = joined(
        columns.map(([, value]) => sql`${value}`),
        ', ',
      )
      return sql`insert into events (${names}) values (${values})`
    })
    await runTransaction(writer, [...stored, ...SUMMED])
  })
  await old.close()
}

/** Reads that together use every column of `PRIOR_COLUMNS`. */
const READS = ['overview', 'sources', 'locations', 'devices', 'pages']
const TABLES = ['events', 'sessions', 'session_pages', 'unsealed', 'seals'] as const
const counts = async (store: EventStore) => {
  const of = joined(
    TABLES.map((table) => sql`(select count(*) from ${raw(table)}) as ${raw(table)}`),
    ', ',
  )
  const [found] = await store.query(sql`select ${of}, (select max(version) from schema_versions) as version`)
  return found
}

t.test('a file without prior columns for channel, place and device is migrated', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  await oldFile(file)
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
  const emptied = { events: own, sessions: 0, session_pages: 0, unsealed: 0, seals: 0, version }
  t.strictSame(await counts(store), emptied, 'what was aggregated is gone, the rows are not')
  await answersAsItsHits(store, 'nothing aggregated')

  await store.aggregate(LATER)
  const filled = { ...emptied, sessions: all, session_pages: pages, seals: 1 }
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
})
