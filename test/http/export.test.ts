import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { DuckDBInstance } from '../../src/duckdb/bindings.js'
import { formatCell } from '../../src/export/csv.js'
import { contentDisposition } from '../../src/export/filename.js'
import { createPdfRenderer } from '../../src/export/pdf.js'
import { REPORT_NAMES } from '../../src/export/report-names.js'
import { createApp } from '../../src/http/app.js'
import { exportRoutes } from '../../src/http/export.js'
import { readRoutes } from '../../src/http/reads.js'
import { listenAdmin } from '../../src/http/server.js'
import { createKeys } from '../../src/manage/keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import type { Rows } from '../../src/rows.js'
import { sql } from '../../src/sql.js'
import type { ResultRow, Store } from '../../src/store.js'
import { directory } from '../fixtures/files.js'
import { createInProcessEngine } from '../fixtures/in-process-engine.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { NOW, WORLD } from '../fixtures/world.js'

/** The service over the sample rows, with sites of these names. */
async function open(t: Test, rows: Rows = WORLD, name = 'Berlin Zoo', stream?: Store['stream']) {
  const { engine, commit } = await createInProcessEngine(t)
  await bootstrap(engine.records, { domains: [], timezone: 'Europe/Berlin', now: NOW })
  await engine.records.write(
    sql`update sites set name = ${name}`,
    sql`insert into sites select * replace (2 as id, 1 as org, 'second' as name) from sites where id = 1`,
  )
  await commit(rows)
  const sites = createSites(engine.records)
  const keys = createKeys({ records: engine.records, sites, now: () => NOW, random: (n) => Buffer.alloc(n, 7) })
  const logged: unknown[] = []
  const log = (error: unknown) => logged.push(error)
  const store = stream ? { ...engine.events, stream } : engine.events
  const read = { store, now: () => NOW, catalog: listAgents(loadCatalog()), sites }
  const app = createApp({
    routes: [...readRoutes(read), ...exportRoutes({ ...read, pdf: createPdfRenderer(undefined), log })],
    credentials: { keys },
    version: '0',
    log,
  })
  const ask = (path: string) =>
    app(new Request(`http://127.0.0.1:8081/api/${path}`), { ip: '127.0.0.1', operator: true })
  return { ask, logged, app }
}

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
  const { ask } = await open(t)
  const read = await reader(t)
  const windows = ['range=30d', 'range=yesterday&compare=previous', 'range=7d&audience=agent', 'range=7d&audience=all']
  const sessions = JSON.parse(await (await ask('stats/sessions?site=1&range=7d')).text()).data
  const named = REPORT_NAMES.map((name) => name.replace('sessions/{id}', `sessions/${sessions[0].id}`))
  for (const report of named.filter((name) => !name.includes('{')))
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
      if (report !== 'overview') t.notOk(several && found < rows.length, `${why}: and no others`)
    }
})

