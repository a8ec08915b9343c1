import { fileURLToPath } from 'node:url'
import type { PdfRenderer } from '../../analytics/export/pdf.js'
import { alertRoutes, reportRoutes } from '../../api/alerts.js'
import { annotationRoutes } from '../../api/annotations.js'
import { createApp } from '../../api/app.js'
import { batchRoute } from '../../api/batch.js'
import { createDashboard } from '../../api/dashboard-files.js'
import { createDocs } from '../../api/docs-files.js'
import { flagRoutes } from '../../api/flags.js'
import { historyRoutes } from '../../api/histories.js'
import { importControlRoutes, importRoutes } from '../../api/imports.js'
import { createMetrics } from '../../api/metrics.js'
import { robotsTextRoutes } from '../../api/robots-texts.js'
import { serviceRoutes } from '../../api/service-routes.js'
import { badgeRoute } from '../../api/share/badge.js'
import { siteRecordRoutes } from '../../api/site-records.js'
import { dropRoutes, pingRoutes, visitorRoutes } from '../../api/sites.js'
import { passToWriter } from '../../api/to-writer.js'
import { createScriptHandler } from '../../api/tracker-script.js'
import { waitAtMost } from '../../base/wait-at-most.js'
import type { Recorder } from '../../capture/recorder.js'
import type { WorkerClient } from '../../worker-client/worker-client.js'
import type { Config } from '../config.js'
import { createAccountArea } from './accounts.js'
import { createRuleArea } from './active-rules.js'
import { startNotes } from './annotation-writers.js'
import { type BackupConfig, startBackups } from './backups.js'
import { type Core, createCore } from './core.js'
import { readDisk } from './data-files.js'
import { createImportJobs } from './import-jobs.js'
import { createIngest } from './ingest.js'
import type { Instance, InstanceDeps } from './instance.js'
import { createMail, type Mail } from './mail.js'
import { startNotifications } from './notify.js'
import { createReads } from './reads.js'
import { supplyVerdicts } from './rule-verdicts.js'
import { type CurrentRules, openCurrentRules } from './rules-on-disk.js'
import { createSizeReader, createVacuum } from './size-reader.js'
import { createStatusReader } from './status.js'
import { startTimers } from './timers.js'

/** The settings of the service over a store; each is optional. */
export type ServiceConfig = Partial<
  Pick<
    Config,
    | 'cors_origins'
    | 'public_url'
    | 'smtp'
    | 'mail_from'
    | 'disable_registration'
    | 'private_webhooks'
    | 'rules'
    | 'offline'
    | 'indexnow_url'
  >
>

/** The folder into which the build writes the dashboard. */
const DASHBOARD = new URL('../../../dashboard/', import.meta.url)
/** The documentation site, which the build writes beside it. */
const DOCS = new URL('../docs/', DASHBOARD)
/** Milliseconds that `close` waits for buffered rows; a full store accepts none, and the worker client has a timeout of its own. */
const DRAIN_TIMEOUT_MS = 5_000
/** Policy changes on their way to the worker. Beyond this bound the worker finds changes at its own interval. */
const MAX_POLICY_NOTES = 64
/** Pages on their way to the worker, of at most 512 KB. Beyond this bound a page is sampled later. */
const MAX_SAMPLED_PAGES = 4

