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
    const told = async (one: Instance) => {
      const { data } = one
      const metrics = await (await fetch(`${one.admin}/metrics`)).text()
      return {
        ready: await one.ready(),
        held: /readership_lease_held (\d)/.exec(metrics)?.[1],
        status: (await command('status', '--data', data)).stdout,
        doctor: (await command('doctor', '--data', data, '--offline')).stdout,
      }
    }
    const engines = /Engines {5}rows in ClickHouse \([\d.]+ [kM]?B\), records in PostgreSQL \([\d.]+ MB\)/
    await eventually('the reader knows the writer', async () => (await told(reader)).status.includes(writer.admin))
    t.match(await told(writer), {
      ...{ ready: { status: 200 }, held: '1', doctor: /✓ instance: runs, and stores rows/ },
      status: /✓ State {7}stores rows\n✓ Role {8}writer, epoch 1, renewed \d+s ago/,
    })
    const healthy = await told(reader)
    t.match(healthy, {
      ...{ ready: { status: 200 }, held: '1' },
      status: new RegExp(`✓ State {7}answers reads\n✓ Role {8}reader; the writer is ${writer.admin}, epoch 1, renewed`),
      doctor: new RegExp(`✓ instance: runs, and reads; ${writer.admin} stores rows`),
    })
    t.match(healthy.status, engines)

    await writer.stop('SIGKILL')
    await eventually('the reader is not ready', async () => (await reader.ready()).status === 503)
    const dead = await told(reader)
    t.match(dead, {
      ready: { status: 503, body: /no process stores rows: the writer has not shown for more than 10 s that it lives/ },
      held: '0',
      status: /✗ State {7}degraded: no process stores rows/,
      doctor: /✗ instance: runs, but no process stores rows: the lease of epoch 1 was renewed \d+s ago/,
    })
    t.match(dead.status, /✗ Role {8}reader; no process writes: epoch 1, renewed \d+s ago/)

    const next = await member('next', 'writer')
    await eventually('the reader is ready again', async () => (await reader.ready()).status === 200)
    t.match((await told(reader)).status, new RegExp(`the writer is ${next.admin}, epoch 2`))
  },
)
