import { constants, existsSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import { openListCache } from '../agents/ranges/list-cache.js'
import { createRanges } from '../agents/ranges/ranges.js'
import { listsOfAgent } from '../agents/ranges/sources.js'
import { RangesStatus } from '../agents/ranges/status.js'
import type { Config } from '../config.js'
import { formatBytes } from '../export/format.js'
import { openPlaceLookup } from '../ingest/place/place-lookup.js'
import { StoreLoss } from '../manage/store-losses.js'
import { OutboundError } from '../outbound/outbound.js'
import { exposedDashboardUrl, isRunning, withClient } from './client.js'
import { type CommandCall, defineCommand, JSON_FLAG, printJson } from './command.js'
import { checkServers } from './doctor-servers.js'
import { escapeText } from './escape.js'
import { type Finding, fail, MAX_CLOCK_SKEW_S, ok, warn } from './finding.js'
import { Failure, style } from './terminal.js'

const errorReason = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = z.object({ code: z.string() }).safeParse(cause)
  return code.success ? code.data.code : cause instanceof Error ? cause.message : String(cause)
}

/** An origin that takes longer counts as down. */
const ORIGIN_TIMEOUT_MS = 5_000
/** A year and a month; networks move to other countries and operators. */
const MAX_GEO_DATA_AGE_MS = 400 * 86_400_000

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check settings, data, origin and clock, and suggest fixes',
  arguments: [{ syntax: '[origin-url]', doc: 'site (default: from the settings, or from the running instance)' }],
  settings: ['origin', 'store', 'control', 'min_free_disk', 'geoip', 'ranges', 'offline'],
  flags: z.object({ json: JSON_FLAG }),
  async run(call) {
    const { config, flags, terminal } = call
    const running = await checkInstance(call)
    const findings = [
      ok('settings', 'valid'),
      ...(await checkDataDirectory(config)),
      ...(await checkServers(config, () => new Date())),
      ...running.findings,
      ...checkDashboard(running.dashboard ?? exposedDashboardUrl(config), running),
      ...(await checkOrigin(config.origin ?? running.origin)),
      // If rows are shipped, the collector does the geo lookup and the verification.
      ...(running.collector === undefined ? [checkGeoData(config), checkRanges(config, running.ranges)] : []),
    ]
    if (flags.json) printJson(terminal, findings)
    else
      for (const { check, state, says, mend } of findings) {
        const mark = { ok: ['green', '✓'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const
        const [colour, sign] = mark[state]
        terminal.out(
          `${style(terminal, colour, sign)} ${check}: ${escapeText(says)}\n${mend ? `    ${escapeText(mend)}\n` : ''}`,
        )
      }
    const failed = findings.filter((finding) => finding.state === 'fail').length
    if (failed > 0) throw new Failure(`${failed} of ${findings.length} checks failed.`)
  },
})

async function checkDataDirectory({ data, min_free_disk }: Config): Promise<Finding[]> {
  // The first start creates what is missing, so the nearest existing directory must be writable.
  let place = resolve(data)
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  try {
    await access(place, constants.W_OK | constants.X_OK)
  } catch (error) {
    return [
      fail(
        'data directory',
        `${data} is not writable (${errorReason(error)})`,
        `Make ${place} writable for this user, or choose another directory with --data.`,
      ),
    ]
  }
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  return [
    ok('data directory', place === resolve(data) ? `${data} is writable` : `the first start will create ${data}`),
    free < min_free_disk
      ? fail(
          'disk',
          `${formatBytes(free)} free; below ${formatBytes(min_free_disk)} rows are not stored`,
          `Free space on the disk of ${place}, or lower --min-free-disk.`,
        )
      : free < 2 * min_free_disk
        ? warn('disk', `${formatBytes(free)} free`, 'Free space soon.')
        : ok('disk', `${formatBytes(free)} free`),
  ]
}

const StatusResponse = z.object({
  data: z.object({
    origin: z.string().optional(),
    collector: z.string().optional(),
    dashboard: z.url().optional(),
    store: z.object({
      state: z.string(),
      reason: z.string().optional(),
      trouble: z.string().optional(),
      losses: z.array(z.string()).optional(),
    }),
  }),
})

const StoreResponse = z.object({ data: z.object({ losses: z.array(StoreLoss) }) })
const RangesResponse = z.object({ data: z.array(RangesStatus) })

