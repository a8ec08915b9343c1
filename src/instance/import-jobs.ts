import { randomBytes, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { Engine } from '../engine/engine.js'
import { ApiError, UnusableSetting } from '../errors.js'
import type { ImportJobs, ReadSoFar } from '../http/imports.js'
import { ImportCounts } from '../log-import/batch.js'
import { readInThread } from '../log-import/thread.js'
import type { Import, Imports } from '../manage/imports.js'
import { createLock } from '../manage/lock.js'
import type { Log } from './instance.js'

const WorkerState = z.object({ counts: ImportCounts, first_at: z.date().nullable(), last_at: z.date().nullable() })
type WorkerState = z.infer<typeof WorkerState>
const UndoStep = z.object({ more: z.boolean() })

/** The record of a running import is written this often at most, in milliseconds. */
const RECORD_INTERVAL_MS = 1_000
/** The directory of the data directory in which an uploaded log waits to be read. */
const UPLOADS = 'uploads.tmp'
/** The free space is looked at after this many bytes of an upload. */
const CHECKED_BYTES = 16 << 20
/** An upload may take hours, but a client that sends nothing for so long has left. */
const STALL_TIMEOUT_MS = 60_000

interface JobDeps {
  engine: Pick<Engine, 'call'>
  imports: Imports
  data: string
  min_free_disk?: number | undefined
  stall_timeout_ms?: number
  now: () => Date
  log: Log
}

/**
 * Creates the jobs that begin imports, pass their lines to the worker, and keep their records up to date. Long because it
 * lists all of them.
 */
export function createImportJobs(deps: JobDeps): ImportJobs {
  const { engine, imports, data, now, log } = deps
  const uploads = join(data, UPLOADS)
  // A process that was killed has left them. A reader removes them too: it may have been the writer.
  const emptied = rm(uploads, { recursive: true, force: true }).catch((error: unknown) =>
    log.warn({ err: error }, `${uploads} cannot be removed`),
  )
  const lock = createLock()
  let isUploading = false
  const recordedAt = new Map<number, number>()
  const call = async (name: string, argument: unknown): Promise<WorkerState> =>
    WorkerState.parse(await engine.call(name, argument))

  const record = async (id: number, read: ReadSoFar, { counts, first_at, last_at }: WorkerState): Promise<void> => {
    const { known, human, agent, own_salts, other_hosts, dropped } = counts
    const skipped = read.not_pages + other_hosts + dropped
    const { lines, broken, data_lines, bytes: done } = read
    await imports.update(id, {
      lines,
      broken,
      skipped,
      data_lines,
      known,
      human,
      agent,
      own_salts,
      done,
      first_at,
      last_at,
    })
  }

  /** Ends the records of imports that run no more. */
  const failRunning = async (hasEnded = (_id: number) => true): Promise<void> => {
    for (const { id, state } of await imports.listUnfinished())
      if (state === 'running' && hasEnded(id)) await imports.update(id, { state: 'failed', ended_at: now() })
  }

  /** Lines whose rows are about to leave would be left out as known. */
  const requireNoRemoval = async () => {
    if ((await imports.listUnfinished()).some(({ state }) => state === 'removing'))
      throw new ApiError('conflict', 'An import is being undone.')
  }

  const begin: ImportJobs['begin'] = async ({ options, ...about }, audit) => {
    await requireNoRemoval()
    if (options.dry_run) {
      const secret = (await imports.secret()) ?? randomBytes(32).toString('base64')
      await engine.call('import_begin', { id: 0, site: about.site, secret, options })
      return 0
    }
    const { id } = await imports.create({ ...about, created_at: now() })
    try {
      await engine.call('import_begin', { id, site: about.site, secret: await imports.secret(), options })
    } catch (error) {
      await imports.delete({ site: about.site, id })
      throw error
    }
    await imports.audit(audit, 'create', { ...about, id })
    // Imports run one at a time: the others that say so were stopped.
    await failRunning((other) => other !== id)
    return id
  }

  const jobs: ImportJobs = {
    begin: (about, audit) => lock(() => begin(about, audit)),
    async lines(id, text, read) {
      // The worker parses it: the site's requests wait for this process.
      const state = await call('import_lines', { id, text })
      const time = now().getTime()
      if (id > 0 && time - (recordedAt.get(id) ?? 0) >= RECORD_INTERVAL_MS) {
        recordedAt.set(id, time)
        await record(id, read, state)
      }
      return state.counts
    },
    end: (id, read, ending) =>
      lock(async () => {
        recordedAt.delete(id)
        const state = await call('import_end', { id }).catch(async (error: unknown) => {
          // The worker has ended it already: one of its batches failed, it is undone, or the worker was restarted.
          await failRunning((other) => other === id)
          throw error
        })
        if (id > 0) {
          await record(id, read, state)
          await imports.update(id, { state: ending, ended_at: now() })
        }
        return state.counts
      }),
    async upload(about, body, read, audit) {
      if (isUploading) throw new ApiError('conflict', 'Another log is being uploaded.')
      const file = join(uploads, randomUUID())
      isUploading = true
      try {
        // Reasons to refuse the log that are known before it has arrived.
        if (read.format !== undefined) await checkFormat(read.format)
        await requireNoRemoval()
        await engine.call('import_stop', { id: null })
        await emptied
        await mkdir(uploads, { recursive: true, mode: 0o700 })
        await pipeline(receive(body, uploads, deps), createWriteStream(file, { mode: 0o600 }))
        const id = await jobs.begin({ ...about, total: (await sizeOf(file)) ?? null }, audit)
        void importFile(jobs, imports, { id, file, ...read }, log)
        const created = await imports.get(about.site, id)
        if (created === undefined) throw new ApiError('internal_error', 'The import was not recorded.')
        return created
      } catch (error) {
        await rm(file, { force: true })
        throw error
      } finally {
        isUploading = false
      }
    },
    undo: ({ site, id, source }, audit) =>
      lock(async () => {
        await engine.call('import_stop', { id })
        // None runs any more: the commands of others that say so were stopped.
        await failRunning()
        await imports.audit(audit, 'delete', { site, id, source })
        await imports.update(id, { state: 'removing' })
        void undoInSteps({ engine, imports, log }, { site, id })
      }),
    async resume() {
      await failRunning()
      for (const { id, site, state } of await imports.listUnfinished())
        if (state === 'removing') void undoInSteps({ engine, imports, log }, { site, id })
    },
  }
  return jobs
}

/** Throws `validation_error` if the text is no format. */
async function checkFormat(format: string): Promise<void> {
  // Loaded here, because the start of the site needs no formats.
  const { compileLogFormat } = await import('../access-logs/custom-format.js')
  try {
    compileLogFormat(format)
  } catch (error) {
    if (!(error instanceof UnusableSetting)) throw error
    throw new ApiError('validation_error', error.message, 'format')
  }
}

/**
 * Yields an upload. Throws `database_error` when the disk has no more room, because the store needs it, and `bad_request` if
 * the client stops sending.
 */
async function* receive(
  body: ReadableStream<Uint8Array>,
  directory: string,
  { min_free_disk = 0, stall_timeout_ms = STALL_TIMEOUT_MS }: Pick<JobDeps, 'min_free_disk' | 'stall_timeout_ms'>,
) {
  const reader = body.getReader()
  let isStalled = false
  const timer = setTimeout(() => {
    isStalled = true
    reader.cancel().catch(() => {})
  }, stall_timeout_ms)
  let unchecked = CHECKED_BYTES
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isStalled) throw new ApiError('bad_request', 'The upload stalled: nothing arrived for a minute.')
      if (done) return
      timer.refresh()
      unchecked += value.length
      if (unchecked >= CHECKED_BYTES) {
        unchecked = 0
        const { bavail, bsize } = await statfs(directory)
        if (bavail * bsize < min_free_disk + CHECKED_BYTES)
          throw new ApiError('database_error', 'The disk has no room for the log.')
      }
      yield value
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Imports an uploaded log, and deletes it. Never rejects: the record says how it ended. */
async function importFile(
  jobs: Pick<ImportJobs, 'lines' | 'end'>,
  imports: Pick<Imports, 'update'>,
  {
    id,
    file,
    format,
    tz,
    data_paths,
  }: { id: number; file: string; format: string | undefined; tz: string; data_paths: readonly string[] | undefined },
  log: Log,
): Promise<void> {
  let sofar: ReadSoFar = { lines: 0, broken: 0, not_pages: 0, data_lines: 0, bytes: 0 }
  let ending: Import['state'] = 'failed'
  try {
    const { counts, fault } = await readInThread(
      { file, tz, ...(format !== undefined && { format }), ...(data_paths && { data_paths: [...data_paths] }) },
      {
        onFormat: (title) => imports.update(id, { format: title }),
        async send(text, counts) {
          sofar = counts
          await jobs.lines(id, text, counts)
        },
      },
    )
    sofar = counts
    if (fault !== undefined) log.warn({}, `import ${id}: the log ends early: ${fault}`)
    ending = 'done'
  } catch (error) {
    log.warn({ err: error }, `import ${id} failed`)
    await imports.update(id, { reason: error instanceof Error ? error.message : String(error) }).catch(() => {})
  }
  await jobs.end(id, sofar, ending).catch((error: unknown) => {
    if (ending === 'done') log.error({ err: error }, `import ${id} failed at its end`)
  })
  await rm(file, { force: true })
}

/** Removes the rows of an import, and its record with the last of them. After a fault the import may be removed again. */
async function undoInSteps(
  { engine, imports, log }: Pick<JobDeps, 'engine' | 'imports' | 'log'>,
  { site, id }: Pick<Import, 'site' | 'id'>,
): Promise<void> {
  try {
    while (UndoStep.parse(await engine.call('remove_import', { site, import: id })).more);
    await imports.delete({ site, id })
  } catch (error) {
    log.error({ err: error }, `import ${id} could not be removed`)
    await imports.update(id, { state: 'failed' }).catch(() => {})
  }
}

const sizeOf = (file: string): Promise<number | undefined> =>
  stat(file).then(
    ({ size }) => size,
    () => undefined,
  )
