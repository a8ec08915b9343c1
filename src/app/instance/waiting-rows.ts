import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { PackedBatch } from '../../capture/packed-batch.js'
import { sql } from '../../storage/sql.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'

const DIRECTORY = 'waiting'
/** The layout of packed rows, the process, the number of the batch and its rows. */
const NAME = /^1-([0-9a-f]{16})-(\d{1,9})-(\d{1,9})\.rows$/
const HighestNumber = z.object({ number: z.number().nullable() })

type Target = Pick<WorkerClient, 'record' | 'events' | 'isWriter'>

/**
 * Keeps batches in files of the data directory until they are stored, so that a process that is killed while its store is
 * being opened loses none. A batch is stored with the number of its file, as a delivery of another server is: a file that was
 * left after the commit is recognised by it. Long because its methods share the directory.
 */
export function createWaitingRows({
  data,
  sender,
  now,
  log,
}: {
  data: string
  /** 16 hex digits, random for each process. */
  sender: string
  now: () => number
  log: Log
}) {
  const directory = join(data, DIRECTORY)
  let last = 0
  let isWarned = false
  /** Files are written and removed one at a time: a disk that hangs holds one thread of the process. */
  let lastWrite: Promise<unknown> = Promise.resolve()
  let recovering: Promise<void> = Promise.resolve()
  /** The highest number of this sender when the store was opened: another process with this directory may have stored files. */
  let storedByOthers: Promise<number> | undefined

  const identify = (from: string, number: number) => ({
    site_id: 0,
    signature: null,
    sender: from,
    number,
    accepted_at: now(),
  })
  const remove = async (file: string): Promise<void> => {
    await rm(file, { force: true })
    await rmdir(directory).catch(() => {})
  }
  const highestStored = async ({ events }: Target, from: string): Promise<number> => {
    const [row] = await events.query(
      sql`select max(number) as number from deliveries where site_id = 0 and sender = ${from}`,
    )
    return HighestNumber.parse(row).number ?? 0
  }
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
  /** Only the store's faults leave a batch for the next start. */
  const isKept = (error: unknown) => error instanceof ApiError && error.code === 'database_error'

  const recoverFile = async (workerClient: Target, name: string, highest: Map<string, number>): Promise<void> => {
    const file = join(directory, name)
    const [, from = '', number, count] = NAME.exec(name) ?? []
    if (!highest.has(from)) highest.set(from, await highestStored(workerClient, from))
    if (Number(number) > (highest.get(from) ?? 0)) {
      const batch = { count: Number(count), bytes: new Uint8Array(await readFile(file)) }
      await workerClient.record(batch, identify(from, Number(number))).catch((error) => {
        if (isKept(error)) throw error
        log.error({ err: error, rows: batch.count }, `${file} cannot be stored and is given up`)
      })
    }
    await remove(file)
  }

  const recoverAll = async (workerClient: Target): Promise<void> => {
    if (!workerClient.isWriter()) return
    const files = (await readdir(directory).catch(() => [])).filter((name) => !name.includes(sender))
    const numberOf = (name: string) => Number(NAME.exec(name)?.[2])
    const highest = new Map<string, number>()
    // The highest number that is stored says which files are: after a failure none of that process may be stored.
    const failed = new Set<string | undefined>()
    for (const name of files.filter((one) => NAME.test(one)).sort((a, b) => numberOf(a) - numberOf(b))) {
      const from = NAME.exec(name)?.[1]
      if (failed.has(from)) continue
      await recoverFile(workerClient, name, highest).catch((error) => {
        failed.add(from)
        log.warn({ err: error, file: name }, 'rows on disk wait for the next start')
      })
    }
    for (const name of files.filter((one) => one.endsWith('.tmp')))
      await rm(join(directory, name), { force: true }).catch(() => {})
    await rmdir(directory).catch(() => {})
  }

  return {
    /** Stores a batch once the store is open; resolves when it is stored, or on disk for the next start. */
    async store(batch: PackedBatch, opened: Promise<Target>): Promise<void> {
      last += 1
      const number = last
      const file = join(directory, `1-${sender}-${number}-${batch.count}.rows`)
      let [isWritten, isDone] = [false, false]
      const written = lastWrite.then(async () => {
        isWritten = !isDone && (await write(file, batch))
        return isWritten
      })
      lastWrite = written
      // Not awaited: the disk may hang.
      const finish = () => {
        isDone = true
        lastWrite = lastWrite.then(() => remove(file)).catch(() => {})
      }
      try {
        const workerClient = await opened
        storedByOthers ??= highestStored(workerClient, sender).catch(() => 0)
        if (!isWritten || number > (await storedByOthers)) await workerClient.record(batch, identify(sender, number))
      } catch (error) {
        if (isKept(error) && (await written)) return
        finish()
        throw error
      }
      finish()
    },
    /** Stores what earlier processes have left, if this process writes. Never rejects. Call it again after a change of roles. */
    recover(workerClient: Target): Promise<void> {
      recovering = recovering.then(() => recoverAll(workerClient))
      return recovering
    },
  }
}
