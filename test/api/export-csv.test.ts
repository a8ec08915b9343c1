import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { formatCell } from '../../src/analytics/export/csv.js'
import { findReport, REPORT_NAMES } from '../../src/analytics/export/report-names.js'
import { DuckDBInstance } from '../../src/storage/duckdb/bindings.js'
import { exportService } from '../fixtures/export-service.js'
import { directory } from '../fixtures/files.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** Reads a CSV file by DuckDB: every cell a text, absent values undefined. */
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
          // Removes the apostrophe that guards against formulas.
          value === null ? [] : [[name, String(value).replace(/^'/, '')]],
        ),
      ),
    )
  }
}

/** Turns JSON into tables by its content alone: each list of objects is one, named by its path. */
function tablesOf(name: string, data: unknown): Map<string, Record<string, string>[]> {
  const tables = new Map<string, Record<string, string>[]>()
  const flat = (value: unknown, path: string[], cells: Record<string, string>, table: string) => {
    if (Array.isArray(value) && value.some((one) => typeof one === 'object'))
      for (const one of value) visit(one, table === '' ? path.join('.') : `${table}.${path.join('.')}`)
    else if (Array.isArray(value) && value.length === 0) return
    // An object with any keys is one cell of JSON.
    else if (path.at(-1) === 'props' || path.at(-1) === 'traits') cells[path.join('.')] = JSON.stringify(value)
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

/** Reports whether `all` contains `some`, numbers as numbers. */
const holds = (all: Record<string, string>, some: Record<string, string>) =>
  Object.entries(some).every(([name, value]) => all[name] === value || Number(all[name]) === Number(value))

const PARAMS: Record<string, string> = {
  breakdown: 'dimension=pathname',
  'agents/breakdown': 'dimension=operator',
}

t.test('the CSV of every read, read by DuckDB, equals the JSON', async (t) => {
  const { ask } = await exportService(t)
  const read = await reader(t)
  const windows = ['range=30d', 'range=yesterday&compare=previous', 'range=7d&audience=agent', 'range=7d&audience=all']
  const sessions = JSON.parse(await (await ask('stats/sessions?site=1&range=7d')).text()).data
  const named = REPORT_NAMES.map((name) => name.replace('sessions/{id}', `sessions/${sessions[0].id}`))
  for (const report of named.filter((name) => !name.includes('{')))
    for (const window of windows) {
      const query = `site=1&${window}&${PARAMS[report] ?? ''}`
      const path = /^(agents|content|policy|citation-gap|answers|editions|phantom-links|bill|blank-pages)/.test(report)
        ? report
        : `stats/${report}`
      const isList = 'limit' in findReport(report).read.query
      const answer = await ask(`${path}?${query}${isList ? '&limit=1000' : ''}`)
      const file = await ask(`stats/export.csv?${query}&report=${report}`)
      const why = `${report} ${window}`
      t.equal(file.status, answer.status, why)
      if (answer.status !== 200) continue
      const { data } = JSON.parse(await answer.text())
      const rows = await read(await file.text())
      const last = /^sessions/.test(report) ? 'sessions' : (report.split('/').at(-1) ?? '')
      const expected = tablesOf(last, data)
      const several = rows.some((row) => row.table !== undefined)
      let found = 0
      for (const [table, wanted] of expected) {
        const own = rows.filter((row) => !several || row.table === (table === '' ? last : table))
        // A row that only names its inner rows has no line of its own: its values stand in each inner row.
        const within = rows.filter((row) => row.table?.startsWith(`${table}.`))
        if (own.length === 0 && wanted.every((name) => within.some((row) => holds(row, name)))) continue
        if (table === '' && own.length !== 1 && own.every((row) => holds(row, wanted[0] ?? {}))) continue
        t.equal(own.length, wanted.length, `${why}: rows of ${table}`)
        wanted.forEach((row, i) => {
          if (holds(own[i] ?? {}, row)) found++
          else t.same(own[i], row, `${why}: ${table} ${i}`)
        })
      }
      const listed = rows.filter((row) => !several || row.table === last)
      if (Array.isArray(data)) t.equal(listed.length, data.length, `${why}: all rows`)
      if (report !== 'overview') t.notOk(several && found < rows.length, `${why}: no other rows`)
    }
})

t.test('formats each kind of cell', async (t) => {
  const rows: [unknown, string, string][] = [
    [undefined, '', 'absent'],
    ['', '""', 'an empty text'],
    [0, '0', 'zero'],
    [-0.25, '-0.25', 'a number, though it begins like a formula'],
    [1e-7, '1e-7', 'a small number'],
    [false, 'false', 'a boolean'],
    ['/a', '/a', 'plain'],
    ['a,b', '"a,b"', 'a comma'],
    ['say "x"', '"say ""x"""', 'quotes'],
    ['a\r\nb', '"a\r\nb"', 'line breaks are kept'],
    [' a', '" a"', 'leading space'],
    ['漢字 🦊', '漢字 🦊', 'any script'],
    ['a\0b', 'a\ufffdb', 'NUL'],
    ['=1+1', `"'=1+1"`, 'a formula'],
    ['+1', `"'+1"`, 'a formula by a plus sign'],
    ['-1', `"'-1"`, 'text, not a number'],
    ['@sum(a1)', `"'@sum(a1)"`, 'a formula by an at sign'],
    ['\t=1', `"'\t=1"`, 'a formula after a tab'],
    ['\r=1', `"'\r=1"`, 'a formula after a carriage return'],
    ['\n=1', `"'\n=1"`, 'a formula after a line feed'],
    ['＝1+1', `"'＝1+1"`, 'full width, which some locales compute'],
    ["'tis", `"''tis"`, 'a leading apostrophe is guarded too, so that removing one restores the text'],
    ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`, 'a formula with quotes'],
    [['a', 'b'], 'a; b', 'a list'],
    [['=a', 'b'], `"'=a; b"`, 'a list that begins like a formula'],
    [[], '""', 'an empty list'],
    [{ a: 1 }, '"{""a"":1}"', 'an object of any keys'],
  ]
  for (const [value, expected, why] of rows) t.equal(formatCell(value), expected, why)
})

/** Paths that are hard for CSV readers. */
const HOSTILE = [
  '=cmd|"/c calc"!A1',
  '@SUM(1+1)*cmd',
  '-2+3',
  "'quoted",
  'a,b;c\td',
  'say "hello", \'world\'',
  'line\r\nbreak\nand\rreturn',
  '  spaces  ',
  'null',
  'NaN',
  '漢字/テスト',
  'مرحبا بالعالم',
  '🦊👩‍💻',
  '\u202egnp.exe',
  '\u001b[31mred\u0007',
  `${'x'.repeat(5000)}`,
  "'; drop table events; --",
]

// Attack: a visitor or an agent requests paths such as `=HYPERLINK(...)` or sends such names in events. The operator exports
// the report and opens it in a spreadsheet, which computes the cell: it can leak data or run a command. Other texts aim at
// the reader of the file: quotes, line breaks, NUL, separators and marks that reverse the reading direction.
// Defence: text that a spreadsheet would compute begins with an apostrophe inside quotes, NUL is shown as U+FFFD, and
// removing one apostrophe restores every text exactly, so the export stays faithful.
t.test('hostile text survives a round trip and never becomes a formula', async (t) => {
  const events = HOSTILE.map((pathname, i) => eventRow({ pathname, visitor_id: BigInt(i), session_id: BigInt(i) }))
  const at = new Date('2026-10-26T08:00:00Z')
  const { ask } = await exportService(t, {
    events: events.map((row) => ({ ...row, timestamp: at, session_start: at })),
    agent_events: [],
  })
  const rows = await (await reader(t))(await (await ask('stats/export.csv?site=1&report=pages')).text())
  t.same(rows.map((row) => row.pathname).sort(), [...HOSTILE].sort())
  const pdf = await ask('stats/export.pdf?site=1&report=pages')
  t.equal(pdf.status, 200, 'a PDF of the same rows is drawn')
})

t.test('a long list in CSV equals the pages of the JSON in order', async (t) => {
  const at = (n: number) => new Date(Date.UTC(2026, 9, 25, 12) + n)
  const events = Array.from({ length: 4_600 }, (_, i) => {
    const path = `/p/${i % 4_500}`
    const then = i % 3 === 0 ? new Date('2026-10-10T12:00:00Z') : at(i)
    return eventRow({
      pathname: path,
      visitor_id: BigInt(i),
      session_id: BigInt(i),
      timestamp: then,
      session_start: then,
    })
  })
  const agent_events = Array.from({ length: 5_000 }, (_, i) =>
    agentRow({ pathname: `/p/${i % 2_500}`, timestamp: at(i), agent_id: i % 2 === 0 ? 'gptbot' : 'bingbot' }),
  )
  const { ask } = await exportService(t, { events, agent_events })
  const read = await reader(t)
  for (const [report, path] of [
    ['pages', 'stats/pages'],
    ['agents/coverage', 'agents/coverage'],
    ['citation-gap', 'citation-gap'],
    ['content/decay', 'content/decay'],
  ]) {
    const query = 'site=1&range=7d&compare=previous'
    const pages: Record<string, string>[] = []
    for (let page = 1; ; page++) {
      const { data } = JSON.parse(await (await ask(`${path}?${query}&limit=1000&page=${page}`)).text())
      pages.push(...(tablesOf('', data).get('') ?? []))
      if (data.length < 1000) break
    }
    const rows = await read(await (await ask(`stats/export.csv?${query}&report=${report}`)).text())
    t.ok(pages.length >= 3_000, `${report}: ${pages.length} rows`)
    t.equal(rows.length, pages.length, `${report}: as many rows`)
    const wrong = pages.findIndex((row, i) => !holds(rows[i] ?? {}, row))
    t.equal(wrong, -1, `${report}: every row as in the JSON, in its order`)
    if (wrong >= 0) t.same(rows[wrong], pages[wrong])
  }
  const page = await read(await (await ask('stats/export.csv?site=1&report=pages&limit=7&page=2')).text())
  t.equal(page.length, 7, 'limit and page return one page')
})

t.test('a list that only the other readership has is not a column', async (t) => {
  const { ask } = await exportService(t)
  const columns = async (audience: string) => {
    const file = await ask(`stats/export.csv?site=1&range=7d&report=devices&audience=${audience}`)
    return (await file.text()).split('\r\n')[0]?.replace('\uFEFF', '').split(',') ?? []
  }
  t.ok((await columns('human')).includes('browser'))
  t.notOk((await columns('human')).includes('user_agent'))
  t.ok((await columns('agent')).includes('user_agent'))
  t.notOk((await columns('agent')).includes('browser'))
})
