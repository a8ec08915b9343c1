import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sql } from '../../../src/storage/sql.js'
import { assertEqual } from '../../fixtures/assert-equal.js'
import { command } from '../../fixtures/command.js'
import { fillStores, openFilesAt } from '../../fixtures/copied-store.js'
import { directory } from '../../fixtures/files.js'
import { openStoreAt } from '../../fixtures/store.js'

/** The rows of site 1 as they are stored, in the order of time. */
async function readStored(data: string) {
  const { events, close } = await openFilesAt(data)
  const people = await events.query(sql`select * from events where site_id = 1 order by timestamp`)
  const fetches = await events.query(sql`select * from agent_events where site_id = 1 order by timestamp`)
  await close()
  return { people, fetches }
}

const plain = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort()

t.test('rows are exported as they are stored', async (t) => {
  const data = directory(t)
  await fillStores(data)
  const { people, fetches } = await readStored(data)
  t.ok(people.length > 5 && fetches.length > 5)
  const run = (...args: string[]) => command('export', '--site', '1', '--data', data, ...args)

  const lines = await run('--table', 'agent_events', '--format', 'ndjson', '--range', 'all')
  t.match(lines, { code: 0, stderr: '' })
  assertEqual(
    t,
    plain(
      lines.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ),
    plain(JSON.parse(JSON.stringify(fetches))),
    'fetches',
  )

  const file = join(directory(t), 'people.csv')
  t.match(await run('--table', 'events', '--range', 'all', '--output', file), {
    code: 0,
    stdout: '',
    stderr: /^Wrote .*: [\d.]+ K?B of csv\.\n$/,
  })
  t.equal(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  const [header = ''] = text.split('\r\n')
  t.same(header.split(','), Object.keys(people[0] ?? {}), 'the columns of the table')
  t.ok(text.includes(`"'; --"`) || text.includes(`"''; --"`), 'a text that begins with an apostrophe is escaped')
  const times = [...text.matchAll(/^1,(\d{4}-\d\d-\d\dT[\d:.]+Z),/gm)].map((match) => match[1])
  t.same(
    times,
    people.map(({ timestamp }) => (timestamp instanceof Date ? timestamp.toISOString() : '')),
    'in the order of time',
  )

  const parquet = join(directory(t), 'people.parquet')
  t.match(await run('--table', 'events', '--format', 'parquet', '--range', 'all', '--output', parquet), {
    code: 0,
    stderr: /^Wrote .* of parquet\.\n$/,
  })
  const other = directory(t)
  mkdirSync(join(other, 'backup.tmp'))
  copyFileSync(parquet, join(other, 'backup.tmp/a.parquet'))
  const reader = await openStoreAt(join(other, 'events.duckdb'))
  const found = await reader.query(sql`select * from read_parquet(${join(other, 'backup.tmp/a.parquet')})`)
  await reader.close()
  assertEqual(t, plain(found), plain(people), 'the same rows')

  const cases: [args: string[], why: string, message: RegExp][] = [
    [['--table', 'people'], 'a table that is none', /--table: must be events or agent_events/],
    [['--table', 'events', '--format', 'xml'], 'a format that is none', /must be csv, ndjson or parquet/],
    [
      ['--table', 'events', '--range', 'ever'],
      'a range that is none',
      /^error: --range: must be today, .* or all\.\n$/,
    ],
  ]
  for (const [args, why, message] of cases) t.match(await run(...args), { code: 2, stderr: message }, why)
  t.match(await run('--table', 'events', '--site', '99'), { code: 1, stderr: /There is no site 99/ }, 'no such site')
  t.match(
    await run('--table', 'events', '--range', 'today'),
    { code: 0, stdout: `${header}\r\n` },
    'a window without rows',
  )
})
