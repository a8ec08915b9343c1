import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ImportJobs, NewImport, ReadSoFar } from '../../api/imports.js'
import { ApiError, UnusableSetting } from '../../base/errors.js'
import { createLock, createLocks } from '../../base/lock.js'
import type { Log } from '../../base/log.js'
import { readInThread } from '../../history/log-import/thread.js'
import type { AuditContext } from '../../manage/audit.js'
import type { Import, Imports } from '../../manage/imports.js'
import { hasNoRequest, ImportCounts } from '../../worker-client/log-batch.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'
import { receiveUpload } from './receive-upload.js'

const WorkerState = z.object({ counts: ImportCounts, first_at: z.date().nullable(), last_at: z.date().nullable() })
type WorkerState = z.infer<typeof WorkerState>
const UndoStep = z.object({ more: z.boolean() })

/** The record of a running import is written this often at most, in milliseconds. */
const RECORD_INTERVAL_MS = 1_000
/** The directory of the data directory in which an uploaded log waits to be read. */
const UPLOADS = 'uploads.tmp'

/** Removing a file takes less, except on a disk that hangs. */
const REMOVAL_MS = 5_000

interface JobDeps {
  workerClient: Pick<WorkerClient, 'call'>
  imports: Imports
  /** Returns the organisation of a site; undefined if the site does not exist. */
  orgOf(site: number): Promise<number | undefined>
  data: string
  min_free_disk?: number | undefined
  stall_timeout_ms?: number
  now: () => Date
  log: Log
}

/**
 * Creates the jobs that begin imports, pass their lines to the worker, and keep their records up to date. Each organisation
 * has one upload, one import and one undo at a time, whatever others do.
 */
export function createImportJobs(deps: JobDeps): ImportJobs {
  const { workerClient, imports, orgOf, now, log } = deps
  const records = createOrgImports(deps)
  const { requireOrg, listUnfinished, failRunning, requireNoRemoval } = records
  const lockOf = createLocks<number | undefined>()
  const undo = createUndo({ workerClient, imports, log })
  /** The organisations of the imports that run. */
  const orgs = new Map<number, number>()
  let trials = 0
  const recordedAt = new Map<number, number>()
  const call = async (name: string, argument: unknown): Promise<WorkerState> =>
    WorkerState.parse(await workerClient.call(name, argument))

  const begin = async (org: number, { options, ...about }: NewImport, audit: AuditContext): Promise<number> => {
    await requireNoRemoval(org)
    if (options.dry_run) {
      const id = -++trials
      const secret = (await imports.secret()) ?? randomBytes(32).toString('base64')
      await workerClient.call('import_begin', { id, org, site: about.site, secret, options })
      return id
    }
    const id = await createImport(deps, org, { options, ...about })
    orgs.set(id, org)
    await imports.audit(audit, 'create', { ...about, id })
    // An organisation has one import at a time: its others that say so were stopped.
    await failRunning(await listUnfinished(org), (other) => other !== id)
    return id
  }

  const jobs: Pick<ImportJobs, 'begin' | 'lines' | 'end'> = {
    async begin(about, audit) {
      const org = await requireOrg(about.site)
      return lockOf(org)(() => begin(org, about, audit))
    },
    async lines(id, text, read) {
      // The worker parses it: the site's requests wait for this process.
      const state = await call('import_lines', { id, text })
      const time = now().getTime()
      if (id > 0 && time - (recordedAt.get(id) ?? 0) >= RECORD_INTERVAL_MS) {
        recordedAt.set(id, time)
        await imports.update(id, progressOf(read, state))
      }
      return state.counts
    },
    // An import that began in an earlier process has no lock of its organisation, and its worker is gone.
    end: (id, read, ending) =>
      lockOf(orgs.get(id))(async () => {
        recordedAt.delete(id)
        orgs.delete(id)
        const state = await call('import_end', { id }).catch(async (error: unknown) => {
          // The worker has ended it already: one of its batches failed, it is undone, or the worker was restarted.
          await failRunning(await imports.listUnfinished(), (other) => other === id)
          throw error
        })
        if (id > 0) await imports.update(id, { ...progressOf(read, state), state: ending, ended_at: now() })
        return state.counts
      }),
  }
  return {
    ...jobs,
    upload: createUpload(deps, records, jobs),
    async undo({ site, id, source }, audit) {
      const org = await requireOrg(site)
      await lockOf(org)(async () => {
        await workerClient.call('import_stop', { id, org })
        // None of the organisation runs any more: the commands of others that say so were stopped.
        await failRunning(await listUnfinished(org))
        await imports.audit(audit, 'delete', { site, id, source })
        await imports.update(id, { state: 'removing' })
        undo(org, { site, id })
      })
    },
    async resume() {
      await failRunning(await imports.listUnfinished())
      for (const { id, site, state } of await imports.listUnfinished())
        if (state === 'removing') undo(await orgOf(site), { site, id })
    },
  }
}

/** Creates the record of an import, and begins it in the worker. */
async function createImport(
  { workerClient, imports, now }: JobDeps,
  org: number,
  { options, ...about }: NewImport,
): Promise<number> {
  const { id } = await imports.create({ ...about, created_at: now() })
  try {
    await workerClient.call('import_begin', { id, org, site: about.site, secret: await imports.secret(), options })
  } catch (error) {
    await imports.delete({ site: about.site, id })
    throw error
  }
  return id
}

/** The fields of an import's record that change while lines arrive. */
function progressOf(read: ReadSoFar, { counts, first_at, last_at }: WorkerState): Partial<Import> {
  const { known, human, agent, own_salts, other_hosts, dropped } = counts
  const { lines, broken, data_lines, bytes: done } = read
  const skipped = read.not_pages + other_hosts + dropped
  return { lines, broken, skipped, data_lines, known, human, agent, own_salts, done, first_at, last_at }
}

