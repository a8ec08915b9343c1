import { countEndpointDrop, type DropCounts, type DropReason, type EndpointDrop } from '../capture/drops.js'
import type { EdgeDelivery } from '../capture/edge-delivery.js'
import type { Hit } from '../capture/hit.js'
import { type PackedBatch, type PackedObservation, unpackBatch } from '../capture/packed-batch.js'
import type { Log } from '../duckdb/datafile.js'
import type { EventStore } from '../duckdb/event-store.js'
import { RowError } from '../duckdb/row-appender.js'
import type { CommitPosition } from '../engine/commit-position.js'
import { sumDrops } from '../engine/protocol.js'
import { ApiError } from '../errors.js'
import type { ClassifiedBatch, Classifier, PendingVerification } from '../ingest/classified-batch.js'
import type { AgentEventRow, EventRow, Rows } from '../rows.js'
import type { Resolution, Unresolved } from './late-hits.js'

export interface WriterDeps {
  classifier: Classifier
  store: Pick<EventStore, 'append'>
  /** Settles what only the store can tell, and says what changes there with it; the rows are as they were if it rejects. */
  resolveLate: (rows: readonly EventRow[], asked: Unresolved) => Promise<Resolution>
  /** The last commit: numbering and totals go on from there. */
  from: CommitPosition
  /** Why nothing may be written just now (too little disk); undefined when it may. */
  obstacle: () => string | undefined
  /** Milliseconds of a clock that never jumps. */
  clock: () => number
  sleep: (ms: number) => Promise<void>
  /** `late` are those of the rows that may yet be verified. */
  onCommit: (commit: {
    mark: CommitPosition
    rows: Rows
    dropped: readonly EndpointDrop[]
    late: readonly PendingVerification[]
    ms: number
  }) => void
  /** Told when storing stops or stops for another reason, and when it goes on (undefined). */
  onState: (reason: string | undefined) => void
  log: Log
}

interface Batch {
  sequence: number
  parcel: PackedBatch
  delivery: EdgeDelivery | undefined
}

/** What is done between batches; never rejects. */
interface ExclusiveTask {
  work: () => Promise<void>
  closed: () => void
}

export interface Writer {
  /** Takes a batch to be classified once and committed once; batches are numbered upwards and stay in order. */
  push(sequence: number, parcel: PackedBatch, delivery?: EdgeDelivery): void
  /**
   * Does `work` behind every batch that was pushed before, and before any that is pushed later: nothing is classified or
   * committed meanwhile. Rejects as `work` does, and with `database_error` where the writer stops before its turn.
   */
  between<T>(work: () => Promise<T>): Promise<T>
  /** Gives up what is not committed yet; resolves when nothing is under way. */
  stop(): Promise<void>
}

/** Batches that wait are committed together up to this many observations: a commit costs as much as hundreds of rows. */
const MAX_MERGED_OBSERVATIONS = 5_000
/** Nothing else waiting, rows wait this long to be verified, ms: most names are found in less. */
const VERIFICATION_WAIT_MS = 250
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000

/**
 * Observations to committed rows. What is classified is kept until it is committed, since sessions have counted it
 * already; a store that fails is tried again for as long as it takes, while the recorder bounds what waits.
 */
