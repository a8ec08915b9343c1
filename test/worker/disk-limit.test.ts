import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMetrics } from '../../src/api/metrics.js'
import { createSizeReader } from '../../src/app/instance/size-reader.js'
import { packBatch } from '../../src/capture/packed-batch.js'
import { createDiskLimit } from '../../src/worker/disk-limit.js'
import { directory } from '../fixtures/files.js'
import { eventually } from '../fixtures/instance.js'
import { observation } from '../fixtures/observations.js'
import { openStoreAt } from '../fixtures/store.js'
import { startTestEngine } from '../fixtures/worker-client.js'

const STATUS = { state: 'ready', rows: { human: 0, agent: 0 }, drops: {}, restarts: 0, flush_ms: [] } as const

t.test('at --max-disk nothing is stored until rows have left', async (t) => {
  const data = directory(t)
  writeFileSync(join(data, 'events.duckdb'), '')
  let [used, at] = [0, 0]
  const events = { readSize: async () => ({ used_bytes: used, free_bytes: 0 }) }
  const options = { data, min_free_disk: 0, max_disk: 1_000 }
  const limit = createDiskLimit({ options, events, clock: () => at, log() {} })
  const rows: [used: number, expected: string | undefined, why: string][] = [
    [999, undefined, 'below'],
    [1_000, 'the store takes 1000 bytes, and --max-disk allows 1000', 'at the limit'],
    [999, undefined, 'some rows have left'],
  ]
  for (const [bytes, expected, why] of rows) {
    used = bytes
    at += 10_000
    await limit.measure()
    t.equal(limit.obstacle(), expected, why)
  }
  used = 5_000
  await limit.measure()
  t.equal(limit.obstacle(), undefined, 'measured every ten seconds')
  const elsewhere = createDiskLimit({
    options: { ...options, store: 'clickhouse://x' },
    events,
    clock: () => at,
    log() {},
  })
  await elsewhere.measure()
  t.equal(elsewhere.obstacle(), undefined, 'rows on a server take no disk here')
  const unlimited = createDiskLimit({ options: { data, min_free_disk: 2 ** 60 }, events, clock: () => at, log() {} })
  t.equal(unlimited.obstacle(), `less than ${2 ** 60} bytes are free on disk`)
})

t.test('a worker over its limit stores nothing, and says so', async (t) => {
  const { engine } = await startTestEngine(t, { max_disk: 1, drain_ms: 200 })
  const recorded = t.rejects(engine.record(packBatch([observation({})])), { code: 'database_error' })
  await eventually('the state', () => engine.status().state === 'degraded')
  t.match(engine.status().reason, /^the store takes \d+ bytes, and --max-disk allows 1$/)
  await engine.close()
  await recorded
})

t.test('from 80 % on the log, readyz and metrics warn', async (t) => {
  const lines: string[] = []
  const log = { info() {}, error() {}, warn: (_: object, line: string) => void lines.push(line) }
  let [used, at] = [0, 0]
  const tables = [{ table: 'events', rows: 10, bytes: 400, growth_bytes: 7 }]
  const engine = { isWriter: () => true, call: async () => ({ used_bytes: used, free_bytes: 5, tables }) }
  const sizes = createSizeReader(engine, { max_disk: 1_000, log, clock: () => at })
  t.teardown(() => sizes.stop())
  const rows: [used: number, reason: RegExp | undefined, logged: number, why: string][] = [
    [790, undefined, 0, 'below'],
    [800, /^the store takes 80\.0 % of --max-disk \(800 B of 1\.0 KB\)$/, 1, 'a warning'],
    [820, /82\.0 %/, 1, 'logged once'],
    [760, /76\.0 %/, 1, 'not yet calm'],
    [740, undefined, 1, 'calm'],
    [900, /90\.0 %/, 2, 'a second time'],
  ]
  for (const [bytes, reason, logged, why] of rows) {
    used = bytes
    at += 60_001
    await sizes.read()
    t.match(sizes.warn(STATUS), { state: 'ready', reason }, why)
    t.equal(lines.length, logged, why)
  }
  t.match(sizes.warn({ ...STATUS, state: 'degraded', reason: 'x' }), { reason: 'x' }, 'a fault counts more')
  const metrics = createMetrics({
    ...{ health: () => STATUS, recorder: () => ({ waiting: 0, drops: {}, on: true }), isWriter: () => true },
    ...{ proxy: () => undefined, size: sizes.read },
  })
  const { text } = await metrics.render()
  for (const line of [
    'readership_table_bytes{table="events"} 400',
    'readership_table_growth_bytes{table="events"} 7',
    'readership_store_bytes{use="used"} 900',
    'readership_store_bytes{use="free"} 5',
    'readership_store_bytes{use="limit"} 1000',
  ])
    t.ok(text.split('\n').includes(line), line)
})

t.test('the growth of a table is the share of its rows that is of the last week', async (t) => {
  const now = new Date('2026-11-24T00:00:00Z')
  const file = join(directory(t), 'events.duckdb')
  const store = await openStoreAt(file, { now: () => now })
  t.teardown(() => store.close())
  const urls = (pathnames: string[], daysAgo: number) =>
    pathnames.map((pathname) => ({ pathname, lastmod: new Date(now.getTime() - daysAgo * 86_400_000) }))
  await store.replaceSitemap('a.com', urls(['/'], 1))
  await store.checkpoint?.()
  const empty = await store.readTableSizes?.()
  t.same(
    empty?.map(({ table }) => table),
    [
      'events',
      'loose_reports',
      'agent_events',
      'sessions',
      'session_pages',
      'daily_urls',
      'daily_agents',
      'daily_views',
    ],
  )
  t.ok(empty?.every(({ rows, bytes, growth_bytes }) => rows === 0 && bytes === 0 && growth_bytes === 0))
  const insert = async (daysAgo: number, rows: number) => {
    const day = new Date(now.getTime() - daysAgo * 86_400_000).toISOString()
    await store.updateRows(async () => {
      const { raw } = await import('../../src/storage/sql.js')
      return [
        raw(`insert into daily_urls (site_id, day, pathname)
        select 1, timestamp '${day.slice(0, 19).replace('T', ' ')}', '/' || x from range(${rows}) t(x)`),
      ]
    })
  }
  const sizeOfUrls = async () => (await store.readTableSizes?.())?.find(({ table }) => table === 'daily_urls')
  await insert(2, 700)
  const young = await sizeOfUrls()
  t.equal(young?.rows, 700)
  t.ok((young?.bytes ?? 0) >= 262_144, 'a block')
  t.equal(young?.growth_bytes, Math.round((young?.bytes ?? 0) / 2), 'all of it within two days')
  await insert(30, 300)
  const old = await sizeOfUrls()
  t.equal(old?.growth_bytes, Math.round(((old?.bytes ?? 0) * 0.7) / 7), 'seven of ten rows within a week')
})
