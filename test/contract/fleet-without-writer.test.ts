import { join } from 'node:path'
import t from 'tap'
import { noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { eventually, freePort, type Instance, startService } from '../fixtures/instance.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'

/*
 * The only writer of a fleet is killed. The attack succeeds if a reader goes on to say that rows are stored.
 */

t.test(
  'a reader whose writer is dead says so everywhere, until another one writes',
  { skip: noChdb || noPostgres, timeout: 600_000 },
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

    await shows(writer, /✓ State {7}stores rows\n✓ Role {8}writer, epoch 1, renewed \d+s ago/)
    await shows(writer, /Engines {5}rows in ClickHouse \([\d.]+ [kM]?B\), records in PostgreSQL \([\d.]+ MB\)/)
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
