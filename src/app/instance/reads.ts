import { z } from 'zod'
import { listAgents, loadCatalog } from '../../agents/catalog.js'
import { RangesStatus } from '../../agents/ranges/status.js'
import type { PdfRenderer } from '../../analytics/export/pdf.js'
import { createSectionFinder } from '../../analytics/query/found-sections.js'
import { createRecordingLookup } from '../../analytics/query/recording.js'
import { evidenceRoutes } from '../../api/evidence/routes.js'
import { createPdfDrawer, exportRoutes } from '../../api/export.js'
import { createBlockedPaths, createReadDependencies, type RouteReadDependencies, readRoutes } from '../../api/reads.js'
import { realtimeStreamRoute } from '../../api/realtime-stream.js'
import { type RulesOfSite, rehearsalRoute } from '../../api/rehearsal/route.js'
import { createRehearsalRunner } from '../../api/rehearsal/run.js'
import { createTextRehearser, policyRehearsalRoutes } from '../../api/rehearsal/text.js'
import { sectionRoutes } from '../../api/sections.js'
import type { ShareGrant } from '../../api/share/access.js'
import { readRuleSources } from '../../manage/rule-sources.js'
import { buildRuleSet } from '../../rules/build-rule-set.js'
import { canonicalPath } from '../../rules/redirect.js'
import type { Core } from './core.js'

export type Reads = ReturnType<typeof createReads>

/** Folders of evidence that are collected at once: each reads the fetches of one agent. */
const MAX_FOLDERS = 32
/** No proxy in common use closes a connection that was silent for less. */
const HEARTBEAT_MS = 15_000

/**
 * The routes of reads, exports and the stream of rows, and the same reads with the operator's rights, for alerts and
 * reports. Streams of rows end when `ended` aborts.
 */
export function createReads(
  { workerClient, manage, recorder, spans, log, now }: Core,
  pdf: PdfRenderer,
  ended: AbortSignal,
  version = '0',
) {
  const clock = () => performance.now()
  const read = {
    store: noteReads(workerClient.events, recorder.noteRead),
    now,
    catalog: listAgents(loadCatalog()),
    sites: manage.sites,
    ...manage.managed,
    blockedUrls: createBlockedPaths(workerClient),
    policy: (site: number, question: object) => workerClient.call('policy', { site, ...question }),
    policyVersions: (site: number, question: object) => workerClient.call('policy_versions', { site, ...question }),
    async redirects(site: number) {
      const byPath = new Map((await manage.redirects.list(site)).map((redirect) => [redirect.name, redirect]))
      return (pathname: string) => byPath.get(canonicalPath(pathname))
    },
    recording: createRecordingLookup({
      query: (statement) => workerClient.events.query(statement),
      gaps: spans.gaps,
      began: spans.began,
      clock,
    }),
    history: manage.histories.ofSite,
    countedPages: manage.histories.pagesOfSite,
    foundSections: createSectionFinder(workerClient.events),
    imports: manage.imports.ofSite,
    agentRanges: async () => z.array(RangesStatus).parse(await workerClient.call('holdings')),
  } satisfies RouteReadDependencies
  /** The reads with the rights of the operator, who may ask about every site. */
  const asOperator = (signal: AbortSignal) =>
    createReadDependencies(read, {
      principal: { kind: 'operator' },
      access: 'stats:read',
      request: new Request('http://localhost/', { signal }),
    })
  /** The reads with the rights of a share link, for its badge. */
  const asShare = (share: ShareGrant) =>
    createReadDependencies(read, {
      principal: { kind: 'share', share },
      access: 'stats:read',
      request: new Request('http://localhost/'),
    })
  const logRehearsal = (error: unknown) => log.error({ err: error }, 'a rehearsal was cut off')
  const runRehearsal = createRehearsalRunner(read)
  const rehearseText = createTextRehearser(runRehearsal)
  return {
    asOperator,
    rehearseText,
    asShare,
    /** Draws a report as PDF, for mails. */
    draw: createPdfDrawer({ ...read, pdf }, asOperator),
    routes: [
      ...readRoutes(read),
      ...sectionRoutes(read),
      ...policyRehearsalRoutes({ ...read, log: logRehearsal }, rehearseText),
      rehearsalRoute(runRehearsal, createRulesOfSite(manage, workerClient), logRehearsal),
      ...evidenceRoutes({ ...folderDeps(read, manage), pdf, version }),
      realtimeStreamRoute({ ...read, workerClient, ended, heartbeat_ms: HEARTBEAT_MS, clock }),
      ...exportRoutes({ ...read, pdf, log: (error) => log.error({ err: error }, 'an export was cut off') }),
    ],
  }
}

/** Returns the store, with a call of `note` before each query. */
const noteReads = (store: Core['workerClient']['events'], note: () => void): Core['workerClient']['events'] => ({
  ...store,
  query(...query) {
    note()
    return store.query(...query)
  },
})

/** Returns a function that lists the rules of a site, and the sitemaps that none of them refuses, or of those to try in their place. */
const createRulesOfSite =
  (manage: Core['manage'], { records }: Pick<Core['workerClient'], 'records'>): RulesOfSite =>
  async (site, tried) => {
    const catalog = loadCatalog()
    const stored = await manage.rules.list(site)
    const sources = await readRuleSources(records, true)
    const asked = (tried ?? stored).map((rule) => ({ ...rule, state: 'on' as const, site }))
    const { sites } = buildRuleSet({
      ...sources,
      ...{ catalog, sites: await manage.sites.list(), rules: asked, pauses: new Map(), redirects: [] },
    })
    return { stored, sitemaps: sites.find((one) => one.site === site)?.sitemaps ?? [] }
  }

/** The parts that collect and sign folders of evidence. */
const folderDeps = (
  read: RouteReadDependencies & { store: Core['workerClient']['events'] },
  manage: Core['manage'],
) => ({
  run: createRehearsalRunner(read, { most: MAX_FOLDERS, name: 'folders' }),
  sites: manage.sites,
  keys: manage.evidenceKeys,
  rulesOf: manage.rules.list,
})
