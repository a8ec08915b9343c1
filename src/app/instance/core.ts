import { randomBytes } from 'node:crypto'
import { createRateLimit } from '../../api/rate-limit.js'
import { createRecorder, type Recorder } from '../../capture/recorder.js'
import { createSiteLookup, type SiteSettings } from '../../capture/site.js'
import { createManage, type Manage } from '../../manage/manage.js'
import { createRecordingSpans } from '../../manage/recording-spans.js'
import { createRemovals, RemovalProgress, type Removals } from '../../manage/removals.js'
import { openStoreLosses, type StoreLosses } from '../../manage/store-losses.js'
import { DROP_REASONS } from '../../storage/drops.js'
import type { WorkerClientStatus } from '../../worker-client/status.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'
import type { InstanceDeps } from './instance.js'
import { createRuleKeeper, type RuleKeeper } from './rule-keeper.js'
import type { CurrentRules } from './rules-on-disk.js'

export type Core = Awaited<ReturnType<typeof createCore>>

interface CoreDeps extends Pick<InstanceDeps, 'log' | 'otherRecorders'> {
  now(): Date
  /** A recorder that was there before the worker client. */
  recorder?: Recorder
  currentRules: CurrentRules
}

/** The parts that every area of an instance uses: the recorder, the records, the sites by hostname and the removals. */
export async function createCore(
  workerClient: WorkerClient,
  { log, now, otherRecorders, recorder: given, currentRules }: CoreDeps,
) {
  const { records } = workerClient
  const clock = () => now().getTime()
  const own =
    given ??
    createRecorder({ send: (batch) => workerClient.record(batch), now: clock, log, isFollowed: workerClient.isTailed })
  const recorder = joinRecorders(own, () => otherRecorders?.())
  const spans = createSpans(workerClient, recorder, now)
  const current = createCurrentSites()
  const refreshSites = async () => current.set(await manage.sites.list())
  const manage = createManage({
    records,
    isWriter: workerClient.isWriter,
    now,
    random: randomBytes,
    async onSitesChanged() {
      // A deleted site's rows are removed from now on.
      removals.wake()
      // The change is written even where it cannot be read back; the timer reads it again.
      await refreshSites().catch(() => {})
      await ruleKeeper.refresh()
    },
    onRulesChanged: () => ruleKeeper.refresh(),
  })
  const ruleKeeper = createRuleKeeper({ records, manage, currentRules, log })
  const { sites, drops } = manage
  const removals = createRemovals({
    records,
    sites,
    now,
    isWriter: workerClient.isWriter,
    mayRemoveSites: () => losses.list().length === 0,
    remove: async (leaving) => RemovalProgress.parse(await workerClient.call('remove', leaving)),
    forget: async (key) => void (await workerClient.call('forget_removals', key)),
    onSiteDeleted: drops.forgetSite,
    settle: () => recorder.flush(),
    after,
    log: (message, error) => log.warn({ err: error }, message),
  })
  const losses = await openStoreLosses({
    records,
    events: workerClient.events,
    sites,
    assignStep: (argument) => workerClient.call('assign', argument),
    wakeRemovals: () => removals.wake(),
  })
  followWorker(workerClient, { manage, losses, removals, ruleKeeper })
  return {
    workerClient,
    recorder,
    spans,
    manage,
    removals,
    losses,
    log,
    now,
    clock,
    after,
    refreshSites,
    ruleKeeper,
    whenWriting: createWhenWriting(workerClient, log),
    /** Returns the site that a hostname belongs to. */
    siteOf: current.siteOf,
    /** Calls the listener with the sites, now and whenever they were read again. */
    watchSites: current.watch,
    /** Makes a rate limit: by default the number of hits that a site accepts from one address in a minute. */
    newLimit: (bounds: { per?: number; window?: number } = {}) =>
      createRateLimit({ now: clock, random: randomBytes, ...bounds }),
    health: () => healthOf(workerClient.status(), recorder, losses.list()),
  }
}