t.test('formats each kind of cell', async (t) => {
  const rows: [unknown, string, string][] = [
    [undefined, '', 'absent'],
    ['', '""', 'a text of nothing'],
    [0, '0', 'a count of nothing'],
    [-0.25, '-0.25', 'a number, though it begins like a formula'],
    [1e-7, '1e-7', 'a small one'],
    [false, 'false', 'no text'],
    ['/a', '/a', 'plain'],
    ['a,b', '"a,b"', 'a comma'],
    ['say "x"', '"say ""x"""', 'quotes'],
    ['a\r\nb', '"a\r\nb"', 'lines stay lines'],
    [' a', '" a"', 'space at an end'],
    ['漢字 🦊', '漢字 🦊', 'any script'],
    ['a\0b', 'a\ufffdb', 'NUL'],
    ['=1+1', `"'=1+1"`, 'a formula'],
    ['+1', `"'+1"`, 'another'],
    ['-1', `"'-1"`, 'text, not a number'],
    ['@sum(a1)', `"'@sum(a1)"`, 'another'],
    ['\t=1', `"'\t=1"`, 'behind a tab'],
    ['\r=1', `"'\r=1"`, 'behind a carriage return'],
    ['\n=1', `"'\n=1"`, 'behind a line'],
    ['＝1+1', `"'＝1+1"`, 'full width, which some locales compute'],
    ["'tis", `"''tis"`, 'so that one apostrophe is always the guard'],
    ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`, 'with quotes'],
    [['a', 'b'], 'a; b', 'a list'],
    [['=a', 'b'], `"'=a; b"`, 'a list that begins like a formula'],
    [[], '""', 'a list of nothing'],
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
  const { ask } = await open(t, {
    events: events.map((row) => ({ ...row, timestamp: at, session_start: at })),
    agent_events: [],
  })
  const rows = await (await reader(t))(await (await ask('stats/export.csv?site=1&report=pages')).text())
  t.same(rows.map((row) => row.pathname).sort(), [...HOSTILE].sort())
  const pdf = await ask('stats/export.pdf?site=1&report=pages')
  t.equal(pdf.status, 200, 'and a PDF of them is drawn')
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
  const { ask } = await open(t, { events, agent_events })
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
    t.equal(rows.length, pages.length, `${report}: as many`)
    const wrong = pages.findIndex((row, i) => !holds(rows[i] ?? {}, row))
    t.equal(wrong, -1, `${report}: all as in the JSON, in its order`)
    if (wrong >= 0) t.same(rows[wrong], pages[wrong])
  }
  const page = await read(await (await ask('stats/export.csv?site=1&report=pages&limit=7&page=2')).text())
  t.equal(page.length, 7, 'a page where a page is asked for')
})

t.test('an invalid query fails before the first line', async (t) => {
  const { ask } = await open(t)
  const rows: [string, number, string | undefined, string][] = [
    ['site=1&report=nothing', 422, 'report', 'no such report'],
    ['site=1&report=', 422, 'report', 'an empty one'],
    ['site=1&report=pages&report=pages', 422, 'report', 'twice'],
    ['site=1&report=dimensions', 422, 'report', 'the same of every site'],
    ['site=1&report=../keys', 422, 'report', 'no read'],
    ['site=1&report=breakdown', 422, 'dimension', 'what the read needs'],
    ['site=1&report=breakdown&dimension=x', 422, 'dimension', 'what the read refuses'],
    ['site=1&report=pages&limit=0', 422, 'limit', 'a page of nothing'],
    ['site=1&metric=nothing', 422, 'metric', 'of its other half'],
    ['report=pages', 422, 'site', 'no site'],
    ['site=9', 404, 'site', 'no such site'],
    ['site=1&range=soon', 422, 'range', 'no such range'],
    ['site=1&filters=[', 422, 'filters', 'no JSON'],
  ]
  for (const ending of ['csv', 'pdf'])
    for (const [query, status, field, why] of rows) {
      const response = await ask(`stats/export.${ending}?${query}`)
      t.equal(response.status, status, `${ending}: ${why}`)
      t.equal(JSON.parse(await response.text()).error.field, field, `${ending}: ${why}`)
    }
  const none = await ask('stats/export.csv?site=1&table=nothing')
  t.equal(none.status, 422)
  t.match(JSON.parse(await none.text()).error, { field: 'table', message: /overview, buckets/ })
  const alone = await ask('stats/export.csv?site=1&range=yesterday&table=overview')
  t.equal(
    await alone.text(),
    'visitors,sessions,pageviews,bounce,duration,views_per_session,events\r\n3,2,4,0.5,480,1.5,0\r\n',
    'one table alone has its own columns (counted by hand in reads.test)',
  )
  t.match(await (await ask('stats/export.csv?site=1&report=/api/stats/pages')).text(), /^pathname,/, 'by its path')
})

t.test('file names are safe in ASCII and UTF-8', async (t) => {
  const window = { start: new Date('2026-10-24T22:00:00Z'), end: new Date('2026-10-25T23:00:00Z') }
  const rows: [name: string, ascii: string, full: string, why: string][] = [
    ['Berlin Zoo', 'Berlin-Zoo', 'Berlin-Zoo', 'plain'],
    ['Café Ünïcode', 'Cafe-Unicode', 'Caf%C3%A9-%C3%9Cn%C3%AFcode', 'accents'],
    ['Зоопарк', 'site-1', '%D0%97%D0%BE%D0%BE%D0%BF%D0%B0%D1%80%D0%BA', 'no Latin letter'],
    ['../../etc/passwd', 'etc-passwd', 'etc-passwd', 'a path'],
    ['a"; filename="evil.exe', 'a-filename-evil-exe', 'a-filename-evil-exe', 'a quote'],
    ['a\r\nSet-Cookie: x=1', 'a-Set-Cookie-x-1', 'a-Set-Cookie-x-1', 'a line'],
    ['\u202efdp.exe\u0000', 'fdp-exe', 'fdp-exe', 'turned around'],
    ['🦊', 'site-1', 'site-1', 'no letter at all'],
    ['', 'site-1', 'site-1', 'no name'],
    ['\ud800x', 'x', 'x', 'half a character'],
    ['x'.repeat(500), 'x'.repeat(60), 'x'.repeat(60), 'long'],
  ]
  for (const [name, ascii, full, why] of rows) {
    const day = 'pages-2026-10-25-2026-10-25.csv'
    t.equal(
      contentDisposition({ site: { id: 1, name }, report: 'pages', window, tz: 'Europe/Berlin' }, 'csv'),
      `attachment; filename="${ascii}-${day}"; filename*=UTF-8''${full}-${day}`,
      why,
    )
  }
  const { ask } = await open(t, WORLD, 'a"\r\nb')
  const { headers } = await ask('stats/export.csv?site=1&report=agents/coverage&range=yesterday')
  t.match(headers.get('content-disposition'), /^attachment; filename="a-b-agents-coverage-2026-10-25-2026-10-25\.csv"/)
  t.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
  t.equal(headers.get('cache-control'), 'no-store')
})

t.test('a stream keeps the reader’s pace, breaks off on failure and stops when the reader leaves', async (t) => {
  const rows = (n: number): ResultRow[] =>
    Array.from({ length: 2_000 }, (_, i) => ({ value: `/${'long/'.repeat(20)}${n}/${i}`, visitors: 1, pageviews: 1 }))
  const seen = { given: 0, aborted: false, ended: false }
  let failsAt = Infinity
  const { app, logged } = await open(t, WORLD, 'x', async function* (_, signal) {
    signal?.addEventListener('abort', () => {
      seen.aborted = true
    })
    try {
      for (let n = 0; n < 500; n++) {
        if (n === failsAt) throw new Error('the disk is gone')
        seen.given++
        yield rows(n)
      }
    } finally {
      seen.ended = true
    }
  })
  const listener = await listenAdmin((request, peer) => app(request, { ...peer, operator: true }), '127.0.0.1', 0)
  t.teardown(() => listener.close())
  const url = `${listener.at}/api/stats/export.csv?site=1&report=breakdown&dimension=pathname`

  failsAt = 3
  const broken = await fetch(url)
  t.equal(broken.status, 200)
  await t.rejects(broken.text(), 'a file that breaks off does not look whole')
  t.match(logged, [{ message: 'the disk is gone' }], 'and somebody is told why')
  t.ok(seen.ended)
  failsAt = 0
  t.equal((await fetch(url)).status, 500, 'before the first line it is an error like any other')

  failsAt = Infinity
  Object.assign(seen, { given: 0, aborted: false, ended: false })
  const left = new AbortController()
  const slow = await fetch(url, { signal: left.signal })
  const body = slow.body?.getReader()
  await body?.read()
  await sleep(500)
  t.ok(seen.given < 250, `${seen.given} of 500 parts were asked for while nobody read`)
  left.abort()
  for (let i = 0; i < 200 && !seen.ended; i++) await sleep(10)
  t.ok(seen.aborted && seen.ended, 'the statement is stopped')
  t.equal(logged.length, 2, 'who leaves is no fault')

  seen.ended = false
  const unread = await app(new Request(url), { ip: '', operator: true })
  await unread.body?.cancel()
  t.ok(seen.ended, 'also where not one line was taken, as of a HEAD')
})

t.test('a PDF contains what the JSON contains', async (t) => {
  // poppler-utils: .ci/run installs it if possible.
  const pdftotext = (pdf: Uint8Array) => execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf }).toString()
  try {
    execFileSync('pdftotext', ['-v'], { stdio: 'ignore' })
  } catch {
    t.comment('pdftotext is not installed: what a PDF says is not looked at')
    return
  }
  const { ask } = await open(t, WORLD, 'Berlin Zoo \u2014 Зоопарк \u0001')
  const filters = encodeURIComponent('[{"dimension":"country","op":"is_not","value":["FR","IT"]}]')
  const overview = await ask(`stats/export.pdf?site=1&range=yesterday&compare=previous&filters=${filters}`)
  t.equal(overview.headers.get('content-type'), 'application/pdf')
  const text = pdftotext(new Uint8Array(await overview.arrayBuffer()))
  for (const says of [
    /Berlin Zoo — Зоопарк/,
    /Overview/,
    /Window +25 Oct 2026 \(Europe\/Berlin\)/,
    // The day had 25 hours.
    /Compared with +23 Oct 2026, 23:00 to 25 Oct 2026, 00:00/,
    /Audience +People/,
    /Filters +country is not “FR” nor “IT”/,
    // 3 visitors after 1, 4 pageviews after 1, half of the sessions bounced, 480 seconds after 1,200.
    /\n *3 +2 +4 +50\.0 % +8m 00s/,
    /\+200\.0 % +\+100\.0 % +\+300\.0 % .*\u221260\.0 %/,
    /Visitors per hour/,
    /25 Oct 2026, 02:00 +1 /,
    /readership · IP Geolocation by DB-IP/,
    /1 ?\/ ?2\n/,
    /2 ?\/ ?2\n/,
  ])
    t.match(text, says)
  const pages = pdftotext(
    new Uint8Array(await (await ask('stats/export.pdf?site=1&range=7d&report=agents/coverage')).arrayBuffer()),
  )
  const gap = await ask('stats/export.pdf?site=1&report=citation-gap')
  t.match(
    pdftotext(new Uint8Array(await gap.arrayBuffer())),
    /Arrivals are a lower bound: native apps/,
    'what numbers are based on',
  )
  t.match(pages, /example\.com +\/docs .* 1 +0 .* gptbot/)
  const long = Array.from({ length: 1_500 }, (_, i) =>
    eventRow({
      pathname: `/p/${i}`,
      visitor_id: BigInt(i),
      session_id: BigInt(i),
      timestamp: new Date('2026-10-26T08:00:00Z'),
    }),
  )
  const { ask: askLong } = await open(t, { events: long, agent_events: [] })
  const bounded = pdftotext(new Uint8Array(await (await askLong('stats/export.pdf?site=1&report=pages')).arrayBuffer()))
  t.match(bounded, /the first 1,000 of 1,500 rows; the CSV file has all/)
  t.equal([...bounded.matchAll(/^ *\/p\/\d+ /gm)].length, 1_000)
  t.equal(
    [...bounded.matchAll(/^ *Pathname +Visitors/gm)].length,
    Number(/1 ?\/ ?(\d+)\n/.exec(bounded)?.[1]),
    'each page has the head',
  )
})