/** Checks the running instance; also returns its origin, its ranges, its collector, and where others reach its dashboard. */
async function checkInstance({ config, terminal }: CommandCall<unknown>): Promise<{
  findings: Finding[]
  origin?: string | undefined
  ranges?: RangesStatus[] | undefined
  collector?: string | undefined
  dashboard?: string | undefined
}> {
  if (!(await isRunning(config.data)))
    return { findings: [ok('instance', `none runs on ${config.data}`), ...checkFiles(config)] }
  try {
    return await withClient({ config, terminal }, async (client) => {
      const { origin, store, collector, dashboard } = StatusResponse.parse(
        await client.call('GET', '/control/status'),
      ).data
      if (collector !== undefined) return { findings: [shippingFinding(store, collector)], origin, collector }
      const { data: ranges } = RangesResponse.parse(await client.call('GET', '/control/agents/holdings'))
      const { losses } = StoreResponse.parse(await client.call('GET', '/control/store')).data
      return {
        findings: losses.length > 0 ? losses.map(lossFinding) : [storeFinding(store)],
        origin,
        ranges,
        dashboard,
      }
    })
  } catch (error) {
    const says = `does not respond (${errorReason(error)})`
    return { findings: [fail('instance', says, 'Look at its log; restart it if it hangs.')] }
  }
}

/** Checks that both files are there: a start without one of them creates an empty one, and then a decision is needed. */
function checkFiles({ data, store, control }: Config): Finding[] {
  if (store !== undefined || control !== undefined) return []
  const files = ['control.duckdb', 'events.duckdb']
  const missing = files.filter((file) => !existsSync(join(data, file)))
  if (missing.length !== 1) return []
  return [fail('stored data', `${missing[0]} is missing from ${data}`, 'Put it back from a backup before you start.')]
}

const lossFinding = ({ message, backup }: z.infer<typeof StoreLoss>): Finding =>
  fail(
    'stored data',
    backup === undefined ? message : `${message} The file as it was: ${backup}.`,
    '`readership store status` says what you can decide: restore a backup, `store assign` or `store accept`.',
  )

function storeFinding(store: z.infer<typeof StatusResponse>['data']['store']): Finding {
  if (store.state === 'ready' && store.losses?.length)
    return warn(
      'instance',
      `runs, but lost data at its start: ${store.losses.join('; ')}`,
      'Keep the files named there until you know what they contained.',
    )
  if (store.state === 'ready') return ok('instance', 'runs, and stores rows')
  return fail(
    'instance',
    `runs, but its store is ${store.state}: ${store.reason ?? 'no reason given'}`,
    'The site stays up, but no rows are stored until this is fixed.',
  )
}

function shippingFinding(
  { state, reason, trouble }: z.infer<typeof StatusResponse>['data']['store'],
  collector: string,
): Finding {
  if (state !== 'ready')
    return fail('instance', `runs, but ${reason ?? `is ${state}`}`, 'Fix this: rows wait in memory only.')
  if (trouble === undefined) return ok('instance', `runs, and ships rows to ${collector}`)
  return warn(
    'instance',
    `runs, but ${collector} accepts no rows: ${trouble}`,
    'Rows wait on disk; the log of the instance says more.',
  )
}

/** Checks that a dashboard that other machines can open has HTTPS, which keeps passwords and session cookies secret. */
function checkDashboard(
  url: string | undefined,
  running: { dashboard?: string | undefined; origin?: string | undefined },
): Finding[] {
  if (url === undefined) return []
  const { protocol, hostname } = new URL(url)
  // `serve` has no site, and no TLS of its own.
  const isServe = running.dashboard !== undefined && running.origin === undefined
  if (protocol === 'https:') return [ok('dashboard', `${url} has HTTPS`)]
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    return [ok('dashboard', `${url} is open to this machine only`)]
  return [
    warn(
      'dashboard',
      `${url} is open to other machines without HTTPS: passwords and session cookies can be read on their way`,
      `${isServe ? 'Set' : 'Set --tls-cert and --tls-key, or set'} --public-url to the https address of a server in front.`,
    ),
  ]
}

