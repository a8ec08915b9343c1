import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { listing } from '../../src/agents/listing.js'
import { createApp } from '../../src/http/app.js'
import { createPdf } from '../../src/http/export/pdf.js'
import { REPORTS } from '../../src/http/export/report.js'
import { exportRoutes } from '../../src/http/export.js'
import { readRoutes } from '../../src/http/reads.js'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import type { Rows } from '../../src/record/row.js'
import { sql } from '../../src/sql.js'
import { directory } from '../fixtures/files.js'
import { fileEngine } from '../fixtures/unthreaded.js'
import { NOW, WORLD } from '../fixtures/world.js'

/** The service over the world's rows, its sites called as given. */
async function open(t: Test, rows: Rows = WORLD, name = 'Berlin Zoo') {
  const { engine, commit } = await fileEngine(t)
  await bootstrap(engine.records, { domains: [], timezone: 'Europe/Berlin', now: NOW })
  await engine.records.write(
    sql`update sites set name = ${name}`,
    sql`insert into sites select 2, 1, 'second', domains, timezone, currency, excluded_paths, respect_gpc, visitor_salt,
      retention_days, citation_threshold, created_at from sites where id = 1`,
  )
  await commit(rows)
  const sites = createSites(engine.records)
  const keys = createKeys({ records: engine.records, sites, now: () => NOW, random: (n) => Buffer.alloc(n, 7) })
  const logged: unknown[] = []
  const log = (error: unknown) => logged.push(error)
  const read = { store: engine.events, now: () => NOW, catalog: listing(loadCatalog()), sites }
  const app = createApp({
    routes: [...readRoutes(read), ...exportRoutes({ ...read, pdf: createPdf(undefined), log })],
    keys,
    version: '0',
    log,
  })
  const ask = (path: string) =>
    app(new Request(`http://127.0.0.1:8081/api/${path}`), { ip: '127.0.0.1', operator: true })
  return { ask, logged, keys, app, engine }
}

/** A CSV file as DuckDB has it: every cell a text, what is absent undefined. */
const reader = async (t: Test) => {
  const folder = directory(t)
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  t.teardown(() => connection.closeSync())
  let files = 0
  return async (text: string): Promise<Record<string, string>[]> => {
    const file = join(folder, `${++files}.csv`)
    writeFileSync(file, text)
    const found = await connection.runAndReadAll(
      `from read_csv('${file}', header = true, all_varchar = true, auto_detect = false, delim = ',', quote = '"',
        escape = '"', nullstr = '', allow_quoted_nulls = false,
        columns = {${(text.split('\r\n')[0] ?? '')
          .split(',')
          .map((name) => `'${name.replaceAll('"', '')}': 'VARCHAR'`)
          .join(', ')}})`,
    )
    return found.getRowObjectsJS().map((row) =>
      Object.fromEntries(
        Object.entries(row).flatMap(([name, value]) =>
          // One apostrophe is the guard's.
          value === null ? [] : [[name, String(value).replace(/^'/, '')]],
        ),
      ),
    )
  }
}

/** JSON as tables, by nothing but what is in it: a list of objects is one, under its path. */
function tablesOf(name: string, data: unknown): Map<string, Record<string, string>[]> {
  const tables = new Map<string, Record<string, string>[]>()
  const flat = (value: unknown, path: string[], cells: Record<string, string>, table: string) => {
    if (Array.isArray(value) && value.some((one) => typeof one === 'object'))
      for (const one of value) visit(one, table === '' ? path.join('.') : `${table}.${path.join('.')}`)
    else if (Array.isArray(value) && value.length === 0) return
    else if (Array.isArray(value)) cells[path.join('.')] = value.join('; ')
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) flat(inner, [...path, key], cells, table)
    else cells[path.join('.')] = String(value)
  }
  const visit = (row: unknown, table: string) => {
    const cells: Record<string, string> = {}
    tables.set(table, [...(tables.get(table) ?? []), cells])
    flat(row, [], cells, table)
  }
  if (Array.isArray(data)) for (const row of data) visit(row, name)
  else visit(data, '')
  return tables
}

/** Whether all of `some` is in `all`, numbers as numbers. */
const holds = (all: Record<string, string>, some: Record<string, string>) =>
  Object.entries(some).every(([name, value]) => all[name] === value || Number(all[name]) === Number(value))

const PARAMS: Record<string, string> = {
  breakdown: 'dimension=pathname',
  'agents/breakdown': 'dimension=operator',
}

t.test('a file read again by DuckDB is the JSON, of every read', async (t) => {
  const { ask } = await open(t)
  const read = await reader(t)
  const windows = ['range=30d', 'range=yesterday&compare=previous', 'range=7d&audience=agent', 'range=7d&audience=all']
  for (const report of REPORTS.filter((name) => !name.includes('{')))
    for (const window of windows) {
      const query = `site=1&${window}&${PARAMS[report] ?? ''}`
      const path = /^(agents|content|policy|citation-gap)/.test(report) ? report : `stats/${report}`
      const answer = await ask(`${path}?${query}&limit=1000`)
      const file = await ask(`stats/export.csv?${query}&report=${report}`)
      const why = `${report} ${window}`
      t.equal(file.status, answer.status, why)
      if (answer.status !== 200) continue
      const { data } = JSON.parse(await answer.text())
      const rows = await read(await file.text())
      const last = report.split('/').at(-1) ?? ''
      const expected = tablesOf(last, data)
      const several = rows.some((row) => row.table !== undefined)
      let found = 0
      for (const [table, wanted] of expected) {
        const own = rows.filter((row) => !several || row.table === (table === '' ? last : table))
        // The one row of an answer that has only words for the rows in it is told with each of these.
        if (table === '' && own.length !== 1 && own.every((row) => holds(row, wanted[0] ?? {}))) continue
        if (Object.keys(wanted[0] ?? {}).length === 0) continue
        t.equal(own.length, wanted.length, `${why}: rows of ${table}`)
        wanted.forEach((row, i) => {
          if (holds(own[i] ?? {}, row)) found++
          else t.same(own[i], row, `${why}: ${table} ${i}`)
        })
      }
      if (Array.isArray(data)) t.equal(rows.length, data.length, `${why}: all rows`)
      if (report !== 'overview') t.notOk(several && found < rows.length, `${why}: and no others`)
    }
})
