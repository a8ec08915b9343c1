import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packBatch } from '../../src/capture/packed-batch.js'
import { noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { eventually, freePort, type Instance, startOrigin, startProxy, startService } from '../fixtures/instance.js'
import { observation } from '../fixtures/observations.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'

/*
 * The only writer of a fleet is killed. The attack succeeds if a reader goes on to say that rows are stored.
 */

t.test(
  'a reader whose writer is dead says so everywhere, until another one writes',
  { skip: noChdb || noPostgres, timeout: 1_100_000 },
  async (t) => {
    const [clickhouse, postgres] = [await startClickHouse(t), await startPostgres(t)]
    const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'dead')]
    const folder = directory(t)
    const running: Instance[] = []
    t.teardown(() => Promise.all(running.map((one) => one.stop('SIGKILL'))))
    const member = async (name: string, role: string) => {
      const port = await freePort()
      const flags = ['--store', store, '--control', control, '--advertise', `http://127.0.0.1:${port}`, '--role', role]
      const started = await startService({ data: join(folder, name), port }, ...flags)
      running.push(started)
      return started
    }
    const writer = await member('writer', 'writer')
    const reader = await member('reader', 'reader')
    const status = async ({ data }: Instance) => (await command('status', '--data', data)).stdout
    const doctor = async ({ data }: Instance) => (await command('doctor', '--data', data, '--offline')).stdout
    /** The metric is as old as the last scrape, by five seconds at most; a busy worker is left out of the status. */
    const isHeld = async ({ admin }: Instance) =>
      /^readership_lease_held (\d)/m.exec(await (await fetch(`${admin}/metrics`)).text())?.[1]
    const shows = (one: Instance, what: RegExp) =>
      eventually(`status shows ${what}`, async () => what.test(await status(one)))

    await shows(writer, /✓ State {7}stores rows\n✓ Role {8}writer, epoch 1, renewed [\dm ]+s ago/)
    await shows(writer, /Engines {5}rows in ClickHouse \([\d.]+ [KM]?B\), records in PostgreSQL \([\d.]+ MB\)/)
    const role = `✓ Role {8}reader; the writer is ${writer.admin}, epoch 1, renewed`
    await shows(reader, new RegExp(`✓ State {7}answers reads\n${role}`))
    t.match(await doctor(writer), /✓ instance: runs, and stores rows/)
    t.match(await doctor(reader), new RegExp(`✓ instance: runs, and reads; ${writer.admin} stores rows`))
    await eventually('the lease is held', async () => (await isHeld(reader)) === '1')
    t.equal((await reader.ready()).status, 200)

    await writer.stop('SIGKILL')
    await eventually('the reader is not ready', async () => (await reader.ready()).status === 503)
    const reason = 'no process stores rows: the writer has not shown for more than 10 s that it lives'
    t.match((await reader.ready()).body, reason)
    await eventually('the lease is not held', async () => (await isHeld(reader)) === '0')
    await shows(reader, /✗ State {7}degraded: no process stores rows/)
    await shows(reader, /✗ Role {8}reader; no process writes: epoch 1, renewed [\dm s]+ ago/)
    const failed = /✗ instance: runs, but no process stores rows: the lease of epoch 1 was renewed [\dm s]+ ago/
    await eventually('doctor fails', async () => failed.test(await doctor(reader)))

    const next = await member('next', 'writer')
    await eventually('the reader is ready again', async () => (await reader.ready()).status === 200)
    await shows(reader, new RegExp(`the writer is ${next.admin}, epoch 2`))
  },
)

t.test(
  'a proxy that started as a reader stores the rows on its disk when it takes over',
  { skip: noChdb || noPostgres, timeout: 1_100_000 },
  async (t) => {
    const [clickhouse, postgres, origin] = [await startClickHouse(t), await startPostgres(t), await startOrigin()]
    t.teardown(() => origin.close())
    const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'waiting')]
    const folder = directory(t)
    const [port, adminPort, writerPort] = [await freePort(), await freePort(), await freePort()]
    const flags = (advertised: number) => [
      ...['--store', store, '--control', control, '--advertise', `http://127.0.0.1:${advertised}`],
    ]
    const writer = await startService({ data: join(folder, 'writer'), port: writerPort }, ...flags(writerPort))
    t.teardown(() => writer.stop('SIGKILL'))
    const data = join(folder, 'proxy')
    const waiting = join(data, 'waiting')
    mkdirSync(waiting, { recursive: true })
    const left = packBatch(['/a', '/b'].map((pathname) => observation({ pathname })))
    writeFileSync(join(waiting, `1-${'a'.repeat(16)}-1-${left.count}.rows`), left.bytes)
    const starting = startProxy({ origin: origin.url, data, port, adminPort }, ...flags(adminPort))
    const visited = eventually('a page is served', async () => {
      const headers = { 'user-agent': observation().user_agent }
      return (await fetch(`http://127.0.0.1:${port}/c`, { headers })).ok
    })
    const proxy = await starting
    t.teardown(() => proxy.stop('SIGKILL'))
    await visited
    t.match((await command('status', '--data', data)).stdout, `the writer is ${writer.admin}`)
    t.ok(readdirSync(waiting).length > 0, 'its rows wait')
    await writer.stop('SIGKILL')
    await eventually('the rows of both processes are stored', async () => (await proxy.pageviews()) === 3)
    await eventually('their files are gone', async () => !readdirSync(data).includes('waiting'))
    t.equal(await proxy.pageviews(), 3, 'once')
  },
)
