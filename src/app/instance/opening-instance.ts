import { randomBytes } from 'node:crypto'
import { errorResponse } from '../../api/error-response.js'
import { createScriptHandler } from '../../api/tracker-script.js'
import { createDeferred } from '../../base/deferred.js'
import { ApiError, UnusableSetting } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import { createRecorder } from '../../capture/recorder.js'
import { sleep } from '../../site/shipping/back-off.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'
import type { Instance, InstanceDeps } from './instance.js'
import { type InstanceConfig, openInstance } from './open-instance.js'
import { openCurrentRules } from './rules-on-disk.js'
import { createWaitingRows } from './waiting-rows.js'

/** Requests of the service wait this long for a store that is being opened. */
const OPENING_TIMEOUT_MS = 10_000
const HEALTH_PATH = /^\/(?:healthz|readyz)$/
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 10_000

interface OpeningDeps extends InstanceDeps {
  /** Runs when the store is open, before requests of the service are served. A rejection is logged, or ends `open` with `isTriedOnce`. */
  onOpen?(instance: Instance): Promise<void>
  /** Opens the store; tests give another. */
  openStore?: typeof openInstance
  /** A start that fails is not tried again: `open` rejects. */
  isTriedOnce?: boolean
}

async function completeStart(opened: Instance, { onOpen, log, isTriedOnce }: OpeningDeps): Promise<void> {
  try {
    await onOpen?.(opened)
  } catch (error) {
    if (!isTriedOnce) return log.error({ err: error }, 'the start is not complete')
    await opened.close()
    throw error
  }
}

/**
 * Returns an instance whose store is opened by `open`, while the site is served already: observations wait in the
 * recorder and, after a second, on disk; and requests of the service wait until the store is open. A store that cannot be
 * opened is logged and tried again for as long as the process runs, but not where a setting is at fault. While a file is
 * migrated, requests do not wait.
 */
export function createOpeningInstance(config: InstanceConfig, deps: OpeningDeps): Instance & { open(): Promise<void> } {
  const { log, now = () => new Date(), openStore = openInstance, isTriedOnce = false } = deps
  const ending = new AbortController()
  let instance: Instance | undefined
  let failure: string | undefined
  let stage: string | undefined
  let opening: Promise<void> = Promise.resolve()
  const siteListeners: Parameters<Instance['watchSites']>[0][] = []
  const rows = createRowIntake(config.data, () => now().getTime(), log)
  const { recorder, store } = rows
  const currentRules = openCurrentRules(config, deps)
  const openOnce = async () => {
    let started: WorkerClient | undefined
    const opened = await openStore(config, {
      ...deps,
      recorder,
      currentRules,
      onStage: (begun) => {
        stage = begun
      },
      onWorkerClient: (running) => {
        started = running
      },
    })
    if (started) rows.passTo(started)
    await completeStart(opened, deps)
    instance = opened
    for (const listener of siteListeners) opened.watchSites(listener)
    if (failure !== undefined) log.info({}, 'the store is open: rows that waited are stored')
  }
  const openRepeatedly = async () => {
    for (let delay = FIRST_RETRY_MS; !ending.signal.aborted && !instance; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
      try {
        await openOnce()
      } catch (error) {
        if (isTriedOnce || error instanceof UnusableSetting) throw error
        failure = logNewFailure(error, failure, log)
        await sleep(delay, ending.signal)
      }
    }
  }
  const script = createScriptHandler()
  const answer = async (request: Request, pass: (opened: Instance) => Promise<Response>): Promise<Response> => {
    if (instance) return pass(instance)
    const mayOpenSoon = failure === undefined && stage === undefined
    if (mayOpenSoon && !HEALTH_PATH.test(new URL(request.url).pathname)) await waitAtMost(OPENING_TIMEOUT_MS, opening)
    return instance ? pass(instance) : respondMeanwhile(request, stage, failure !== undefined)
  }

  return {
    /** Resolves when the store is open or was closed before; rejects where it is not tried again. */
    open() {
      opening = openRepeatedly()
      return opening
    },
    record: (observation) => recorder.record(observation),
    hit: (req, res, to) => instance?.hit(req, res, to) ?? false,
    fetch: async (request, peer) => script(request) ?? answer(request, (opened) => opened.fetch(request, peer)),
    control: (request) => answer(request, (opened) => opened.control(request)),
    policySeen: (hostname, path, at) => instance?.policySeen(hostname, path, at),
    pageSampled: (page) => instance?.pageSampled(page),
    siteOf: (hostname) => instance?.siteOf(hostname),
    noteHostname: (hostname) => instance?.noteHostname(hostname),
    recordBatch: store,
    countDrop: (site, door, reason, count) => instance?.countDrop(site, door, reason, count),
    watchSites(listener) {
      if (instance) return instance.watchSites(listener)
      siteListeners.push(listener)
      listener([])
    },
    endStreams: () => instance?.endStreams(),
    async close() {
      ending.abort()
      await opening.catch(() => {})
      if (instance) return instance.close()
      await rows.abandon()
    },
  }
}

/** Returns the reason why the store could not be opened, and logs it if it is another one than before. */
function logNewFailure(error: unknown, before: string | undefined, log: Log): string {
  const reason = error instanceof Error ? error.message : String(error)
  if (reason !== before)
    log.error({ reason }, 'the store cannot be opened and is tried again; the site is served, and rows wait')
  return reason
}

/** Takes rows, which wait in the recorder and on disk until they are passed to the store's client. */
function createRowIntake(data: string, now: () => number, log: Log) {
  let workerClient: WorkerClient | undefined
  const opened = createDeferred<WorkerClient>()
  opened.promise.catch(() => {})
  const waiting = createWaitingRows({ data, sender: randomBytes(8).toString('hex'), now, log })
  const store: Instance['recordBatch'] = (batch) => workerClient?.record(batch) ?? waiting.store(batch, opened.promise)
  const recorder = createRecorder({ send: store, now, log, isFollowed: () => workerClient?.isTailed() ?? false })
  return {
    store,
    recorder,
    passTo(running: WorkerClient): void {
      workerClient = running
      opened.resolve(running)
      running.onRestart(() => waiting.recover(running))
      void waiting.recover(running)
    },
    /** Closes the recorder of a store that was never opened. */
    async abandon(): Promise<void> {
      opened.reject(new ApiError('database_error', 'The store was never opened.'))
      await recorder.close()
      const { fault = 0 } = recorder.stats().drops
      if (fault > 0) log.error({ rows: fault }, 'rows that waited for the store are lost')
    },
  }
}

/** Responds while the store is not open: to health checks, and to all else with 503; a page loads itself again. */
async function respondMeanwhile(request: Request, stage: string | undefined, hasFailed: boolean): Promise<Response> {
  const [path] = HEALTH_PATH.exec(new URL(request.url).pathname) ?? []
  if (path === '/healthz') return new Response('ok\n')
  if (path === '/readyz') {
    const reason = hasFailed ? STORE_CLOSED : stage
    const data = { state: hasFailed ? 'degraded' : 'starting', ...(reason !== undefined && { reason }) }
    return Response.json({ data }, { status: 503 })
  }
  if (hasFailed) return errorResponse('database_error', STORE_CLOSED)
  if (request.headers.get('accept')?.includes('text/html'))
    return (await import('../../api/account/opening-page.js')).openingPage(request, stage)
  const why = stage === undefined ? '' : `: ${stage}`
  return errorResponse('database_error', `The store is being opened${why}. Try again in a few seconds.`)
}

/** The reason is in the log alone: it names files and processes, and `/readyz` may be exposed. */
const STORE_CLOSED = 'The store is not open; the log says why.'
