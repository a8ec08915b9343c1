import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { assertEqual } from '../fixtures/assert-equal.js'
import { asStore, fillStores, openFilesAt, readAllRecords } from '../fixtures/copied-store.js'
import { deliver } from '../fixtures/edge-deliveries.js'
import { directory } from '../fixtures/files.js'
import { cli, eventually, freePort, startService } from '../fixtures/instance.js'
import { noPostgres } from '../fixtures/postgres.js'
import { eventRow } from '../fixtures/rows.js'
import { compareReads } from './engine-reads.js'

/*
 * Backs a readership up that stores rows meanwhile, and restores the backup elsewhere. Needs no engine, and takes too long
 * for runs without them.
 */

const GENERATED = { sessions: 150, agents: 300 }
const NUMBER = /^\/(\d+)\/[01]$/

/** The numbers of the deliveries of which a table has rows. */
async function listDeliveries({ events }: Awaited<ReturnType<typeof openFilesAt>>, table: 'events' | 'agent_events') {
  const rows = await events.query(
    table === 'events' ? sql`select pathname from events` : sql`select pathname from agent_events`,
  )
  return rows
    .flatMap(({ pathname }) => NUMBER.exec(String(pathname))?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

t.test('a backup of a readership that runs, restored elsewhere', { skip: noPostgres, timeout: 900_000 }, async (t) => {
  const [from, to, piped] = [directory(t), join(directory(t), 'to'), join(directory(t), 'piped')]
  const [file, pipe] = [join(directory(t), 'all.tar'), join(directory(t), 'pipe.tar')]
  await fillStores(from, GENERATED)
  mkdirSync(join(from, 'backup.tmp'))
  const running = await startService({ data: from, port: await freePort() }, '--offline')
  t.teardown(() => running.stop('SIGKILL'))
  await eventually('the files of a killed backup are deleted', () => !existsSync(join(from, 'backup.tmp')))
  const key = (await cli('sites', 'ingest-key', '1', '--data', from)).stdout.trim()
  const delivering = deliver(running.admin, key)
  await sleep(1_000)
  const before = delivering.accepted()
  const made = await cli('backup', file, '--data', from)
  t.match(made, { code: 0, stdout: /^Wrote .*rows and all records/ }, made.stderr)
  const after = delivering.accepted()
  t.ok(after > before, `${after - before} deliveries were accepted during the backup`)
  const child = spawn(process.execPath, ['dist/bin/readership.js', 'backup', '-', '--data', from])
  const exited = once(child, 'exit')
  await pipeline(child.stdout, createWriteStream(pipe))
  t.same(await exited, [0, null], 'another one right after it, through a pipe')
  const accepted = await delivering.stop()
  await running.stop()

  for (const [archive, data] of [
    [file, to],
    [pipe, piped],
  ] as const)
    t.match(await cli('restore', archive, '--data', data), { code: 0, stderr: '' })
  const [source, restored] = [await openFilesAt(from), await openFilesAt(to)]
  const numbers = await listDeliveries(restored, 'agent_events')
  t.same(
    numbers,
    [...numbers.keys()].map((n) => n + 1),
    'deliveries in their order, without a gap',
  )
  t.ok(numbers.length >= before, 'those that were accepted before are in the backup')
  t.ok(numbers.length < accepted, 'later ones are not')
  t.same(await listDeliveries(restored, 'events'), numbers, 'both rows of a delivery, or none')
  const [expected, found] = [await readAllRecords(source.records), await readAllRecords(restored.records)]
  for (const table of ['sites', 'goals', 'policies', 'ingest_keys'])
    assertEqual(t, found[table], expected[table], table)

  const sessions = await source.events.query(sql`select distinct session_id from events where site_id = 1 limit 50`)
  const ids = sessions.map(({ session_id }) => BigInt(`0x${session_id}`))
  await t.test('reads of closed windows give the same answers', async (t) => {
    compareReads(t, { events: ids.map((session_id) => eventRow({ session_id })), agent_events: [] }, () => [
      asStore(source.events),
      asStore(restored.events),
    ])
  })
  await source.close()
  await restored.close()

  const service = await startService({ data: to, port: await freePort() }, '--offline')
  t.teardown(() => service.stop('SIGKILL'))
  t.match(await service.ready(), { status: 200 }, 'a readership starts on it')
  const again = deliver(service.admin, key, accepted + 1_000)
  await eventually('deliveries with the same key are accepted', () => again.accepted() > 0)
  await again.stop()
  await service.stop()
})
