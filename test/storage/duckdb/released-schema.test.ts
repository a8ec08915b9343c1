import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { openDataFile } from '../../../src/storage/duckdb/datafile.js'
import { EVENTS_SCHEMA } from '../../../src/storage/duckdb/events-schema.js'
import { runQuery, runTransaction } from '../../../src/storage/duckdb/query.js'
import { RECORDS_SCHEMA } from '../../../src/storage/records/records-schema.js'
import { raw, type Sql, sql } from '../../../src/storage/sql.js'
import type { ResultRow } from '../../../src/storage/store.js'
import { directory } from '../../fixtures/files.js'
import { storeOptions } from '../../fixtures/store.js'

/*
 * Files of earlier versions of the two schemas, with a row in each of their tables. test/fixtures/schema has the steps as
 * they were released; a step is added there with its release, and never changed. test/storage/duckdb/migrate.test.ts asks reads.
 */

/** Reads the steps of a released schema. A statement ends with a semicolon at the end of a line. */
const readSteps = (name: string): string[][] =>
  readFileSync(`test/fixtures/schema/${name}.sql`, 'utf8')
    .split(/^-- version \d+\n/m)
    .slice(1)
    .map((step) => step.split(/;\n/).slice(0, -1))

/** `first` is the first version that was in use: step 6 of the records changes a table twice, and fails if it has rows. */
const SCHEMAS = [
  { name: 'events', schema: EVENTS_SCHEMA, steps: readSteps('events'), first: 1 },
  { name: 'records', schema: RECORDS_SCHEMA, steps: readSteps('records'), first: 6 },
] as const

/** A value of each type, and what a query returns for it. */
const VALUES: Readonly<Record<string, [written: string, read: unknown]>> = {
  INTEGER: ['7', 7],
  UINTEGER: ['8', 8],
  BIGINT: ['9', 9],
  UBIGINT: ['10', '000000000000000a'],
  DOUBLE: ['0.5', 0.5],
  BOOLEAN: ['true', true],
  VARCHAR: ["'text'", 'text'],
  TIMESTAMP: ["'2026-11-20 10:00:00'", new Date('2026-11-20T10:00:00Z')],
}
/** Tables that a later step empties, because their rows are counted again. */
const EMPTIED = new Set(['sessions', 'session_pages', 'unsealed', 'seals'])

/** Names that a later step changes. */
const RENAMED: Readonly<Record<string, string>> = {
  unsealed: 'stale_sessions',
  seals: 'aggregated_until',
  daily_seals: 'daily_aggregated_until',
  watermark: 'started',
  acts: 'interactions',
  page_acts: 'page_interactions',
  ids: 'visitor_ids',
  mixed: 'traits_vary',
}
const nameNow = (name: unknown): string => RENAMED[String(name)] ?? String(name)

const listColumns = sql`select table_name, column_name, data_type from duckdb_columns()
  where not internal and table_name <> 'schema_versions' order by table_name, column_index`

for (const { name, schema, steps, first } of SCHEMAS) {
  t.test(`${name}: a released step is not changed`, async (t) => {
    t.ok(steps.length > 10 && schema.length >= steps.length)
    for (const [i, step] of steps.entries()) t.same(schema[i], step, `version ${i + 1}`)
  })

  t.test(`${name}: a file of an earlier version is migrated, and its rows stay`, async (t) => {
    for (let version = first; version < schema.length && version <= steps.length; version += 3) {
      const file = join(directory(t), `${name}.duckdb`)
      const { options, lines } = storeOptions(file)
      const old = await openDataFile({ ...options, migrations: steps.slice(0, version) })
      const columns = await old.read((reader) => runQuery(reader, listColumns))
      const tables = new Map<string, ResultRow[]>()
      for (const column of columns)
        tables.set(String(column.table_name), [...(tables.get(String(column.table_name)) ?? []), column])
      const inserts: Sql[] = []
      for (const [table, of] of tables) {
        inserts.push(sql`delete from ${raw(table)}`)
        const values = of.map(({ data_type }) => VALUES[String(data_type)]?.[0])
        inserts.push(raw(`insert into ${table} values (${values.join(', ')})`))
      }
      await old.write((writer) => runTransaction(writer, inserts))
      await old.close()

      const opened = await openDataFile({ ...options, migrations: schema })
      for (const [table, of] of tables) {
        const expected = Object.fromEntries(
          of.map(({ column_name, data_type }) => [nameNow(column_name), VALUES[String(data_type)]?.[1]]),
        )
        const found: ResultRow[] = await opened.read((reader) =>
          runQuery(reader, sql`select * from ${raw(nameNow(table))}`),
        )
        const isEmptied = name === 'events' && EMPTIED.has(table) && found.length === 0
        // Steps add rows to some tables, and columns.
        const kept = found.map((row) =>
          Object.fromEntries(Object.keys(expected).map((column) => [column, row[column]])),
        )
        t.ok(isEmptied || kept.some((row) => isDeepStrictEqual(row, expected)), `${table} of version ${version}`)
      }
      const [row] = await opened.read((reader) =>
        runQuery(reader, sql`select max(version) as version from schema_versions`),
      )
      t.equal(row?.version, schema.length)
      await opened.close()
      t.match(lines.join('\n'), new RegExp(`as it was lies in .*schema-${version} for a week`))
      t.ok(existsSync(`${file}.schema-${version}`))
    }
  })
}

t.test('the copy of a file from before its migration is the file as it was, and goes after a week', async (t) => {
  const data = directory(t)
  const file = join(data, 'events.duckdb')
  let now = new Date()
  const { options, lines } = storeOptions(file, { now: () => now })
  const count = sql`select count(*) as n from agent_events`
  const old = await openDataFile({ ...options, migrations: EVENTS_SCHEMA.slice(0, 3) })
  await old.write((writer) => runQuery(writer, sql`insert into agent_events (site_id) values (1), (2)`))
  await old.close()
  const opened = await openDataFile({ ...options, migrations: EVENTS_SCHEMA })
  await opened.write((writer) => runQuery(writer, sql`delete from agent_events`))
  await opened.close()
  t.same(readdirSync(data).sort(), ['events.duckdb', 'events.duckdb.schema-3'])

  const before = await openDataFile({ ...options, file: `${file}.schema-3`, migrations: EVENTS_SCHEMA.slice(0, 3) })
  t.same(await before.read((reader) => runQuery(reader, count)), [{ n: 2 }], 'a program of before opens it')
  await before.close()
  await t.rejects(openDataFile({ ...options, migrations: EVENTS_SCHEMA.slice(0, 3) }), {
    message:
      /has schema version \d+, and this readership knows versions up to 3: start a later readership, or restore a backup with `readership restore BACKUP --data NEW`$/,
  })
  const copied = new Date('2026-11-20T00:00:00Z')
  utimesSync(`${file}.schema-3`, copied, copied)
  for (const [day, exists] of [
    ['2026-11-26', true],
    ['2026-11-28', false],
  ] as const) {
    now = new Date(`${day}T00:00:00Z`)
    await (await openDataFile({ ...options, migrations: EVENTS_SCHEMA })).close()
    t.equal(existsSync(`${file}.schema-3`), exists, day)
  }
  t.match(lines.at(-1), /a copy from before a migration, was deleted/)
})