/** Puts the areas of an instance together over a running worker client. */
export async function compose(
  workerClient: WorkerClient,
  config: { pdf: PdfRenderer; data: string; max_disk?: number | undefined } & BackupConfig & ServiceConfig,
  deps: InstanceDeps & {
    /** A recorder that was there before the worker client. */
    recorder?: Recorder
    /** The active rules, if they were opened before. */
    currentRules?: CurrentRules
    /** The origin is the application that opens this instance. */
    inApplication?: boolean
  },
): Promise<Instance> {
  const { log, now = () => new Date(), version = '0' } = deps
  const { disable_registration = false, private_webhooks = false, offline = false } = config
  const indexnow_url = offline ? undefined : config.indexnow_url
  const { currentRules = openCurrentRules(config, deps) } = deps
  const core = await createCore(workerClient, { ...deps, currentRules, now })
  const mail = createMail(config, deps, now)
  const accounts = await createAccountArea(core, mail, disable_registration)
  await core.refreshSites()
  await core.ruleKeeper.refresh()
  const rules = createRuleArea(core, currentRules, deps.rules && (deps.inApplication ? 'application' : 'proxy'))
  const ingest = createIngest(core, rules)
  const streams = new AbortController()
  const reads = createReads(core, config.pdf, streams.signal, version)
  const notify = startNotifications(core, reads, mail, { private_webhooks, version, indexnow_url })
  const { max_disk } = config
  const sizes = createSizeReader(workerClient, { max_disk, log, clock: () => performance.now() })
  const health = () => sizes.warn(core.health())
  const backups = startBackups(core, config)
  const status = createStatusReader(core, { ...deps, data: config.data, health, sizes, backups: backups.schedule })
  const disk = () => readDisk(config)
  const importJobs = await startImportJobs(core, config)
  const app = passToWriter(
    createServiceApp(
      { core, health, sizes, disk, backups, accounts, mail, ingest, reads, notify, status, importJobs, rules },
      config,
      deps,
    ),
    {
      ...workerClient,
      log: (reason) => log.warn({ reason }, 'requests cannot be passed on to the writer'),
    },
  )
  const notes = startNotes(core)
  const timers = startTimers(core)
  const stopVerdicts = deps.rules && supplyVerdicts(deps.rules, workerClient)
  const script = createScriptHandler()
  return {
    record: (observation) => core.recorder.record(observation),
    noteHostname: createHostnameNotes(core),
    hit: (req, res, to) => workerClient.isWriter() && ingest.hit(req, res, to),
    fetch: async (request, { ip }) => script(request) ?? app(request, { ip, operator: false }),
    control: (request) => app(request, { ip: '', operator: true }),
    ...createProxyNotes(workerClient),
    siteOf: (hostname) => core.siteOf(hostname)?.id,
    recordBatch: (batch) => workerClient.record(batch),
    countDrop: core.manage.drops.add,
    watchSites: core.watchSites,
    endStreams: () => streams.abort(),
    async close() {
      streams.abort()
      stopVerdicts?.()
      status.stop()
      sizes.stop()
      await Promise.all([timers.stop(), notes.stop(), backups.stop()])
      await Promise.all([notify.close(), mail.post.close()])
      mail.close()
      const stored = core.recorder.close()
      await waitAtMost(DRAIN_TIMEOUT_MS, stored)
      await timers.flush()
      const { fault: before = 0 } = core.recorder.stats().drops
      await workerClient.close()
      // The worker client has given up the rows that the store did not accept.
      await stored
      const { fault = 0 } = core.recorder.stats().drops
      if (fault > before) log.error({ rows: fault - before }, 'rows that waited for the store are lost')
    },
  }
}

/** Returns a function that counts the hostname of a request if no site takes it. */
const createHostnameNotes =
  ({ siteOf, manage }: Core) =>
  (hostname: string): void => {
    if (siteOf(hostname.toLowerCase()) === undefined) manage.refusedHostnames.add(undefined, hostname)
  }

async function startImportJobs(core: Core, config: { data: string }) {
  const { workerClient, now, log } = core
  const { imports, sites } = core.manage
  const orgOf = async (site: number) => (await sites.get(site))?.org
  const importJobs = createImportJobs({ ...config, workerClient, imports, orgOf, now, log })
  await core.whenWriting(importJobs.resume)
  return importJobs
}

interface Areas {
  core: Core
  health: Core['health']
  sizes: ReturnType<typeof createSizeReader>
  disk: () => ReturnType<typeof readDisk>
  backups: ReturnType<typeof startBackups>
  accounts: Awaited<ReturnType<typeof createAccountArea>>
  mail: Mail
  ingest: ReturnType<typeof createIngest>
  reads: ReturnType<typeof createReads>
  notify: ReturnType<typeof startNotifications>
  status: ReturnType<typeof createStatusReader>
  importJobs: ReturnType<typeof createImportJobs>
  rules: ReturnType<typeof createRuleArea>
}

const createInstanceMetrics = ({ core, health, sizes, disk, backups }: Areas, deps: InstanceDeps) =>
  createMetrics({
    health,
    isWriter: core.workerClient.isWriter,
    recorder: () => core.recorder.stats(),
    ingestDrops: core.manage.drops.totals,
    proxy: () => deps.proxy?.(),
    ...(deps.ruleCounts && { rules: deps.ruleCounts }),
    refresh: async () => deps.otherRecorders?.()?.refresh(),
    size: sizes.read,
    disk,
    ...(backups.schedule && { backups: backups.schedule }),
    ...(core.workerClient.isShared && { shared: () => core.workerClient.call('shared_status', undefined) }),
  })

