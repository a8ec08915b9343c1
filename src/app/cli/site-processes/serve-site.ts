import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { createRateLimit } from '../../../api/rate-limit.js'
import { createTrackEndpoints } from '../../../api/track/endpoints.js'
import { createNodeTrackHandler } from '../../../api/track/node-handler.js'
import type { Log } from '../../../base/log.js'
import type { PackedBatch } from '../../../capture/packed-batch.js'
import { createRecorder } from '../../../capture/recorder.js'
import { createSiteLookup } from '../../../capture/site.js'
import { trackTarget } from '../../../site/proxy/node-handler.js'
import type { DropReason, IngestEndpoint } from '../../../storage/drops.js'
import type { Config } from '../../config.js'
import { createPublicListener, loadCertificate, type PublicListener, parseTrustedProxies } from '../public-listener.js'
import type { FromSiteProcess, SiteProcessCounts, SiteProcessOptions, ToSiteProcess } from './protocol.js'
import { createLinkedRules } from './rules-link.js'
import { createServiceRelay } from './service-relay.js'

/** Milliseconds between reports of counters that changed. */
const COUNTS_INTERVAL_MS = 1_000

const ErrorWithCode = z.object({ code: z.string() })

interface Link {
  log: Log
  /** Sends a message to the first process; `sent` is called when it has left this one. */
  post(message: FromSiteProcess, sent?: () => void): void
  /** Lets the process end. */
  end(): void
}

/**
 * Serves the site in a process that has no store: it forwards requests and accepts hits of browsers itself, sends rows to
 * the first process, and relays every other request of the service to it. Returns the receiver of its messages.
 */
export function serveSite(options: SiteProcessOptions, { log, post, end }: Link): (message: ToSiteProcess) => void {
  const { config } = options
  const now = () => Date.now()
  let sites = options.sites
  let siteOf = createSiteLookup(sites)
  const outbox = createOutbox(post)
  // A site that needs several processes is busy: a batch is full before it has waited for long.
  const recorder = createRecorder({ send: outbox.send, now, log, isFollowed: () => true })
  const drops = createDropCounts()
  const hit = createHitHandler({ sites: async () => sites, record: recorder.record, drop: drops.add, now }, log)
  const rules = createLinkedRules(options, post)
  const { relay, close: closeRelay } = createServiceRelay(options.socket)
  const listener = openListener()
  const counts = async (): Promise<SiteProcessCounts> => ({
    proxy: (await listener).stats(),
    recorder: recorder.stats(),
    rules: rules.live.counts(),
    drops: drops.take(),
  })

  async function openListener() {
    const trust = parseTrustedProxies(config)
    return createPublicListener(config, {
      origin: new URL(config.origin ?? ''),
      trust,
      certificate: await loadCertificate(config),
      instance: {
        record: (observation) => recorder.record(observation),
        siteOf: (hostname) => siteOf(hostname)?.id,
        policySeen: (hostname, path, at) => post({ type: 'policy_seen', hostname, path, at }),
        pageSampled: (page) => post({ type: 'page_sampled', page }),
      },
      serve(req, res, client) {
        const hop = { proto: client.scheme, trusted: false }
        // Until the store is open no site is known, and the first process lets the request wait.
        if (sites.length > 0 && hit(req, res, trackTarget(req, client.ip, config.base_path, { hop }))) return
        relay(req, res, client)
      },
      rules: rules.live,
      log,
      openFiles: options.openFiles,
    })
  }

  void listenAndReport(listener, config, { post, end })
  const report = startReports(counts, post)

  const stop = async (grace_ms: number) => {
    clearInterval(report)
    await (await listener).close(grace_ms)
    rules.stop()
    closeRelay()
    // The first process keeps the last batch until it is stored; the answer need not be waited for.
    void recorder.close()
    post({ type: 'counts', counts: await counts() }, end)
  }

  return (message) => {
    rules.receive(message)
    switch (message.type) {
      case 'sites':
        sites = message.sites
        siteOf = createSiteLookup(sites)
        return
      case 'settled':
        return outbox.settle(message.sequence, message.failure)
      case 'count':
        return void (message.flush ? recorder.flush() : Promise.resolve())
          .then(counts)
          .then((current) => post({ type: 'counts', id: message.id, counts: current }))
      case 'reload':
        return void listener.then((site) => site.reload())
      case 'stop':
        return void stop(message.grace_ms)
    }
  }
}

/** Returns the handler of hits of browsers. */
const createHitHandler = (
  deps: Pick<Parameters<typeof createTrackEndpoints>[0], 'sites' | 'record' | 'drop' | 'now'>,
  log: Log,
) =>
  createNodeTrackHandler(
    createTrackEndpoints({
      ...deps,
      limit: createRateLimit({ now: deps.now, random: randomBytes }),
      log: (error) => log.error({ err: error }, 'a hit could not be accepted'),
    }),
  )

/** Listens, and tells the first process the port or the reason of a failure. */
async function listenAndReport(
  listener: Promise<PublicListener>,
  { host, port }: Config,
  { post, end }: Pick<Link, 'post' | 'end'>,
): Promise<void> {
  try {
    post({ type: 'listening', port: await (await listener).listen(host, port) })
  } catch (error) {
    const code = ErrorWithCode.safeParse(error).data?.code ?? ''
    // Without the port the process is of no use: the first process starts another, unless it is starting itself.
    post({ type: 'failed', code, message: error instanceof Error ? error.message : String(error) }, end)
  }
}

/** Reports counters that changed. */
function startReports(counts: () => Promise<SiteProcessCounts>, post: Link['post']): NodeJS.Timeout {
  let reported = ''
  return setInterval(async () => {
    const current = await counts()
    const text = JSON.stringify([current.proxy, current.recorder, current.rules])
    if (text !== reported || current.drops.length > 0) post({ type: 'counts', counts: current })
    reported = text
  }, COUNTS_INTERVAL_MS).unref()
}

/** Numbers the batches that the first process has not settled yet. */
function createOutbox(post: Link['post']) {
  const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>()
  let last = 0
  return {
    send: (batch: PackedBatch): Promise<void> =>
      new Promise((resolve, reject) => {
        last += 1
        waiting.set(last, { resolve, reject })
        post({ type: 'batch', sequence: last, batch })
      }),
    settle(sequence: number, failure: string | undefined): void {
      const batch = waiting.get(sequence)
      waiting.delete(sequence)
      if (failure === undefined) batch?.resolve()
      else batch?.reject(new Error(failure))
    },
  }
}

/** Counts dropped hits by site, endpoint and reason until they are taken. */
function createDropCounts() {
  let counted = new Map<string, SiteProcessCounts['drops'][number]>()
  return {
    add(site: number | undefined, door: IngestEndpoint, reason: DropReason, count = 1): void {
      const key = `${site} ${door} ${reason}`
      counted.set(key, { site, door, reason, count: (counted.get(key)?.count ?? 0) + count })
    },
    take(): SiteProcessCounts['drops'] {
      const taken = [...counted.values()]
      counted = new Map()
      return taken
    },
  }
}
