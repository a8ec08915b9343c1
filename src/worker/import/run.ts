import type { Catalog } from '../../agents/catalog.js'
import type { Verifier } from '../../agents/claim-check.js'
import type { PolicyJudge } from '../../agents/policy/policy-judge.js'
import { wordsOf } from '../../base/address.js'
import { createRecentCache } from '../../base/cache.js'
import { ApiError } from '../../base/errors.js'
import type { PackedObservation } from '../../capture/packed-batch.js'
import type { SiteByHostname, SiteSettings } from '../../capture/site.js'
import type { EventStore } from '../../storage/event-store.js'
import type { Log } from '../../storage/store.js'
import { type ImportCounts, type ImportOptions, type LineBatch, lineAt } from '../../worker-client/log-batch.js'
import { type Classifier, type ClassifierDeps, createClassifier } from '../ingest/classifier.js'
import type { Place, PlaceLookup } from '../ingest/place/place-lookup.js'
import type { ReferrerSpamSettings } from '../ingest/referrer-spam.js'
import { SessionMemory, type SettledSession } from '../ingest/session-memory.js'
import { createLateHitResolver, type Resolution } from '../late-hits.js'
import type { Writer } from '../writer.js'
import { createImportSalts } from './import-salts.js'
import { judgeByFile, VERIFIES_NOTHING, verifyNow } from './judgements.js'
import { createKnownRows } from './known-rows.js'
import { createLineKeys } from './line-keys.js'
import { toObservation } from './line-observation.js'
import type { StoredHours } from './stored-hours.js'
import { append } from './stored-rows.js'

export interface ImportRunDeps {
  /** The id of the import in the records; 0 for a trial. */
  id: number
  site: SiteSettings
  siteOf: SiteByHostname
  options: ImportOptions
  /** In base64; from it come the keys of lines, and salts where the live ones are destroyed. */
  secret: string
  hours: StoredHours
  store: Pick<EventStore, 'dialect' | 'lookUp' | 'append'>
  /** As `SaltStore.held`. */
  held: Parameters<typeof createImportSalts>[0]['held']
  catalog: Catalog
  places: Pick<PlaceLookup, 'locate'>
  referrerSpam: ReferrerSpamSettings
  verifier: Verifier
  policyJudge: PolicyJudge
  /** The memory of sessions that happen now. */
  sessions: Pick<SessionMemory, 'settle'>
  runExclusive: Writer['runExclusive']
  /** Notes sessions that this import is about to make part of others, by their ids. */
  saveSessions(ids: readonly bigint[]): Promise<void>
  now: () => number
  log: Log
}

export type ImportRun = ReturnType<typeof createImportRun>

/**
 * Creates what turns the lines of one import into rows, as if their requests had been recorded as they happened. Batches come
 * one after the other, roughly in the order of time. After an error a new run goes on: nothing of it is stored twice.
 */
