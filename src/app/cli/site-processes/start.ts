import cluster from 'node:cluster'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../../base/log.js'
import { shortSocketPath } from '../../../base/private-socket.js'
import type { SiteSettings } from '../../../capture/site.js'
import type { DecisionCount } from '../../../site/rules/decision-counts.js'
import type { LiveRules } from '../../../site/rules/live-rules.js'
import { HEALTHY_UPTIME_MS, restartDelay } from '../../../worker-client/restart-delay.js'
import type { Config } from '../../config.js'
import type { Instance, OtherRecorders } from '../../instance/instance.js'
import type { PublicListener } from '../public-listener.js'
import { createPublicService } from '../public-service.js'
import type { Terminal } from '../terminal.js'
import type { SiteProcessCounts } from './protocol.js'
import { shareRules } from './rule-sharing.js'
import { openServiceSocket } from './service-relay.js'
import { createSiteProcess, NO_COUNTS, type SiteProcess } from './site-process.js'

/** The processes of the site as one listener, and their recorders as one. */
export interface SiteProcesses extends PublicListener {
  /** Decisions of rules for agents in all processes. */
  ruleCounts(): readonly DecisionCount[]
  recorders: OtherRecorders
}

/**
 * Creates the listener of `--workers N`: N processes that share the site's port. This process accepts connections and deals
 * them out in turns (node:cluster), has the instance, and starts a process again that ended.
 */
export function createSiteProcesses(
  config: Config,
  { instance, rules, log, terminal }: { instance: Instance; rules: LiveRules; log: Log; terminal: Terminal },
): SiteProcesses {
  const running = new Set<SiteProcess>()
  /** Counters of the processes that have ended, added up. */
  let past = NO_COUNTS
  const restarts = new Set<NodeJS.Timeout>()
  const socket = shortSocketPath(join(config.data, 'service.sock'))
  let service: Awaited<ReturnType<typeof openServiceSocket>> | undefined
  let isClosing = false
  setUpCluster()
  const sites = shareSites(instance, running)
  const sharing = shareRules(rules, running)

  const launch = (host: string, port: number): SiteProcess => {
    const { openFiles, columns, colour } = terminal
    const options = () => {
      const current = { openFiles, socket, sites: sites(), ...sharing.options() }
      return { config: { ...config, host, port }, terminal: { columns, colour }, ...current }
    }
    const one = createSiteProcess(cluster.fork(), options, instance, sharing)
    running.add(one)
    void one.ended.then(() => {
      running.delete(one)
      past = addCounters(past, one.counts())
    })
    return one
  }
  /** Starts another process whenever this one ends, later with each crash in a row. */
  const keepRunning = (one: SiteProcess, host: string, port: number, crashes = 0): void => {
    const startedAt = performance.now()
    void one.ended.then((reason) => {
      if (isClosing) return
      const inARow = performance.now() - startedAt > HEALTHY_UPTIME_MS ? 1 : crashes + 1
      log.error({ reason }, 'a process of the site ended and is started again')
      const timer = setTimeout(() => {
        restarts.delete(timer)
        keepRunning(launch(host, port), host, port, inARow)
      }, restartDelay(inARow))
      restarts.add(timer)
    })
  }
  const total = (): SiteProcessCounts => [...running].map((one) => one.counts()).reduce(addCounters, past)
  const refresh = async (flush: boolean): Promise<void> => {
    await Promise.all([...running].map((one) => one.refresh(flush)))
  }

  return {
    stats: () => total().proxy,
    ruleCounts: () => total().rules,
    recorders: {
      stats: () => total().recorder,
      flush: () => refresh(true),
      refresh: () => refresh(false),
    },
    async listen(host, port) {
      service = await openServiceSocket(socket, createPublicService(instance, config))
      const started = Array.from({ length: config.workers }, () => launch(host, port))
      const results = await Promise.all(started.map(({ listening }) => listening))
      const failure = results.find((result) => 'message' in result)
      if (failure !== undefined) throw Object.assign(new Error(failure.message), { code: failure.code })
      const [bound = port] = results.flatMap((result) => ('port' in result ? [result.port] : []))
      for (const one of started) keepRunning(one, host, bound)
      return bound
    },
    async reload() {
      for (const one of running) one.post({ type: 'reload' })
    },
    async close(graceMs) {
      isClosing = true
      for (const timer of restarts) clearTimeout(timer)
      await Promise.all([...running].map((one) => one.stop(graceMs)))
      await service?.close()
    },
  }
}

/** Sends the sites to the processes, now and whenever they change. Returns the function that gives them. */
function shareSites(instance: Pick<Instance, 'watchSites'>, running: ReadonlySet<SiteProcess>) {
  let sites: readonly SiteSettings[] = []
  instance.watchSites((current) => {
    sites = current
    for (const one of running) one.post({ type: 'sites', sites })
  })
  return () => sites
}

const setUpCluster = (): void =>
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('./entry.js', import.meta.url)),
    args: [],
    // Flags of this process (a debugger's port, a loader) are not passed on; `NODE_OPTIONS` is.
    execArgv: [],
    serialization: 'advanced',
  })

/** Adds the counters of two processes; drops are handed over as they come, and not added. */
const addCounters = (a: SiteProcessCounts, b: SiteProcessCounts): SiteProcessCounts => ({
  proxy: {
    statuses: addByName(a.proxy.statuses, b.proxy.statuses),
    failures: addByName(a.proxy.failures, b.proxy.failures),
    active: a.proxy.active + b.proxy.active,
    addresses: addByName(a.proxy.addresses ?? {}, b.proxy.addresses ?? {}),
    ...oneOf(b.proxy.ignored_peer ?? a.proxy.ignored_peer),
  },
  recorder: {
    waiting: a.recorder.waiting + b.recorder.waiting,
    drops: addByName(a.recorder.drops, b.recorder.drops),
    on: a.recorder.on && b.recorder.on,
  },
  rules: addRuleCounts(a.rules, b.rules),
  drops: [],
})

function addRuleCounts(a: readonly DecisionCount[], b: readonly DecisionCount[]): DecisionCount[] {
  const added = new Map<string, DecisionCount>()
  for (const one of [...a, ...b]) {
    const key = `${one.site} ${one.rule} ${one.action} ${one.state}`
    added.set(key, { ...one, count: one.count + (added.get(key)?.count ?? 0) })
  }
  return [...added.values()]
}

const oneOf = (ignored_peer: string | undefined) => (ignored_peer === undefined ? {} : { ignored_peer })

function addByName(
  a: Readonly<Partial<Record<string, number>>>,
  b: Readonly<Partial<Record<string, number>>>,
): Record<string, number> {
  const added: Record<string, number> = {}
  for (const counts of [a, b])
    for (const [name, count = 0] of Object.entries(counts)) added[name] = (added[name] ?? 0) + count
  return added
}
