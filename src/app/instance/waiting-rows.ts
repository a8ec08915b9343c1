import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { createLock } from '../../base/lock.js'
import type { Log } from '../../base/log.js'
import type { PackedBatch } from '../../capture/packed-batch.js'
import { sql } from '../../storage/sql.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'

const DIRECTORY = 'waiting'
/** The layout of packed rows, the process, the number of the batch and its rows. */
const NAME = /^1-([0-9a-f]{16})-(\d{1,9})-(\d{1,9})\.rows$/
const HighestNumber = z.object({ number: z.number().nullable() })

type Target = Pick<WorkerClient, 'record' | 'events' | 'isWriter'>

interface WaitingRowsDeps {
  data: string
  /** 16 hex digits, random for each process. */
  sender: string
  now: () => number
  log: Log
}

/**
 * Keeps batches in files of the data directory until they are stored, so that a process that is killed while its store is
 * being opened loses none. A batch is stored with the number of its file, as a delivery of another server is: a file that was
 * left after the commit is recognised by it.
 */
export function createWaitingRows(deps: WaitingRowsDeps) {
  const { data, sender, now, log } = deps
  const directory = join(data, DIRECTORY)
  let last = 0
  let isWarned = false
  /** Files are written and removed one at a time: a disk that hangs holds one thread of the process. */
  const writeLock = createLock()
  const recoveryLock = createLock()
  /** The highest number of this sender when the store was opened: another process with this directory may have stored files. */
  let storedByOthers: Promise<number> | undefined

  /** Resolves to whether the file is whole and durable. */
  const write = async (file: string, { bytes }: PackedBatch): Promise<boolean> => {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFile(`${file}.tmp`, bytes, { mode: 0o600, flush: true })
      await rename(`${file}.tmp`, file)
      return true
    } catch (error) {
      if (!isWarned) log.warn({ err: error }, 'rows that wait for the store cannot be written to disk')
      isWarned = true
      return false
    }
  }
  return {
    /** Stores a batch once the store is open; resolves when it is stored, or on disk for the next start. */
    async store(batch: PackedBatch, opened: Promise<Target>): Promise<void> {
      last += 1
      const number = last
      const file = join(directory, `1-${sender}-${number}-${batch.count}.rows`)
      let [isWritten, isDone] = [false, false]
      const written = writeLock(async () => {
        isWritten = !isDone && (await write(file, batch))
        return isWritten
      })
      // Not awaited: the disk may hang.
      const finish = () => {
        isDone = true
        void writeLock(() => removeFile(file)).catch(() => {})
      }
      try {
        const workerClient = await opened
        storedByOthers ??= highestStored(workerClient, sender).catch(() => 0)
        if (!isWritten || number > (await storedByOthers))
          await workerClient.record(batch, identify(sender, number, now()))
      } catch (error) {
        if (isKept(error) && (await written)) return
        finish()
        throw error
      }
      finish()
    },
    /** Stores what earlier processes have left, if this process writes. Never rejects. Call it again after a change of roles. */
    recover: (workerClient: Target): Promise<void> => recoveryLock(() => recoverAll(workerClient, deps)),
  }
}

const identify = (sender: string, number: number, accepted_at: number) => ({
  site_id: 0,
  signature: null,
  sender,
  number,
  accepted_at,
})

/** Removes a file, and the directory with the last one. */
async function removeFile(file: string): Promise<void> {
  await rm(file, { force: true })
  await rmdir(dirname(file)).catch(() => {})
}

async function highestStored({ events }: Target, from: string): Promise<number> {
  const [row] = await events.query(
    sql`select max(number) as number from deliveries where site_id = 0 and sender = ${from}`,
  )
  return HighestNumber.parse(row).number ?? 0
}

/** Only the store's faults leave a batch for the next start. */
const isKept = (error: unknown) => error instanceof ApiError && error.code === 'database_error'

/** Stores the batch of a file, unless it is stored already; `highest` caches the numbers that are. */
async function recoverFile(
  workerClient: Target,
  file: string,
  highest: Map<string, number>,
  { now, log }: WaitingRowsDeps,
): Promise<void> {
  const [, from = '', number, count] = NAME.exec(basename(file)) ?? []
  if (!highest.has(from)) highest.set(from, await highestStored(workerClient, from))
  if (Number(number) > (highest.get(from) ?? 0)) {
    const batch = { count: Number(count), bytes: new Uint8Array(await readFile(file)) }
    await workerClient.record(batch, identify(from, Number(number), now())).catch((error) => {
      if (isKept(error)) throw error
      log.error({ err: error, rows: batch.count }, `${file} cannot be stored and is given up`)
    })
  }
  await removeFile(file)
}

async function recoverAll(workerClient: Target, deps: WaitingRowsDeps): Promise<void> {
  const directory = join(deps.data, DIRECTORY)
  if (!workerClient.isWriter()) return
  const files = (await readdir(directory).catch(() => [])).filter((name) => !name.includes(deps.sender))
  const numberOf = (name: string) => Number(NAME.exec(name)?.[2])
  const highest = new Map<string, number>()
  // The highest number that is stored says which files are: after a failure none of that process may be stored.
  const failed = new Set<string | undefined>()
  for (const name of files.filter((one) => NAME.test(one)).sort((a, b) => numberOf(a) - numberOf(b))) {
    const from = NAME.exec(name)?.[1]
    if (failed.has(from)) continue
    await recoverFile(workerClient, join(directory, name), highest, deps).catch((error) => {
      failed.add(from)
      deps.log.warn({ err: error, file: name }, 'rows on disk wait for the next start')
    })
  }
  for (const name of files.filter((one) => one.endsWith('.tmp')))
    await rm(join(directory, name), { force: true }).catch(() => {})
  await rmdir(directory).catch(() => {})
}