export function createImportRun(deps: ImportRunDeps) {
  const { id, site, options, secret, hours } = deps
  const counts: ImportCounts = { human: 0, agent: 0, known: 0, other_hosts: 0, dropped: 0, own_salts: false }
  const span = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
  const keyOf = createLineKeys(secret)
  const salts = createImportSalts({ ...deps, secret: Buffer.from(secret, 'base64'), isOccupied: hours.isOccupied })
  // Its clock is the time of the lines, so that it keeps sessions for as long as one that records.
  const sessions = new SessionMemory({ now: () => span.last, isOccupied: hours.isOccupied })
  const classifier = createImportClassifier(deps, { salts, sessions })
  const saltOf = (at: Date) => deps.held(site.visitor_salt, at.getTime())
  const findKnown = createKnownRows({ store: deps.store, site: site.id, hours, saltOf })
  /** Whether a recorded row of a person was recognised, but has another visitor than the import gives it. */
  let differs = false
  /** Whether a person's row is stored under a salt of the import's own. */
  let usesOwn = false
  let settled: readonly SettledSession[] = []
  let isStopped = false
  const resolveLate = createLateHitResolver({
    store: deps.store,
    sessions: {
      settle(changed) {
        sessions.settle(changed)
        settled = changed
      },
      noteReport() {},
    },
    // A report of a page stays where it was placed: the undoing of an import would not find it.
    findReports: async () => [],
  })

  const store = async ({ rows, unplacedRows }: ReturnType<Classifier['classify']>): Promise<void> => {
    if (isStopped) throw new ApiError('conflict', `Import ${id} was stopped.`)
    const { known, hasOtherIds } = await findKnown(rows)
    counts.known += known.size
    differs ||= hasOtherIds
    rows.events = rows.events.filter((row) => !known.has(row))
    usesOwn ||= rows.events.some(({ timestamp }) => saltOf(timestamp) === undefined)
    rows.agent_events = rows.agent_events.filter((row) => !known.has(row))
    const unplaced = unplacedRows.filter(({ row }) => !known.has(row))
    if (!options.dry_run && rows.events.length + rows.agent_events.length > 0) {
      const { moves }: Pick<Resolution, 'moves'> =
        unplaced.length === 0
          ? { moves: [] }
          : await resolveLate(rows.events, { unplacedRows: unplaced, unmatchedViews: [], additions: [] })
      if (moves.length > 0) await deps.saveSessions(moves.flatMap(({ session_ids }) => session_ids))
      await append(deps, rows, moves)
      // After the commit: sessions that are not stored must not be those of live rows.
      deps.sessions.settle(settled)
      settled = []
    }
    sessions.settle([])
    counts.human += rows.events.length
    counts.agent += rows.agent_events.length
    counts.own_salts = counts.human > 0 && (usesOwn || differs)
  }

  return {
    counts: (): ImportCounts => ({ ...counts }),
    /** From now on nothing is stored, also of a batch that waits for verification. */
    stop(): void {
      isStopped = true
    },
    /** Stores what the lines become, in one commit. Throws `ApiError`; nothing is stored then. */
    async add(batch: LineBatch): Promise<void> {
      for (const time of batch.time) note(span, time)
      const observations = packLines(batch, keyOf, deps)
      counts.known += batch.time.length - observations.length
      const classified = classifier.classify(observations)
      const { unknown_host = 0, ...drops } = classified.drops
      counts.other_hosts += unknown_host
      counts.dropped += Object.values(drops).reduce((sum, count) => sum + count, 0)
      await Promise.all(
        classified.pendingVerifications.map(async ({ row, verdict }) => Object.assign(row, await verdict)),
      )
      await deps.runExclusive(() => store(classified))
    },
    /** The times of the first and last line so far, in milliseconds; infinite without any. */
    span: (): Readonly<typeof span> => span,
  }
}

const createImportClassifier = (deps: ImportRunDeps, memory: Pick<ClassifierDeps, 'salts' | 'sessions'>): Classifier =>
  createClassifier({
    ...memory,
    catalog: deps.catalog,
    places: { locate: memoizePlaces(deps.places) },
    referrerSpam: deps.referrerSpam,
    siteOf: (hostname) => (deps.siteOf(hostname)?.id === deps.site.id ? deps.site : undefined),
    verifier: deps.options.verify_now ? verifyNow(deps.verifier, deps.now) : VERIFIES_NOTHING,
    policyJudge: judgeByFile(deps.policyJudge, deps.options.robots),
    log: (message, error) => deps.log('error', `import: ${message}`, error),
  })

/** Returns the observations of a batch, without lines that repeat one before them. */
function packLines(
  batch: LineBatch,
  keyOf: ReturnType<typeof createLineKeys>,
  { id, options }: ImportRunDeps,
): PackedObservation[] {
  return [...batch.time].flatMap((time, n) => {
    const { key, isRepeated } = keyOf(lineAt(batch, n))
    if (isRepeated) return []
    // Read when it is classified: all of a batch together would be copied by one garbage collection after another.
    const read = () => toObservation(lineAt(batch, n), { host: options.host, import: id, key })
    return [{ timestamp: Math.trunc(time), read }]
  })
}

/** Looks each IPv4 address up once, as long as it is among the latest: a log repeats them. */
function memoizePlaces({ locate }: Pick<PlaceLookup, 'locate'>): PlaceLookup['locate'] {
  const places = createRecentCache<number, Place>(MAX_CACHED_PLACES)
  return (address) => {
    if (address?.kind() !== 'ipv4') return locate(address)
    const [key = 0] = wordsOf(address)
    let place = places.get(key)
    if (place === undefined) {
      place = locate(address)
      places.set(key, place)
    }
    return place
  }
}
const MAX_CACHED_PLACES = 32_768

function note(span: { first: number; last: number }, at: number): void {
  if (at < span.first) span.first = at
  if (at > span.last) span.last = at
}
