import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { z } from 'zod'
import type { SiteSettings } from '../../src/capture/site.js'
import { CHROME, FIREFOX } from '../fixtures/browser-headers.js'
import { directory } from '../fixtures/files.js'
import { createImporter, logLine, readRows } from '../fixtures/importer.js'
import { openInProcessEngine } from '../fixtures/in-process-worker.js'
import { cli, eventually, freePort, GPTBOT, startService } from '../fixtures/instance.js'
import { openStore } from '../fixtures/open-store.js'
import { seeded } from '../fixtures/random.js'
import { openStoreAt } from '../fixtures/store.js'
import { createTestSalts } from '../fixtures/write-path.js'

/*
 * Kills of an import: the command that has the store open, and the worker of a service that stores the lines. The same
 * command again must end as one that nothing interrupted, and a service goes on answering meanwhile.
 */

const SITE: SiteSettings = {
  ...{ id: 1, domains: ['a.example'], timezone: 'UTC', respect_gpc: false, excluded_paths: [] },
  visitor_salt: 'month',
}
const LINES = 24_000
const START = Date.UTC(2026, 2, 10)

/** Writes a log of two days: people who read some pages each, some over midnight, and two agents. */
async function writeLog(path: string): Promise<void> {
  const random = seeded(20261124)
  const stream = createWriteStream(path)
  for (let n = 0; n < LINES; n++) {
    const at = START + n * 7_200
    const isAgent = random() < 0.3
    const ip = isAgent ? `20.171.206.${random.int(4)}` : `81.${n >> 12}.69.${random.int(200)}`
    const agent = isAgent ? GPTBOT : random.of([CHROME, FIREFOX])
    stream.write(`${logLine(at, ip, `/${random.int(300)}`, agent)}\n`)
  }
  stream.end()
  await finished(stream)
}

const Counts = z.object({ human: z.int(), agent: z.int(), known: z.int() })

/** Columns in which two stores differ, and those of verification, which the importer of tests leaves out. */
const OWN = ['import_id', 'import_key', 'visitor_id', 'session_id', 'ip_hash', 'verified', 'verification']

/** More than the log of one batch, so that its commit has ended, and less than that of all. */
const BYTES_OF_A_PART = 1_200_000

/** Starts the command, and resolves when it has stored a part of its lines. */
async function startImport(log: string, data: string) {
  const wal = join(data, 'events.duckdb.wal')
  const bytes = () => statSync(wal, { throwIfNoEntry: false })?.size ?? 0
  const before = bytes()
  const args = ['dist/bin/readership.js', 'import', log, '--host', 'a.example', '--data', data]
  const command = spawn(process.execPath, args, { stdio: 'ignore' })
  await eventually('a part is stored', () => bytes() > before + BYTES_OF_A_PART)
  return command
}

/** Returns the process that a process has started. */
const childOf = (pid: number | undefined): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])

const skip = process.platform !== 'linux' && 'finds the worker in /proc'

t.test('an import that is killed anywhere, and run again, ends as one run', { timeout: 600_000, skip }, async (t) => {
  const folder = directory(t)
  const log = join(folder, 'access.log')
  await writeLog(log)
  const killed = join(folder, 'killed')
  mkdirSync(killed)
  await (await openInProcessEngine(killed)).workerClient.close()
  const clean = await openStore(t)
  const { add } = await createImporter(t, { store: clean, site: SITE, now: Date.now, salts: createTestSalts(Date.now) })
  const whole = await add([readFileSync(log)])
  t.equal(whole.counts.human + whole.counts.agent, LINES)

  // The command has the store open: it and its worker end together.
  const command = await startImport(log, killed)
  const worker = childOf(command.pid)
  process.kill(command.pid ?? 0, 'SIGKILL')
  process.kill(worker, 'SIGKILL')
  await once(command, 'exit')

  const service = await startService({ data: killed, port: await freePort() })
  t.teardown(() => service.stop())
  const sent = await startImport(log, killed)
  const ended = once(sent, 'exit')
  process.kill(childOf(service.child.pid), 'SIGKILL')
  t.match(await ended, [1], 'the command says that a part is missing')
  await eventually('the worker is back', async () => (await service.ready()).status === 200)

  const again = cli('import', log, '--host', 'a.example', '--json', '--data', killed)
  const statuses: number[] = []
  for (let isRunning = true; isRunning; ) {
    isRunning = await Promise.race([again.then(() => false), sleep(20, true)])
    statuses.push((await service.ready()).status)
  }
  const { human, agent, known } = Counts.parse(JSON.parse((await again).stdout))
  t.equal(human + agent + known, LINES)
  t.ok(known >= 4_000 && human > 0, `${known} known, ${human} people`)
  t.ok(statuses.length > 5 && statuses.every((status) => status === 200), `asked ${statuses.length} times`)
  t.equal(await service.stop(), 0)
  const store = await openStoreAt(join(killed, 'events.duckdb'))
  t.teardown(() => store.close())
  t.ok(isDeepStrictEqual(await readRows(store, OWN), await readRows(clean, OWN)), 'the same rows')
})
