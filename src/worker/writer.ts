import { ApiError } from '../base/errors.js'
import type { Hit } from '../capture/hit.js'
import { type PackedObservation, unpackBatch } from '../capture/packed-batch.js'
import { RowError } from '../storage/columns.js'
import type { CommitPosition } from '../storage/commit-position.js'
import { countEndpointDrop, type DropCounts, type DropReason, type EndpointDrop } from '../storage/drops.js'
import type { EdgeDelivery } from '../storage/edge-delivery.js'
import type { EventStore } from '../storage/event-store.js'
import type { AgentEventRow, EventRow, Rows } from '../storage/rows.js'
import type { Log } from '../storage/store.js'
import type { ToWorker } from '../worker-client/protocol.js'
import type { ClassifiedBatch, PendingVerification } from './ingest/classified-batch.js'
import type { Classifier } from './ingest/classifier.js'
import type { Resolution, Unresolved } from './late-hits.js'

export interface WriterDeps {
  classifier: Classifier
  store: Pick<EventStore, 'append'>
  /** Settles what only the store knows, and returns the changes to stored rows. If it rejects, the rows are unchanged. */
  resolveLate: (rows: readonly EventRow[], unresolved: Unresolved) => Promise<Resolution>
  /** The last commit: numbers and totals continue from there. */
  from: CommitPosition
  /** Why nothing may be written at present (too little disk); undefined if it may. */
  obstacle: () => string | undefined
  /** Milliseconds of a monotonic clock. */
  clock: () => number
  sleep: (ms: number) => Promise<void>
  /** Called before work on a batch that was sent alone. */
  onBegin: (sequence: number) => void
  onCommit: (commit: {
    position: CommitPosition
    rows: Rows
    drops: readonly EndpointDrop[]
    /** Rows of the commit whose verification has not ended. */
    pending: readonly PendingVerification[]
    ms: number
  }) => void
  /** Called with the reason when storing stops, or stops for another reason, and with undefined when it continues. */
  onState: (reason: string | undefined) => void
  log: Log
}

type QueuedBatch = Pick<Extract<ToWorker, { type: 'batch' }>, 'sequence' | 'batch' | 'delivery' | 'alone'>

/** Work that runs between batches; never rejects. */
interface ExclusiveTask {
  work: () => Promise<void>
  onStop: () => void
}

/** Waiting batches are committed together up to this many observations: a commit costs as much as hundreds of rows. */
const MAX_MERGED_OBSERVATIONS = 5_000
/** If nothing else waits, rows wait this long for their verification. Most DNS answers take less. */
const VERIFICATION_WAIT_MS = 250
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000

export type Writer = ReturnType<typeof createWriter>

/**
 * Turns batches into committed rows, one commit at a time. Classified rows are kept until they are committed, because
 * sessions have counted them already: a failing store is retried for as long as it takes, while the recorder bounds what
 * waits.
 */
export function createWriter(deps: WriterDeps) {
  const queue: (QueuedBatch | ExclusiveTask)[] = []
  const state = createWriterState(deps.onState)
  let position = deps.from
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    while (queue.length > 0 && !state.stopped()) {
      const [first] = queue
      if (first && 'work' in first) {
        queue.shift()
        await first.work()
        continue
      }
      const next = takeBatches(queue)
      if (!next) return
      if (first?.alone) deps.onBegin(first.sequence)
      const startedAt = deps.clock()
      const batch = deps.classifier.classify(next.observations)
      const { pendingVerifications } = batch
      const pending =
        pendingVerifications.length === 0 || queue.length > 0
          ? pendingVerifications
          : await awaitVerifications(pendingVerifications, state.untilStop(deps.sleep(VERIFICATION_WAIT_MS)))
      const drops = sumDrops(position.drops, batch.drops)
      const start = { ...position, sequence: next.sequence, drops }
      const reached = await storeWithRetry(createCommit(deps, batch, next.deliveries, start), deps, state)
      if (reached === undefined) return
      position = reached
      const ms = deps.clock() - startedAt
      deps.onCommit({ position, rows: batch.rows, drops: batch.endpointDrops, pending, ms })
    }
  }

  const enqueue = (next: QueuedBatch | ExclusiveTask): void => {
    queue.push(next)
    running ??= run().finally(() => {
      running = undefined
    })
  }

  return {
    /** Queues a batch, to be classified once and committed once; batches are numbered upwards and stay in order. */
    push: (batch: QueuedBatch): void => enqueue(batch),
    /** Reports a full disk also while no row waits for it. */
    noteObstacle(): void {
      if (running !== undefined || state.stopped()) return
      try {
        state.report(deps.obstacle())
      } catch {
        // The file is gone: the next row finds that out, and the worker is started again.
      }
    },
    /**
     * Runs `work` after every batch that was pushed before and before any that is pushed later; meanwhile nothing is
     * classified or committed. Rejects as `work` does, and with `database_error` if the writer stops first.
     */
    runExclusive: <T>(work: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        const onStop = () => reject(new ApiError('database_error', 'The store is being closed.'))
        if (state.stopped()) onStop()
        else enqueue({ work: () => work().then(resolve, reject), onStop })
      }),
    /** Gives up what is not committed yet; resolves when nothing runs. */
    async stop(): Promise<void> {
      state.stop()
      await running
      for (const next of queue.splice(0)) if ('work' in next) next.onStop()
    },
  }
}

