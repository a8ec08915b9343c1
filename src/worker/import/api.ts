import { z } from 'zod'
import type { SiteById } from '../../capture/site.js'
import { ApiError } from '../../errors.js'
import type { EventStore } from '../../event-store.js'
import type { SessionMemory } from '../../ingest/session-memory.js'
import { type ImportCounts, ImportOptions, LineBatch } from '../../log-import/batch.js'
import type { Imports } from '../../manage/imports.js'
import type { WorkerApi } from '../parts.js'
import { createImportRun, type ImportRun, type ImportRunDeps } from './run.js'
import { readStoredHours } from './stored-hours.js'
import { readForeignSessions } from './stored-rows.js'
import { createImportRemoval } from './undo.js'

const BeginArgument = z.object({
  id: z.int(),
  site: z.int(),
  secret: z.base64(),
  options: ImportOptions,
})
const LinesArgument = z.object({ id: z.int(), text: z.string() })
const EndArgument = z.object({ id: z.int() })
const StopArgument = z.object({ id: z.int().nullable() })

/** The result of every call: what became of all lines so far, and the times of the first and the last. */
interface ImportState {
  counts: ImportCounts
  first_at: Date | null
  last_at: Date | null
}

/** A command that has sent nothing for so long has been stopped. */
const SILENCE_MS = 60_000
/** Summing up waits for sessions to end; lines that are newer are not in its way. */
const SETTLED_MS = 2 * 3_600_000

interface ImportApiDeps
  extends Omit<ImportRunDeps, 'id' | 'site' | 'options' | 'secret' | 'hours' | 'store' | 'saveSessions' | 'sessions'> {
  store: ImportRunDeps['store'] & Pick<EventStore, 'query' | 'removeImport'>
  imports: Pick<Imports, 'addSessions' | 'readSessions'>
  sessions: ImportRunDeps['sessions'] & Pick<SessionMemory, 'replace'>
  siteById: SiteById
  /** Why nothing may be written at present; undefined if it may. */
  obstacle: () => string | undefined
  rows_per_step?: number
}

/**
 * The calls of the site's process for `readership import`: one import at a time, its batches one after the other. None is undone
 * meanwhile: a running import has sessions in memory that would change. Long because its calls share the running import.
 */
export function createImportApi(deps: ImportApiDeps) {
  const { store, imports, now } = deps
  let current: { id: number; site: number; begunAt: number; run: ImportRun; heardAt: number } | undefined
  let isBeginning = false
  /** When the last step of an undo that has more of them ended. */
  let undoneAt = Number.NEGATIVE_INFINITY
  const removeStep = createImportRemoval({ ...deps, writer: deps })

  const requireCurrent = (id: number) => {
    if (current?.id !== id)
      throw new ApiError('conflict', `Import ${id} no longer runs: it was stopped, or a batch failed.`)
    return current
  }

  const isRunning = () => current !== undefined && now() - current.heardAt < SILENCE_MS

  /** Ends the import that runs. A batch of it that is not stored yet will not be. */
  const endCurrent = () => {
    current?.run.stop()
    current = undefined
  }

  /** Ends an import whose command has been stopped: should it go on, its sessions would not be those of the store. */
  const requireNoImport = () => {
    if (isBeginning) throw new ApiError('conflict', 'Another import begins.')
    if (current !== undefined && isRunning()) throw new ApiError('conflict', describeRunning(current))
    endCurrent()
  }

  const api: WorkerApi = {
    async import_begin(argument): Promise<null> {
      const { id, site: siteId, ...settings } = BeginArgument.parse(argument)
      requireNoImport()
      if (now() - undoneAt < SILENCE_MS) throw new ApiError('conflict', 'An import is being undone.')
      const site = deps.siteById(siteId)
      if (site === undefined) throw new ApiError('not_found', `There is no site ${siteId}.`)
      const one = { id, site: site.id }
      const saveSessions = async (ids: readonly bigint[]) =>
        imports.addSessions(one, await readForeignSessions(store, one, ids))
      isBeginning = true
      try {
        const hours = await readStoredHours(store, site.id, now())
        const run = createImportRun({ ...deps, ...settings, id, site, hours, saveSessions })
        current = { id, site: site.id, begunAt: now(), run, heardAt: now() }
      } finally {
        isBeginning = false
      }
      return null
    },
    async import_lines(argument): Promise<ImportState> {
      const { id, text } = LinesArgument.parse(argument)
      const one = requireCurrent(id)
      const { run } = one
      const why = deps.obstacle()
      // A batch may take longer than a silence: verification asks DNS.
      one.heardAt = Number.POSITIVE_INFINITY
      try {
        if (why !== undefined) throw new ApiError('database_error', `Nothing can be stored at present: ${why}`)
        await run.add(LineBatch.parse(JSON.parse(text)))
      } catch (error) {
        // Sessions in memory count rows that are not stored: only a new run is right.
        if (current === one) endCurrent()
        throw error
      }
      one.heardAt = now()
      return describe(run)
    },
    async import_end(argument): Promise<ImportState> {
      const { run } = requireCurrent(EndArgument.parse(argument).id)
      endCurrent()
      return describe(run)
    },
    /** Ends this import, and one whose command has been stopped. Throws `conflict` if another one runs. */
    async import_stop(argument): Promise<null> {
      const { id } = StopArgument.parse(argument)
      if (current?.id === id) endCurrent()
      requireNoImport()
      return null
    },
    async remove_import(argument) {
      requireNoImport()
      undoneAt = now()
      const step = await removeStep(argument).catch((error: unknown) => {
        undoneAt = Number.NEGATIVE_INFINITY
        throw error
      })
      undoneAt = step.more ? now() : Number.NEGATIVE_INFINITY
      return step
    },
  }
  return {
    api,
    /** Whether an import stores lines of the past: what is summed up meanwhile would change with each batch. */
    isStoringPast: (): boolean => isRunning() && (current?.run.span().last ?? 0) < now() - SETTLED_MS,
  }
}

/** The id of a trial, which has no record, is 0. */
function describeRunning({ id, site, begunAt }: { id: number; site: number; begunAt: number }): string {
  const since = `${new Date(begunAt).toISOString().slice(0, 19)}Z`
  return `${id > 0 ? `Import ${id}` : 'A trial import'} of site ${site} runs since ${since}: imports run one at a time.`
}

function describe(run: ImportRun): ImportState {
  const { first, last } = run.span()
  return {
    counts: run.counts(),
    first_at: Number.isFinite(first) ? new Date(first) : null,
    last_at: Number.isFinite(last) ? new Date(last) : null,
  }
}
