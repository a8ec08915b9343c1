import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import type { SiteById } from '../../capture/site.js'
import type { Imports } from '../../manage/imports.js'
import type { EventStore } from '../../storage/event-store.js'
import { type ImportCounts, ImportOptions, LineBatch } from '../../worker-client/log-batch.js'
import type { SessionMemory } from '../ingest/session-memory.js'
import type { WorkerApi } from '../parts.js'
import { createImportRun, type ImportRun, type ImportRunDeps } from './run.js'
import { readStoredHours } from './stored-hours.js'
import { readForeignSessions } from './stored-rows.js'
import { createImportRemoval } from './undo.js'

const BeginArgument = z.object({
  id: z.int(),
  org: z.int(),
  site: z.int(),
  secret: z.base64(),
  options: ImportOptions,
})
const LinesArgument = z.object({ id: z.int(), text: z.string() })
const EndArgument = z.object({ id: z.int() })
const SiteArgument = z.object({ site: z.int() })
const StopArgument = z.object({ id: z.int().nullable(), org: z.int() })

/** The result of every call: what became of all lines so far, and the times of the first and the last. */
interface ImportState {
  counts: ImportCounts
  first_at: Date | null
  last_at: Date | null
}

/**
 * Imports that run at once, one of each organisation. Each keeps sessions in memory, and their batches take turns with live
 * rows.
 */
const MAX_IMPORTS = 8
/** A command that has sent nothing for so long has been stopped. */
const SILENCE_MS = 60_000
/** Aggregation waits for sessions to end; lines that are newer are not in its way. */
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

interface RunningImport {
  id: number
  org: number
  site: number
  begunAt: number
  heardAt: number
  run: ImportRun
}

/**
 * The calls of the site's process for `readership import`. An organisation has one import at a time, its batches one after
 * the other. Meanwhile none of its imports is undone: a running import has sessions in memory that would change. Sites share
 * no sessions, so that imports of several organisations run side by side.
 */
export function createImportApi(deps: ImportApiDeps) {
  const { store, imports, now } = deps
  const { running, beginning, requireNotBeginning, requireRunning, isRunning, end, requireFree, requireRoom } =
    createRunningImports(now)
  const undo = createUndo(deps)

  const api: WorkerApi = {
    async import_begin(argument): Promise<null> {
      const { id, org, site: siteId, ...settings } = BeginArgument.parse(argument)
      requireNotBeginning(org)
      requireFree((one) => one.org === org)
      requireRoom()
      if (undo.isRunning(siteId)) throw new ApiError('conflict', 'An import is being undone.')
      const site = deps.siteById(siteId)
      if (site === undefined) throw new ApiError('not_found', `There is no site ${siteId}.`)
      const one = { id, site: site.id }
      const saveSessions = async (ids: readonly bigint[]) =>
        imports.addSessions(one, await readForeignSessions(store, one, ids))
      beginning.set(org, siteId)
      try {
        const hours = await readStoredHours(store, site.id, now())
        const run = createImportRun({ ...deps, ...settings, id, site, hours, saveSessions })
        running.set(org, { id, org, site: site.id, begunAt: now(), run, heardAt: now() })
      } finally {
        beginning.delete(org)
      }
      return null
    },
    async import_lines(argument): Promise<ImportState> {
      const { id, text } = LinesArgument.parse(argument)
      const one = requireRunning(id)
      const { run } = one
      const why = deps.obstacle()
      // A batch may take longer than a silence: verification asks DNS.
      one.heardAt = Number.POSITIVE_INFINITY
      try {
        if (why !== undefined) throw new ApiError('database_error', `Nothing can be stored at present: ${why}`)
        await run.add(LineBatch.parse(JSON.parse(text)))
      } catch (error) {
        // Sessions in memory count rows that are not stored: only a new run is right.
        if (running.get(one.org) === one) end(one)
        throw error
      }
      one.heardAt = now()
      return describe(run)
    },
    async import_end(argument): Promise<ImportState> {
      const one = requireRunning(EndArgument.parse(argument).id)
      end(one)
      return describe(one.run)
    },
    /**
     * Ends this import, and one of the organisation whose command has been stopped. Throws `conflict` if another one runs.
     * Without an id it makes room for a new one, and throws as `import_begin`.
     */
    async import_stop(argument): Promise<null> {
      const { id, org } = StopArgument.parse(argument)
      const one = running.get(org)
      if (one !== undefined && one.id === id) end(one)
      requireNotBeginning(org)
      requireFree((other) => other.org === org)
      if (id === null) requireRoom()
      return null
    },
    async remove_import(argument) {
      const { site } = SiteArgument.parse(argument)
      if ([...beginning.values()].includes(site)) throw new ApiError('conflict', 'Another import begins.')
      requireFree((one) => one.site === site)
      return undo.step(site, argument)
    },
  }
  return {
    api,
    /** Whether an import stores lines of the past: what is aggregated meanwhile would change with each batch. */
    isStoringPast: (): boolean =>
      [...running.values()].some((one) => isRunning(one) && (one.run.span().last ?? 0) < now() - SETTLED_MS),
  }
}

