import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'
import { sql } from '../../src/storage/sql.js'
import { CHROME } from '../fixtures/browser-headers.js'
import { startImportService } from '../fixtures/import-service.js'
import { logLine } from '../fixtures/importer.js'
import { eventually, GPTBOT } from '../fixtures/instance.js'

/** Tests uploads of access logs with a real worker; `access-matrix.ts` has who may call the routes. */

const START = Date.UTC(2026, 2, 10, 10)
const lines = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    n % 2
      ? logLine(START + n * 1_000, '81.2.69.160', `/${n}`, CHROME)
      : logLine(START + n * 1_000, '20.171.206.1', '/', GPTBOT),
  ).map((line) => `${line}\n`)
const Id = z.object({ id: z.int(), state: z.string() })
const Progress = z.object({
  ...{ state: z.string(), agent: z.int(), lines: z.int(), done: z.int(), total: z.int(), created_at: z.iso.datetime() },
})

const { ask, engine, data } = await startImportService(t, ['a.example'])
const ended = async (id: number) => {
  let found: unknown
  await eventually(`import ${id}`, async () => {
    found = (await ask('GET', `/api/imports/${id}?site=1`)).data
    return Id.parse(found).state !== 'running'
  })
  return found
}

t.test('a log is uploaded, imported and undone', async (t) => {
  const log = gzipSync(lines(9_000).join(''))
  const created = await ask('POST', '/api/imports?site=1&name=access.log.gz', log)
  t.match(created, { status: 202, data: { state: 'running', source: 'access.log.gz', total: log.length } })
  const { id } = Id.parse(created.data)
  t.match(
    await ask('POST', '/api/imports?site=1', lines(1).join('')),
    { status: 409, error: 'conflict' },
    'one at a time',
  )
  t.match(await ended(id), {
    ...{ state: 'done', lines: 9_000, human: 4_500, agent: 4_500, known: 0, broken: 0, done: log.length },
    ...{ first_at: '2026-03-10T10:00:00.000Z', last_at: '2026-03-10T12:29:59.000Z', own_salts: true },
  })
  const again = Id.parse((await ask('POST', '/api/imports?site=1', lines(10).join(''))).data)
  t.match(await ended(again.id), { state: 'done', human: 0, agent: 0, known: 10 })
  t.match(await ask('DELETE', `/api/imports/${id}?site=1`), { status: 202, data: { state: 'removing' } })
  await eventually('its end', async () => (await ask('GET', `/api/imports/${id}?site=1`)).status === 404)
  const rows = sql`select (select count(*) from events) as human, (select count(*) from agent_events) as agent`
  t.strictSame(await engine.events.query(rows), [{ human: 0, agent: 0 }])
  const audited = await engine.records.query(
    sql`select action, object_id from audit where object = 'import' order by id`,
  )
  t.strictSame(
    audited.map(({ action, object_id }) => [action, object_id]),
    [
      ['create', String(id)],
      ['create', String(again.id)],
      ['delete', String(id)],
    ],
    'each in the audit log, but not the one that was refused',
  )
  t.match(await ask('GET', '/api/imports?site=1'), { data: [{ id: again.id }] }, 'nor in the list')
})

t.test('an import tells how far it is, and is undone while it runs', async (t) => {
  const log = Buffer.from(lines(30_000).join(''))
  const { id } = Id.parse((await ask('POST', '/api/imports?site=1', log)).data)
  const path = `/api/imports/${id}?site=1`
  let found: z.infer<typeof Progress> | undefined
  await eventually('its first rows', async () => {
    found = Progress.parse((await ask('GET', path)).data)
    return found.agent > 0
  })
  t.match(found, { state: 'running', total: log.length, created_at: String })
  const { done = 0, lines: read = 0 } = found ?? {}
  t.ok(done > 0 && done < log.length && read > 0 && read < 30_000, `${done} bytes and ${read} lines`)
  t.match(await ask('DELETE', path), { status: 202, data: { state: 'removing' } })
  await eventually('its end', async () => (await ask('GET', path)).status === 404)
  const rows = sql`select import_id from events where import_id = ${id} union all
    select import_id from agent_events where import_id = ${id}`
  t.strictSame(await engine.events.query(rows), [])
  await eventually('the end of its log', () => readdirSync(join(data, 'uploads.tmp')).length === 0)
})

t.test('a body that is not a log fails, and says so', async (t) => {
  const cut = gzipSync(lines(100).join('')).subarray(0, 200)
  for (const [body, state, why] of [
    ['one\ntwo\nthree\n', 'failed', 'no log'],
    [Buffer.from([0x1f, 0x8b, 0, 1, 2, 3]), 'failed', 'damaged'],
    [cut, 'failed', 'cut short: what could be read is stored'],
    ['PK\x03\x04 and more\n', 'failed', 'an archive'],
  ] as const) {
    const { id } = Id.parse((await ask('POST', '/api/imports?site=1', Buffer.from(body))).data)
    const found = await ended(id)
    t.match(found, { state, ended_at: String, reason: String }, why)
    if (body === cut)
      t.match(found, { reason: /^The log is cut short or damaged after byte 200, line \d+: unexpected end of file\.$/ })
    t.notMatch(found, { reason: /uploads\.tmp/ }, 'no path of the server')
  }
  t.match(await ask('POST', '/api/imports?site=1&tz=Berlin', lines(1).join('')), { error: 'validation_error' })
  t.match(await ask('POST', '/api/imports?site=1&format=%25q', lines(1).join('')), { error: 'validation_error' })
  const broken = Id.parse((await ask('POST', '/api/imports?site=1&format=caddy', lines(3).join(''))).data)
  t.match(await ended(broken.id), { state: 'failed', broken: 3, reason: /No line is of the format/ }, 'another format')
  for (const [query, why] of [
    ['name=a%00b', 'NUL'],
    ['name=a%0d%0ab', 'a line break'],
    ['name=a%e2%80%aeb', 'a change of direction'],
    ['name=%20', 'nothing'],
    ['format=%25h%0a', 'a line break in a format'],
    ['host=a%00', 'NUL in a hostname'],
    ['host=a/b', 'a path'],
  ] as const)
    t.match(await ask('POST', `/api/imports?site=1&${query}`, lines(1).join('')), { status: 422 }, why)
  t.match(await ask('POST', '/api/imports?site=9', lines(1).join('')), { status: 404 })
})