type OrgImports = ReturnType<typeof createOrgImports>

/** Finds and ends the records of imports by organisation. */
function createOrgImports({ imports, orgOf, now }: JobDeps) {
  const requireOrg = async (site: number): Promise<number> => {
    const org = await orgOf(site)
    if (org === undefined) throw new ApiError('not_found', `There is no site ${site}.`, 'site')
    return org
  }

  /** Lists the imports of an organisation that run or are being removed. */
  const listUnfinished = async (org: number): Promise<Import[]> => {
    const found: Import[] = []
    for (const one of await imports.listUnfinished()) if ((await orgOf(one.site)) === org) found.push(one)
    return found
  }

  /** Ends the records of imports that run no more. */
  const failRunning = async (found: readonly Import[], hasEnded = (_id: number) => true): Promise<void> => {
    for (const { id, state } of found)
      if (state === 'running' && hasEnded(id)) await imports.update(id, { state: 'failed', ended_at: now() })
  }

  /** Lines whose rows are about to leave would be left out as known. */
  const requireNoRemoval = async (org: number) => {
    if ((await listUnfinished(org)).some(({ state }) => state === 'removing'))
      throw new ApiError('conflict', 'An import is being undone.')
  }

  return { requireOrg, listUnfinished, failRunning, requireNoRemoval }
}

/** Creates the job that receives a log, begins its import and reads it. */
function createUpload(
  deps: JobDeps,
  records: OrgImports,
  jobs: Pick<ImportJobs, 'begin' | 'lines' | 'end'>,
): ImportJobs['upload'] {
  const { workerClient, imports, log } = deps
  const uploads = join(deps.data, UPLOADS)
  // A process that was killed has left them. A reader removes them too: it may have been the writer.
  const emptied = rm(uploads, { recursive: true, force: true }).catch((error: unknown) =>
    log.warn({ err: error }, `${uploads} cannot be removed`),
  )
  /** Organisations that upload a log. */
  const uploading = new Set<number>()
  return async (about, body, read, audit) => {
    const org = await records.requireOrg(about.site)
    if (uploading.has(org)) throw new ApiError('conflict', 'Another log of this organisation is being uploaded.')
    const file = join(uploads, randomUUID())
    uploading.add(org)
    try {
      // Reasons to refuse the log that are known before it has arrived.
      if (read.format !== undefined) await checkFormat(read.format)
      await records.requireNoRemoval(org)
      await workerClient.call('import_stop', { id: null, org })
      await emptied
      await mkdir(uploads, { recursive: true, mode: 0o700 })
      await receiveUpload(body, file, deps)
      const id = await jobs.begin({ ...about, total: (await sizeOf(file)) ?? null }, audit)
      void importFile(jobs, imports, { id, file, ...read }, log)
      const created = await imports.get(about.site, id)
      if (created === undefined) throw new ApiError('internal_error', 'The import was not recorded.')
      return created
    } catch (error) {
      // The client hears why, also if the disk hangs and removes nothing.
      await Promise.race([rm(file, { force: true }), sleep(REMOVAL_MS, undefined, { ref: false })])
      throw error
    } finally {
      uploading.delete(org)
    }
  }
}

/** Throws `validation_error` if the text is not a format. */
async function checkFormat(format: string): Promise<void> {
  // Loaded here, because the start of the site needs no formats.
  const { compileLogFormat } = await import('../../history/access-logs/custom-format.js')
  try {
    compileLogFormat(format)
  } catch (error) {
    if (!(error instanceof UnusableSetting)) throw error
    throw new ApiError('validation_error', error.message, 'format')
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
  let stored: ImportCounts | undefined
  let ending: Import['state'] = 'failed'
  try {
    const { counts, fault } = await readInThread(
      { file, tz, ...(format !== undefined && { format }), ...(data_paths && { data_paths: [...data_paths] }) },
      {
        onFormat: (title) => imports.update(id, { format: title }),
        async send(text, counts) {
          sofar = counts
          stored = await jobs.lines(id, text, counts)
        },
      },
    )
    sofar = counts
    // The lines before are stored: the whole log adds the rest.
    if (fault !== undefined) throw new UnusableSetting(`The log is ${fault}.`)
    if (hasNoRequest(counts, stored ?? NO_COUNTS))
      throw new UnusableSetting('No line is of the format: name another one with `format`.')
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

const NO_COUNTS: ImportCounts = { human: 0, agent: 0, known: 0, other_hosts: 0, dropped: 0, own_salts: false }

/**
 * Creates the function that removes imports in steps: of one organisation one import after the other, and of all organisations
 * one step at a time, in turns. Live rows wait for one step at most, and no organisation waits for all rows of another.
 */
function createUndo({ workerClient, imports, log }: Pick<JobDeps, 'workerClient' | 'imports' | 'log'>) {
  const lockOf = createLocks<number | undefined>()
  const step = createLock()
  /** Removes the rows of an import, and its record with the last of them. After a fault the import may be removed again. */
  const removeInSteps = async ({ site, id }: Pick<Import, 'site' | 'id'>): Promise<void> => {
    try {
      const remove = () => workerClient.call('remove_import', { site, import: id })
      while (UndoStep.parse(await step(remove)).more);
      await imports.delete({ site, id })
    } catch (error) {
      log.error({ err: error }, `import ${id} could not be removed`)
      await imports.update(id, { state: 'failed' }).catch(() => {})
    }
  }
  return (org: number | undefined, one: Pick<Import, 'site' | 'id'>): void => {
    void lockOf(org)(() => removeInSteps(one))
  }
}

const sizeOf = (file: string): Promise<number | undefined> =>
  stat(file).then(
    ({ size }) => size,
    () => undefined,
  )