async function checkOrigin(url: string | undefined): Promise<Finding[]> {
  if (url === undefined) return [warn('origin', 'not set', 'Give its URL: readership doctor http://localhost:3000')]
  const get = (path: string) =>
    fetch(new URL(path, url), { redirect: 'manual', signal: AbortSignal.timeout(ORIGIN_TIMEOUT_MS) })
  try {
    const before = Date.now()
    const page = await get('/')
    const took = Date.now() - before
    await page.body?.cancel()
    return [
      page.status >= 500
        ? fail('origin', `${url} responds with ${page.status}`, 'The site itself fails: look at its log.')
        : ok('origin', `${url} responds with ${page.status} in ${took} ms`),
      checkClock(page.headers.get('date'), before),
      await checkRobots(get),
    ]
  } catch (error) {
    return [fail('origin', `${url} does not respond (${errorReason(error)})`, 'Start the site, or correct the URL.')]
  }
}

function checkClock(date: string | null, now: number): Finding {
  const skew = date === null ? Number.NaN : Math.round(Math.abs(Date.parse(date) - now) / 1000)
  if (Number.isNaN(skew))
    return ok('clock', `${new Date(now).toISOString()}; the origin sends no Date header to compare with`)
  if (skew <= MAX_CLOCK_SKEW_S) return ok('clock', "agrees with the origin's")
  return warn(
    'clock',
    `differs by ${skew} s from the origin's`,
    'Set both by NTP (timedatectl set-ntp true): rows have the time of this clock.',
  )
}

async function checkRobots(get: (path: string) => Promise<Response>): Promise<Finding> {
  const response = await get('/robots.txt')
  await response.body?.cancel()
  const type = response.headers.get('content-type') ?? 'no content type'
  if (response.status === 200 && /^text\/plain/i.test(type)) return ok('robots.txt', 'is served')
  if (response.status === 200)
    return warn('robots.txt', `is served as ${type}`, 'Serve it as text/plain, or agents may not read it.')
  return warn(
    'robots.txt',
    `responds with ${response.status}`,
    'Without robots.txt every agent may fetch everything (RFC 9309 2.3.1.3).',
  )
}

/**
 * Reads the published ranges from the data directory and the files of `--ranges`, and counts the agents that publish
 * any. Throws a one-line error if a file of `--ranges` is unusable.
 */
function cachedRanges({ data, ranges: localPaths }: Config, at: number): { ranges: RangesStatus[]; total: number } {
  const catalog = loadCatalog()
  const { status } = createRanges({
    catalog,
    outbound: async () => {
      throw new OutboundError('offline', 'doctor fetches no lists')
    },
    cache: openListCache(join(data, 'agents')),
    localPaths,
    offline: true,
    now: () => at,
    random: () => 0,
    log: () => {},
  })
  const total = catalog.agents.filter((agent) => !agent.client_side && listsOfAgent(agent).length > 0).length
  return { ranges: status(), total }
}

/** Checks the ranges of the running instance; if none runs, those that an instance with these settings would have. */
function checkRanges(config: Config, running: RangesStatus[] | undefined): Finding {
  const check = 'published addresses'
  const mend = config.offline
    ? 'Give newer files with --ranges; without them agents cannot be verified by address.'
    : 'Run `readership agents refresh` to see what fails; without internet access give files with --ranges.'
  try {
    const { ranges: cached, total } = cachedRanges(config, Date.now())
    const ranges = running ?? cached
    const oldest = ranges.toSorted((a, b) => (a.refreshed_at < b.refreshed_at ? -1 : 1))[0]
    if (!oldest) return warn(check, 'none: claims of agents stay indeterminate', mend)
    const says = `for ${ranges.length} of ${total} agents, the oldest from ${oldest.refreshed_at.slice(0, 10)} (${oldest.agent_id})`
    const stale = ranges.filter((one) => one.stale)
    return stale.length > 0
      ? warn(check, `${says}; incomplete or older than a week: ${stale.length}`, mend)
      : ok(check, says)
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error), 'Correct or remove --ranges.')
  }
}

function checkGeoData({ geoip }: Config): Finding {
  try {
    const { sources } = openPlaceLookup({ geoip })
    if (sources.length === 0) return fail('geo data', 'missing', 'Run npm run build, or reinstall the package.')
    const says = sources.map(({ name, date }) => `${name} of ${date}`).join(', ')
    const oldest = Math.min(...sources.map(({ date }) => Date.parse(date)))
    return Date.now() - oldest > MAX_GEO_DATA_AGE_MS
      ? warn('geo data', says, 'Update the package, or give a newer file with --geoip.')
      : ok('geo data', says)
  } catch (error) {
    return fail('geo data', error instanceof Error ? error.message : String(error), 'Correct or remove --geoip.')
  }
}