/** Undoes imports step by step. An undo of a site runs until its last step has ended, or was not asked for in time. */
function createUndo(deps: ImportApiDeps) {
  const { now } = deps
  /** By site: when the last step of an undo that has more of them ended. */
  const undoneAt = new Map<number, number>()
  const removeStep = createImportRemoval({ ...deps, writer: deps })
  return {
    isRunning: (site: number) => now() - (undoneAt.get(site) ?? Number.NEGATIVE_INFINITY) < SILENCE_MS,
    async step(site: number, argument: unknown) {
      undoneAt.set(site, now())
      const step = await removeStep(argument).catch((error: unknown) => {
        undoneAt.delete(site)
        throw error
      })
      if (step.more) undoneAt.set(site, now())
      else undoneAt.delete(site)
      return step
    },
  }
}

/** Keeps the imports that run, by their organisation. */
function createRunningImports(now: () => number) {
  const running = new Map<number, RunningImport>()
  /** The site of each organisation whose import begins. */
  const beginning = new Map<number, number>()
  const isRunning = ({ heardAt }: RunningImport) => now() - heardAt < SILENCE_MS
  /** Ends an import. A batch of it that is not stored yet will not be. */
  const end = (one: RunningImport) => {
    one.run.stop()
    running.delete(one.org)
  }
  return {
    running,
    beginning,
    requireNotBeginning(org: number): void {
      if (beginning.has(org)) throw new ApiError('conflict', 'Another import begins.')
    },
    isRunning,
    end,
    requireRunning(id: number): RunningImport {
      const one = [...running.values()].find((each) => each.id === id)
      if (one === undefined)
        throw new ApiError('conflict', `Import ${id} no longer runs: it was stopped, or a batch failed.`)
      return one
    },
    /**
     * Throws `conflict` if such an import runs. Ends one whose command has been stopped: should it go on, its sessions would
     * not be those of the store.
     */
    requireFree(concerns: (one: RunningImport) => boolean): void {
      for (const one of [...running.values()].filter(concerns)) {
        if (isRunning(one)) throw new ApiError('conflict', describeRunning(one))
        end(one)
      }
    },
    /** Throws `rate_limited` if too many imports run; the message says nothing of them, because they are others'. */
    requireRoom(): void {
      for (const one of [...running.values()]) if (!isRunning(one)) end(one)
      if (running.size + beginning.size >= MAX_IMPORTS)
        throw new ApiError('rate_limited', 'Too many organisations import logs at the moment: try again later.')
    },
  }
}

/** The id of a trial, which has no record, is negative. */
function describeRunning({ id, site, begunAt }: RunningImport): string {
  const since = `${new Date(begunAt).toISOString().slice(0, 19)}Z`
  return `${id > 0 ? `Import ${id}` : 'A trial import'} of site ${site} runs since ${since}: an organisation imports one log at a time.`
}

function describe(run: ImportRun): ImportState {
  const { first, last } = run.span()
  return {
    counts: run.counts(),
    first_at: Number.isFinite(first) ? new Date(first) : null,
    last_at: Number.isFinite(last) ? new Date(last) : null,
  }
}