/** Whether the writer is to stop, and why it cannot store rows at present. */
function createWriterState(onState: WriterDeps['onState']) {
  const stop = new AbortController()
  let obstacle: string | undefined
  return {
    stopped: () => stop.signal.aborted,
    /** Waits for `sleep`, or until the writer stops. A race with one promise for all waits would keep every one of them. */
    untilStop: (sleep: Promise<void>): Promise<void> =>
      new Promise((resolve) => {
        const end = () => {
          stop.signal.removeEventListener('abort', end)
          resolve()
        }
        stop.signal.addEventListener('abort', end)
        void sleep.then(end)
        if (stop.signal.aborted) end()
      }),
    stop: () => stop.abort(),
    storing: () => obstacle === undefined,
    report(reason: string | undefined): void {
      if (reason === obstacle) return
      obstacle = reason
      onState(reason)
    },
  }
}

/** Gives rows the verdicts that arrive before `limit` resolves, and returns the others. */
async function awaitVerifications(
  pending: readonly PendingVerification[],
  limit: Promise<void>,
): Promise<readonly PendingVerification[]> {
  const late = new Set(pending)
  let timedOut = false
  const verdicts = pending.map(async (one) => {
    const verdict = await one.verdict
    if (timedOut) return
    Object.assign(one.row, verdict)
    late.delete(one)
  })
  await Promise.race([Promise.all(verdicts), limit])
  timedOut = true
  return [...late]
}

/** Stores a commit, however often that must be tried; undefined if the writer stopped first. */
async function storeWithRetry(
  { store, dropRow }: ReturnType<typeof createCommit>,
  deps: WriterDeps,
  state: ReturnType<typeof createWriterState>,
): Promise<CommitPosition | undefined> {
  let wait = FIRST_RETRY_MS
  while (!state.stopped()) {
    let reason = deps.obstacle()
    if (reason === undefined) {
      try {
        const reached = await store()
        state.report(undefined)
        return reached
      } catch (error) {
        if (error instanceof RowError) {
          dropRow(error)
          deps.log('error', 'a row was dropped because the store cannot hold one of its values', error)
          wait = FIRST_RETRY_MS
          continue
        }
        reason = formatCause(error)
        if (state.storing()) deps.log('error', 'rows cannot be stored and wait', error)
      }
    }
    state.report(reason)
    await state.untilStop(deps.sleep(wait))
    wait = Math.min(wait * 2, MAX_RETRY_MS)
  }
  return undefined
}

/** Takes waiting batches that are committed together off the queue; undefined if none waits before the next task. */
function takeBatches(
  queue: (QueuedBatch | ExclusiveTask)[],
):
  | { sequence: number; observations: readonly (Hit | PackedObservation)[]; deliveries: readonly EdgeDelivery[] }
  | undefined {
  let count = 0
  const taken: QueuedBatch[] = []
  for (const next of queue) {
    if ('work' in next || (taken.length > 0 && count + next.batch.count > MAX_MERGED_OBSERVATIONS)) break
    count += next.batch.count
    taken.push(next)
  }
  queue.splice(0, taken.length)
  const sequence = taken.at(-1)?.sequence
  if (sequence === undefined) return undefined
  return {
    sequence,
    observations: taken.flatMap(({ batch }) => unpackBatch(batch)),
    deliveries: taken.flatMap(({ delivery }) => delivery ?? []),
  }
}

/** The commit of one classified batch. `store` may be repeated after it failed. */
function createCommit(
  deps: Pick<WriterDeps, 'store' | 'resolveLate'>,
  batch: ClassifiedBatch,
  deliveries: readonly EdgeDelivery[],
  start: CommitPosition,
) {
  const { rows } = batch
  let { drops } = start
  let changes: Omit<Resolution, 'removed'> | undefined =
    batch.unplacedRows.length + batch.unmatchedViews.length > 0
      ? undefined
      : { moves: [], placements: [], loose: [...batch.missingPages], additions: batch.additions }

  const resolve = async (): Promise<Omit<Resolution, 'removed'>> => {
    const { additions, removed, loose, ...others } = await deps.resolveLate(rows.events, batch)
    rows.events = rows.events.filter((row) => !removed.has(row))
    for (const [row, reason] of removed) {
      if (reason === undefined) continue
      drops = sumDrops(drops, { [reason]: 1 })
      countRowDrop(batch, row, reason)
    }
    return { ...others, loose: [...loose, ...batch.missingPages], additions: [...batch.additions, ...additions] }
  }

  return {
    async store(): Promise<CommitPosition> {
      changes ??= await resolve()
      const { moves, placements, loose, additions } = changes
      const { events, agent_events } = rows
      const changed = moves.length + placements.length + loose.length + additions.length + deliveries.length
      const human = start.human + events.length
      const reached = { ...start, drops, human, agent: start.agent + agent_events.length }
      if (events.length + agent_events.length + changed > 0)
        await deps.store.append(rows, reached, { moves, placements, loose, additions, deliveries })
      return reached
    },
    /** Drops the row that the store cannot hold. */
    dropRow({ table, index }: RowError): void {
      const all = table === 'loose_reports' ? (changes?.loose ?? []) : rows[table]
      for (const row of all.splice(index, 1)) countRowDrop(batch, row, 'fault')
      drops = sumDrops(drops, { fault: 1 })
    },
  }
}

/** Counts a dropped row for its site, if it arrived at an ingest endpoint. */
function countRowDrop({ endpointDrops }: ClassifiedBatch, row: EventRow | AgentEventRow, reason: DropReason): void {
  if (!('recorded_by' in row)) return
  if (row.recorded_by === 'browser') countEndpointDrop(endpointDrops, row.site_id, 'track', reason)
  if (row.recorded_by === 'edge') countEndpointDrop(endpointDrops, row.site_id, 'edge', reason)
}

function sumDrops(drops: DropCounts, more: DropCounts): DropCounts {
  const sum: DropCounts = { ...drops }
  let reason: keyof DropCounts
  for (reason in more) sum[reason] = (sum[reason] ?? 0) + (more[reason] ?? 0)
  return sum
}

function formatCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