/** Keeps the parts up to date with what the worker reports. */
function followWorker(
  workerClient: WorkerClient,
  parts: { manage: Manage; losses: StoreLosses; removals: Removals; ruleKeeper: RuleKeeper },
): void {
  const { manage, losses, removals, ruleKeeper } = parts
  const { drops } = manage
  workerClient.onRestart(() => {
    void manage.invalidate()
    void losses.refresh().catch(() => {})
  })
  workerClient.onRecordsChange(() => {
    void manage.reload().catch(() => {})
    void losses.refresh().catch(() => {})
  })
  onRoleChange(workerClient, () => {
    if (workerClient.isWriter()) removals.takeOver()
    else drops.yield()
  })
  workerClient.onPolicyChange(ruleKeeper.policyChanged)
  workerClient.onDrop(({ site, door, reason, count }) => drops.add(site, door, reason, count))
}

/** Runs a function after some milliseconds; the returned function cancels it. */
const after = (ms: number, run: () => void) => {
  const timer = setTimeout(run, ms).unref()
  return () => clearTimeout(timer)
}

/** Calls the listener when this process has become the one that writes, or is it no longer. */
function onRoleChange(workerClient: Pick<WorkerClient, 'isWriter' | 'onRestart'>, listener: () => void): void {
  let wasWriter = workerClient.isWriter()
  workerClient.onRestart(() => {
    if (workerClient.isWriter() === wasWriter) return
    wasWriter = !wasWriter
    listener()
  })
}

/**
 * Returns a function that does `work` if this process writes, and again when it has become the one that does. A later failure
 * is logged.
 */
const createWhenWriting =
  (workerClient: WorkerClient, log: CoreDeps['log']) =>
  async (work: () => Promise<void>): Promise<void> => {
    const onError = (error: unknown) => log.warn({ err: error }, 'the start as the writer is not complete')
    workerClient.onRestart(() => {
      if (workerClient.isWriter()) work().catch(onError)
    })
    if (workerClient.isWriter()) await work()
  }

/** Returns the worker client's status; a recorder that switched itself off and an undecided loss make it degraded. */
function healthOf(
  status: WorkerClientStatus,
  recorder: Recorder,
  [loss]: readonly { message: string }[],
): WorkerClientStatus {
  if (status.state !== 'ready') return status
  const reason = !recorder.stats().on
    ? 'recording is off after repeated faults; it is retried automatically'
    : loss && `${loss.message} Rows are recorded; \`readership store status\` says what to decide.`
  return reason === undefined ? status : { ...status, state: 'degraded', reason }
}

/** Keeps the sites as they were read last. */
function createCurrentSites() {
  let sites: readonly SiteSettings[] = []
  let siteOf = createSiteLookup(sites)
  const listeners: ((sites: readonly SiteSettings[]) => void)[] = []
  return {
    set(read: readonly SiteSettings[]): void {
      sites = read
      siteOf = createSiteLookup(sites)
      for (const listener of listeners) listener(sites)
    },
    siteOf: (hostname: string) => siteOf(hostname),
    watch(listener: (sites: readonly SiteSettings[]) => void): void {
      listeners.push(listener)
      listener(sites)
    },
  }
}

/** Joins this process's recorder with those of the site's other processes, whose rows come as batches. */
const joinRecorders = (recorder: Recorder, others: NonNullable<InstanceDeps['otherRecorders']>): Recorder => ({
  ...recorder,
  stats() {
    const [mine, theirs] = [recorder.stats(), others()?.stats()]
    if (theirs === undefined) return mine
    const drops = { ...mine.drops }
    for (const reason of DROP_REASONS)
      if (theirs.drops[reason] !== undefined) drops[reason] = (drops[reason] ?? 0) + theirs.drops[reason]
    return { waiting: mine.waiting + theirs.waiting, drops, on: mine.on && theirs.on }
  },
  async flush() {
    await Promise.all([recorder.flush(), others()?.flush()])
  },
})

/** Keeps the times in which everything that this instance observed was stored. */
const createSpans = (workerClient: WorkerClient, recorder: Recorder, now: () => Date) =>
  createRecordingSpans({
    records: workerClient.records,
    isWriter: workerClient.isWriter,
    ready: () => workerClient.status().state === 'ready',
    settle: () => recorder.flush(),
    lost() {
      const { queue_full = 0, recorder_off = 0, fault = 0 } = recorder.stats().drops
      return { rows: queue_full + recorder_off + fault, files: workerClient.status().losses?.length ?? 0 }
    },
    now,
    clock: () => performance.now(),
  })