export function createWriter(deps: WriterDeps): Writer {
  const waiting: (Batch | ExclusiveTask)[] = []
  let mark = deps.from
  let stopped = false
  let degraded: string | undefined
  let running: Promise<void> | undefined
  let wake = () => {}
  const stopping = new Promise<void>((resolve) => {
    wake = resolve
  })

  const tell = (reason: string | undefined) => {
    if (reason === degraded) return
    degraded = reason
    deps.onState(reason)
  }

  const take = ():
    | { sequence: number; batch: readonly (Hit | PackedObservation)[]; deliveries: readonly EdgeDelivery[] }
    | undefined => {
    let count = 0
    const parts: Batch[] = []
    for (const next of waiting) {
      if ('work' in next || (parts.length > 0 && count + next.parcel.count > MAX_MERGED_OBSERVATIONS)) break
      count += next.parcel.count
      parts.push(next)
    }
    waiting.splice(0, parts.length)
    const sequence = parts.at(-1)?.sequence
    if (sequence === undefined) return undefined
    return {
      sequence,
      batch: parts.flatMap((part) => unpackBatch(part.parcel)),
      deliveries: parts.flatMap(({ delivery }) => delivery ?? []),
    }
  }

  /** Verifies what can be verified soon, and answers what cannot. */
  const settle = async (open: readonly PendingVerification[]): Promise<readonly PendingVerification[]> => {
    if (open.length === 0 || waiting.length > 0) return open
    const late = new Set(open)
    let waited = false
    const answers = open.map(async (one) => {
      const verdict = await one.later
      if (waited) return
      Object.assign(one.row, verdict)
      late.delete(one)
    })
    await Promise.race([Promise.all(answers), deps.sleep(VERIFICATION_WAIT_MS), stopping])
    waited = true
    return [...late]
  }

  const commit = async (
    made: ClassifiedBatch,
    deliveries: readonly EdgeDelivery[],
    before: CommitPosition,
  ): Promise<CommitPosition | undefined> => {
    const { rows, unplaced, unsure } = made
    let dropped = before
    let placed: Resolution | undefined =
      unplaced.length + unsure.length > 0 ? undefined : { moves: [], additions: made.additions, removed: new Map() }
    for (let wait = FIRST_RETRY_MS; !stopped; wait = Math.min(wait * 2, MAX_RETRY_MS)) {
      let reason = deps.obstacle()
      if (reason === undefined) {
        try {
          if (placed === undefined) {
            const { moves, additions, removed: gone } = await deps.resolveLate(rows.events, made)
            placed = { moves, additions: [...made.additions, ...additions], removed: gone }
            rows.events = rows.events.filter((row) => !gone.has(row))
            dropped = { ...dropped, drops: sumDrops(dropped.drops, countDropsByReason(gone)) }
            for (const [row, reason] of gone) if (reason !== undefined) countRowDrop(made, row, reason)
          }
          const { moves, additions } = placed
          const { events, agent_events } = rows
          const next = { ...dropped, human: mark.human + events.length, agent: mark.agent + agent_events.length }
          if (events.length + agent_events.length + moves.length + additions.length + deliveries.length > 0)
            await deps.store.append(rows, next, { moves, additions, deliveries })
          tell(undefined)
          return next
        } catch (error) {
          if (error instanceof RowError) {
            for (const row of rows[error.table].splice(error.index, 1)) countRowDrop(made, row, 'fault')
            dropped = { ...dropped, drops: sumDrops(dropped.drops, { fault: 1 }) }
            deps.log('error', 'a row was dropped that no store could take', error)
            wait = FIRST_RETRY_MS / 2
            continue
          }
          reason = formatCause(error)
          if (degraded === undefined) deps.log('error', 'rows cannot be stored and wait', error)
        }
      }
      tell(reason)
      await Promise.race([deps.sleep(wait), stopping])
    }
    return undefined
  }

  const run = async (): Promise<void> => {
    while (waiting.length > 0 && !stopped) {
      const [first] = waiting
      if (first && 'work' in first) {
        waiting.shift()
        await first.work()
        continue
      }
      const taken = take()
      if (!taken) return
      const from = deps.clock()
      const made = deps.classifier.classify(taken.batch)
      const late = await settle(made.pendingVerifications)
      const dropped = { ...mark, sequence: taken.sequence, drops: sumDrops(mark.drops, made.drops) }
      const next = await commit(made, taken.deliveries, dropped)
      if (next === undefined) return
      mark = next
      deps.onCommit({ mark, rows: made.rows, dropped: made.endpointDrops, late, ms: deps.clock() - from })
    }
  }

  const add = (next: Batch | ExclusiveTask) => {
    waiting.push(next)
    running ??= run().finally(() => {
      running = undefined
    })
  }

  return {
    push: (sequence, parcel, delivery) => add({ sequence, parcel, delivery }),
    between: (work) =>
      new Promise((resolve, reject) => {
        const closed = () => reject(new ApiError('database_error', 'The store is being closed.'))
        if (stopped) closed()
        else add({ work: () => work().then(resolve, reject), closed })
      }),
    async stop() {
      stopped = true
      wake()
      await running
      for (const next of waiting.splice(0)) if ('work' in next) next.closed()
    },
  }
}

/** Counts a row that is none for its site, where its door can be told. */
function countRowDrop(
  { endpointDrops: dropped }: ClassifiedBatch,
  row: EventRow | AgentEventRow,
  reason: DropReason,
): void {
  if (!('recorded_by' in row)) return
  if (row.recorded_by === 'browser') countEndpointDrop(dropped, row.site_id, 'track', reason)
  if (row.recorded_by === 'edge') countEndpointDrop(dropped, row.site_id, 'edge', reason)
}

function countDropsByReason(gone: Resolution['removed']): DropCounts {
  const drops: DropCounts = {}
  for (const reason of gone.values()) if (reason !== undefined) drops[reason] = (drops[reason] ?? 0) + 1
  return drops
}

function formatCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