/** The HTTP application over the areas: the route table in the order of the API document. */
function createServiceApp(areas: Areas, config: ServiceConfig, deps: InstanceDeps) {
  const { cors_origins = [] } = config
  const { core, health, sizes, backups, accounts, ingest, reads, notify, status, importJobs, rules } = areas
  const { workerClient, manage, removals, losses, log, now } = core
  const {
    sites,
    keys,
    ingestKeys,
    people,
    users,
    drops,
    refusedHostnames,
    managed,
    annotations,
    flags,
    alerts,
    reports,
    imports,
    histories,
    robotsTexts,
  } = manage
  const { version = '0' } = deps
  const routes = [
    ...reads.routes,
    ingest.edgeRoute,
    ingest.edgeRulesRoute,
    ...siteRecordRoutes({ ...managed, sites, store: workerClient.events }),
    ...annotationRoutes({ sites, annotations, users }),
    ...rules.routes,
    ...robotsTextRoutes({ sites, users, robotsTexts, rehearseText: reads.rehearseText }),
    ...accounts.shareRoutes,
    badgeRoute({ access: accounts.shareAccess, readsOf: reads.asShare, now }),
    // Before the routes of flags, where `evaluate` would be read as an id.
    ingest.evaluationRoute,
    ...flagRoutes({ sites, flags }),
    ...alertRoutes({ sites, alerts, notify, readDependencies: reads.asOperator, now }),
    ...reportRoutes({ sites, reports, notify }),
    ...ingest.trackRoutes,
    ...serviceRoutes({
      workerClient,
      health,
      losses,
      backups: backups.backups,
      keys,
      sites,
      ingestKeys,
      metrics: createInstanceMetrics(areas, deps),
      status: status.read,
      listener: () => deps.site?.(),
      vacuum: createVacuum(workerClient, sizes),
    }),
    ...importRoutes({ sites, imports, jobs: importJobs }),
    ...importControlRoutes({ jobs: importJobs, sites }),
    ...dropRoutes({ sites, drops, refusedHostnames }),
    ...pingRoutes({ sites, notify }),
    ...historyRoutes({ sites, histories }),
    ...accounts.routes,
    ...visitorRoutes({ sites, removals }),
    ...accounts.accountRoutes,
  ]
  return createApp({
    routes: [...routes, batchRoute(routes)],
    credentials: { keys, people, shares: accounts.shareAccess },
    version,
    now,
    cors_origins,
    dashboard: createDashboard(fileURLToPath(deps.dashboard ?? DASHBOARD), accounts.shareAccess.embedOrigins),
    docs: createDocs(fileURLToPath(DOCS)),
    mcp: loadMcpEndpoint(areas, config, version),
    log: (error) => log.error({ err: error }, 'a request failed'),
  })
}

/** Answers `/mcp`. Its code is loaded by the first request: most sites are never asked, and it takes 8 MB. */
function loadMcpEndpoint(
  { core, mail }: Areas,
  { public_url }: Pick<ServiceConfig, 'public_url'>,
  version: string,
): NonNullable<Parameters<typeof createApp>[0]['mcp']> {
  const { manage, siteOf, log } = core
  const publicHost = public_url === undefined ? undefined : new URL(public_url).hostname
  return async () => {
    const { createMcpEndpoint } = await import('../../api/mcp/route.js')
    const { createMcpServer } = await import('../../api/mcp/server.js')
    return createMcpEndpoint({
      ...{ credentials: { keys: manage.keys }, version, createServer: createMcpServer },
      dashboardOf: (request) => mail.linkTo(request, '/'),
      isOwnHost: (hostname) => hostname === publicHost || siteOf(hostname) !== undefined,
      log: (error) => log.error({ err: error }, 'a request of an MCP client failed'),
    })
  }
}

/** Tells the worker what the proxy saw besides exchanges. */
function createProxyNotes(workerClient: WorkerClient): Pick<Instance, 'policySeen' | 'pageSampled'> {
  const notePolicy = createWorkerNotes(workerClient, 'policy_seen', MAX_POLICY_NOTES)
  const noteSample = createWorkerNotes(workerClient, 'page_sampled', MAX_SAMPLED_PAGES)
  return {
    policySeen: (hostname, path, at) => notePolicy({ hostname, path, at }),
    // A process that only reads could not store them.
    pageSampled: (page) => void (workerClient.isWriter() && noteSample(page)),
  }
}

/**
 * Returns a function that tells the worker of what the proxy saw, at most `limit` notes at a time: a client that sends a
 * new `Host` with each request must not queue work before a busy worker.
 */
function createWorkerNotes(workerClient: WorkerClient, name: string, limit: number) {
  let pending = 0
  return (note: object): void => {
    if (pending >= limit) return
    pending += 1
    const done = () => {
      pending -= 1
    }
    // A restarting worker does not hear it: it asks the origin itself, or gets the next sample.
    workerClient.call(name, note).then(done, done)
  }
}
