import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClickHouse } from '../../src/storage/clickhouse/store.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { listDays, type ReadableEvents } from '../../src/storage/migrate/read-events.js'
import { COPIED_TABLES } from '../../src/storage/migrate/tables.js'
import { readThreads } from '../../src/worker-client/machine.js'
import { startClickHouse } from '../fixtures/clickhouse-server.js'
import { signBody } from '../fixtures/edge-service.js'
import { cli, freePort, GPTBOT, startService } from '../fixtures/instance.js'
import { createDatabase, startPostgres } from '../fixtures/postgres.js'
import { makeDataDirectory } from './data-directory.js'
import { END, MEASURED_READS, measureReads } from './reads.js'
import { usageOf, usageOfAll } from './usage.js'

const ROWS_PER_DELIVERY = 50
const DELIVERY_INTERVAL_MS = 250

/**
 * `npm run bench -- migrate [people] [agents]`: copies a data directory with so many hits (500,000) and fetches (500,000) of
 * 90 days to ClickHouse and PostgreSQL with the real command, while a service stores 200 rows a second: killed with -9 after
 * a third, continued, and run again after the service is stopped; then back, killed and continued too. Prints seconds, rows
 * a second and the peak of memory of each run, and compares days and the reads of `reads` on all three stores. Needs `npm
 * run engines`.
 */
export async function run([people = '500000', agents = '500000']: string[] = []): Promise<void> {
  const closing: (() => unknown)[] = []
  const t = { teardown: (close: () => unknown) => void closing.push(close) }
  try {
    const from = await makeDataDirectory({ people: Number(people), agents: Number(agents), paths: 2_000 })
    const [back, unused] = [join(dirname(from), 'back'), join(dirname(from), 'unused')]
    const store = await (await startClickHouse(t)).createDatabase()
    const control = await createDatabase((await startPostgres(t)).url, 'bench')
    const there = ['--to', store, '--control', control, '--data', from]
    const backAgain = ['--to', `duckdb:${back}`, '--store', store, '--control', control, '--data', unused]

    const service = await startService({ data: from, port: await freePort() })
    t.teardown(() => service.stop('SIGKILL'))
    const stop = await deliver(service.admin, from)
    const target = await openClickHouse(store)
    t.teardown(() => target.close())
    const third = (Number(people) + Number(agents)) / 3
    await measure('there, killed after a third', there, async () => (await countRows(target)) > third)
    await measure('there, continued', there)
    console.log(`${await stop()} rows were stored meanwhile`)
    await service.stop()
    await measure('there, after the service was stopped', there)
    await measure('there, once more', there)
    const source = await openFile(from)
    await compare('there', source, target)
    await measure('back, killed', backAgain, async () => existsSync(join(back, 'events.duckdb')), 15_000)
    await measure('back, continued', backAgain)
    const returned = await openFile(back)
    await compare('back', source, returned)
    await source.close()
    await returned.close()
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

const openFile = (data: string) =>
  openEvents({
    file: join(data, 'events.duckdb'),
    settings: { memory_limit: '2GB', threads: readThreads(availableParallelism()), temp_limit: '8GB' },
    ...{ now: () => END, clock: () => performance.now(), log() {} },
  })

/** Runs the command, kills it `delay_ms` after `isEnough`, and prints what it took. */
async function measure(what: string, args: string[], isEnough?: () => Promise<boolean>, delay_ms = 0): Promise<void> {
  const began = performance.now()
  const child = spawn(process.execPath, ['dist/bin/readership.js', 'migrate', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [printed, command, all] = ['', 0, 0]
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const timer = setInterval(() => {
    command = Math.max(command, usageOf(child.pid ?? 0).rss)
    all = Math.max(all, usageOfAll(child.pid ?? 0).rss)
  }, 100)
  const ended = once(child, 'exit')
  if (isEnough) {
    while (child.exitCode === null && !(await isEnough())) await sleep(100)
    await Promise.race([ended, sleep(delay_ms)])
    child.kill('SIGKILL')
  }
  await ended
  clearInterval(timer)
  const seconds = (performance.now() - began) / 1_000
  const rows = Number(/Copied ([\d,]+) rows/.exec(printed)?.[1]?.replaceAll(',', '') ?? 0)
  console.log(
    `${what}: ${seconds.toFixed(1)} s, ${Math.round(rows / seconds)} rows/s, peak ${toMb(command)} MB, with a worker ${toMb(all)} MB`,
  )
  console.log(`  ${printed.trim()}`)
}

const toMb = (bytes: number): number => Math.round(bytes / 1e6)

const countRows = async (events: ReadableEvents): Promise<number> =>
  (await Promise.all(COPIED_TABLES.map((table) => listDays(events, table))))
    .flat()
    .reduce((sum, { rows }) => sum + rows, 0)

/** Delivers rows of the last days until the returned function is called, which returns how many were accepted. */
async function deliver(admin: string, data: string): Promise<() => Promise<number>> {
  const key = (await cli('sites', 'ingest-key', '1', '--data', data)).stdout.trim()
  let [on, accepted] = [true, 0]
  const run = (async () => {
    for (let number = 1; on; number++) {
      const row = (n: number) => ({
        timestamp: new Date(Date.now() - (n % 3) * 86_400_000).toISOString(),
        ...{ user_agent: GPTBOT, method: 'GET', hostname: 'example.com', pathname: `/${number}/${n}`, status: 200 },
      })
      const agent_events = Array.from({ length: ROWS_PER_DELIVERY }, (_, n) => row(n))
      const body = JSON.stringify({ site_id: 1, batch: { sender: 'e'.repeat(16), number }, agent_events })
      const signature = signBody(key, Math.floor(Date.now() / 1000), body)
      const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
      const { ok } = await fetch(`${admin}/api/log/edge`, { method: 'POST', headers, body })
      if (ok) accepted += ROWS_PER_DELIVERY
      await sleep(DELIVERY_INTERVAL_MS)
    }
  })()
  return async () => {
    on = false
    await run
    return accepted
  }
}

/** Numbers of ten digits, because engines sum in another order. */
const rounded = (data: unknown): string =>
  JSON.stringify(data, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(10)) : each))

/** Compares the days of all tables and the answers of all reads. */
async function compare(what: string, expected: ReadableEvents, found: ReadableEvents): Promise<void> {
  const days = async (events: ReadableEvents) =>
    JSON.stringify(await Promise.all(COPIED_TABLES.map((table) => listDays(events, table))))
  const different: string[] = (await days(expected)) === (await days(found)) ? [] : ['days']
  const [of, other] = [measureReads(expected, 1), measureReads(found, 1)]
  for (const [path, query] of MEASURED_READS)
    if (rounded((await of(path, query)).data) !== rounded((await other(path, query)).data))
      different.push(`${path}?${query}`)
  console.log(
    `${what}: ${await countRows(found)} rows; of ${MEASURED_READS.length} reads differ: ${different.join(', ') || 'none'}`,
  )
}
