import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { loadConfig } from '../../src/app/config.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { insertWithNextId } from '../../src/manage/ids.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { eventually } from '../fixtures/instance.js'
import { observation } from '../fixtures/observations.js'
import { storeOptions } from '../fixtures/store.js'

const Answer = z.object({ data: z.unknown().optional(), error: z.unknown().optional() })
const Visitors = z.array(z.object({ id: z.string(), pageviews: z.int(), sessions: z.int() }))

const open = async (data: string) => {
  const config = loadConfig({
    flags: { data, domain: ['example.com'], offline: true, min_free_disk: 0 },
    env: {},
    read: () => undefined,
  })
  const instance = await openInstance(config, { log: { info() {}, warn() {}, error() {} } })
  const ask = async (method: string, path: string) => {
    const response = await instance.control(new Request(`http://readership${path}`, { method }))
    return { status: response.status, ...Answer.parse(await response.json()) }
  }
  const visitors = async () => Visitors.parse((await ask('GET', '/api/stats/visitors?site=1&range=24h')).data)
  return { instance, ask, visitors }
}

t.test('erasure includes pending rows, and a returning person is a new visitor', async (t) => {
  const data = directory(t)
  let { instance, ask, visitors } = await open(data)
  t.teardown(() => instance.close())
  const seen = (ip: string, pathname: string) =>
    instance.record(observation({ ip, pathname, timestamp: new Date().toISOString() }))
  seen('198.51.100.1', '/in')
  await eventually('the first view', async () => (await visitors()).length === 1)
  const [{ id } = { id: '' }] = await visitors()
  for (let i = 0; i < 5; i++) seen('198.51.100.1', `/on/${i}`)
  seen('198.51.100.2', '/beside')
  const erased = await ask('DELETE', `/api/visitors/${id}?site=1`)
  t.match(erased, { status: 200, data: { visitor_ids: [id], rows: 6 } }, 'pending rows are included')
  t.match(await visitors(), [{ pageviews: 1 }], 'no read returns them right after the response')
  t.not((await visitors())[0]?.id, id)
  const unknown = { status: 404, error: { code: 'not_found', message: /erased before/ } }
  t.match(await ask('DELETE', `/api/visitors/${id}?site=1`), unknown, 'nothing is left of an erased person')
  t.match(await ask('DELETE', `/api/visitors/${'0'.repeat(16)}?site=1`), unknown, 'an id that nobody had')

  seen('198.51.100.1', '/again')
  await eventually('a new view', async () => (await visitors()).length === 2)
  t.match(
    (await visitors()).find((one) => one.id === id),
    { pageviews: 1, sessions: 1 },
    'a new history',
  )
  const { data: sessions } = await ask('GET', '/api/stats/sessions?site=1&range=24h')
  t.match(
    z.array(z.object({ visitor_id: z.string(), entry_page: z.string() })).parse(sessions),
    [{ visitor_id: id, entry_page: '/again' }, {}],
    'the new session does not continue the erased one',
  )

  const refused: [path: string, headers: Record<string, string>, status: number, code: string, why: string][] = [
    [`/api/visitors/${id}?site=1`, {}, 401, 'unauthorized', 'no credential'],
    [`/api/visitors/${id}?site=1`, { authorization: 'Bearer svcg_00000000_x' }, 401, 'unauthorized', 'an unknown key'],
  ]
  for (const [path, headers, status, code, why] of refused) {
    const response = await instance.fetch(new Request(`http://x${path}`, { method: 'DELETE', headers }), { ip: '::1' })
    t.match({ status: response.status, ...Answer.parse(await response.json()) }, { status, error: { code } }, why)
  }
  for (const [path, status, error, why] of [
    [`/api/visitors/${id}?site=9`, 404, { code: 'not_found', field: 'site' }, 'no such site'],
    [`/api/visitors/${id}`, 422, { code: 'validation_error', field: 'site' }, 'of which site'],
    ['/api/visitors/ann?site=1', 404, { code: 'not_found' }, 'no id'],
    [`/api/visitors/${id.slice(1)}?site=1`, 404, { code: 'not_found' }, 'a digit short'],
  ] as const)
    t.match(await ask('DELETE', path), { status, error }, why)
  await instance.close()

  const records = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  const removals = await records.query(sql`select visitor, rows, done_at is not null as done from removals order by id`)
  t.strictSame(removals, [
    { visitor: null, rows: 6, done: true },
    { visitor: null, rows: 0, done: true },
    { visitor: null, rows: 0, done: true },
  ])
  const log = await records.query(
    sql`select action, object, object_id, actor_kind, details from audit where object = 'visitor' order by id`,
  )
  t.match(log, [{ action: 'erase', object: 'visitor', object_id: /^[0-9a-f]{16}$/, actor_kind: 'operator' }, {}, {}])
  t.notMatch(JSON.stringify(log), id, 'the log does not keep what was erased')

  // The state after a process that died right after the erasure was written.
  await records.write(
    ...insertWithNextId(
      'removals',
      sql`insert into removals (id, site, kind, visitor, requested_at)`,
      sql`1, 'visitor', ${id}, ${new Date()}`,
    ),
  )
  await records.close()
  ;({ instance, ask, visitors } = await open(data))
  await eventually('the next start finishes it', async () => (await visitors()).every((one) => one.id !== id))
  t.equal((await visitors()).length, 1)
  await instance.close()

  const again = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
  await again.write(
    ...insertWithNextId(
      'removals',
      sql`insert into removals (id, site, kind, hostnames, requested_at)`,
      sql`1, 'site', ${JSON.stringify(['example.com'])}, ${new Date()}`,
    ),
  )
  await again.close()
  ;({ instance, ask, visitors } = await open(data))
  await eventually('a deleted site', async () => (await visitors()).length === 0)
})
