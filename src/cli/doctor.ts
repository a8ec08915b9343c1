import { constants, existsSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { RangesStatus } from '../agents/ranges/status.js'
import type { Config } from '../config.js'
import { formatBytes } from '../export/format.js'
import { openPlaceLookup } from '../ingest/place/place-lookup.js'
import { connect, isRunning } from './client.js'
import { type Command, type CommandCall, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson, escapeText } from './escape.js'
import { cachedRanges } from './published-ranges.js'
import { Failure, style } from './terminal.js'

interface Finding {
  check: string
  state: 'ok' | 'warn' | 'fail'
  says: string
  /** What to do about it. */
  mend?: string
}
const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says })
const warn = (check: string, says: string, mend: string): Finding => ({ check, state: 'warn', says, mend })
const fail = (check: string, says: string, mend: string): Finding => ({ check, state: 'fail', says, mend })
const errorReason = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = z.object({ code: z.string() }).safeParse(cause)
  return code.success ? code.data.code : cause instanceof Error ? cause.message : String(cause)
}

const Flags = z.object({ json: z.boolean().default(false) })
/** An origin that takes longer is as good as down. */
const ORIGIN_TIMEOUT_MS = 5_000
/** Seconds by which two clocks may differ without harm to sessions and signatures. */
const MAX_CLOCK_SKEW_S = 5
/** Networks move: a year and a month. */
const MAX_GEO_DATA_AGE_MS = 400 * 86_400_000

export const doctor: Command = {
  name: 'doctor',
  summary: 'check settings, data, origin and clock, and say how to mend what is wrong',
  arguments: [{ form: '[origin-url]', doc: 'the site (default: that of the settings, or of the running instance)' }],
  settings: ['origin', 'data', 'min_free_disk', 'geoip', 'ranges', 'offline'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, Flags)
    const { config, terminal } = call
    const running = await checkInstance(call)
    const findings = [
      ok('settings', 'known and valid'),
      ...(await checkDataDirectory(config)),
      running.finding,
      ...(await checkOrigin(config.origin ?? running.origin)),
      // Where rows are shipped to, they are placed and verified.
      ...(running.collector === undefined ? [checkGeoData(config.geoip), checkRanges(config, running.held)] : []),
    ]
    if (json) terminal.out(`${escapeJson(findings, 2)}\n`)
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
}

async function checkDataDirectory({ data, min_free_disk }: Config): Promise<Finding[]> {
  // What is not there yet is made by the first start, in the nearest directory that is.
  let place = resolve(data)
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  try {
    await access(place, constants.W_OK | constants.X_OK)
  } catch (error) {
    return [
      fail(
        'data directory',
        `${data} cannot be written (${errorReason(error)})`,
        `Give this user ${place}, or choose another with --data.`,
      ),
    ]
  }
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  return [
    ok(
      'data directory',
      place === resolve(data) ? `${data} can be written` : `${data} will be made by the first start`,
    ),
    free < min_free_disk
      ? fail(
          'disk',
          `${formatBytes(free)} free: rows are not stored below ${formatBytes(min_free_disk)}`,
          `Make room on the disk of ${place}, or lower --min-free-disk.`,
        )
      : free < 2 * min_free_disk
        ? warn('disk', `${formatBytes(free)} free`, 'Make room soon.')
        : ok('disk', `${formatBytes(free)} free`),
  ]
}

const StatusResponse = z.object({
  data: z.object({
    origin: z.string().optional(),
    collector: z.string().optional(),
    store: z.object({
      state: z.string(),
      reason: z.string().optional(),
      trouble: z.string().optional(),
      losses: z.array(z.string()).optional(),
    }),
  }),
})

const RangesResponse = z.object({ data: z.array(RangesStatus) })

/** What is to be said of a running instance, the site that it stands in front of, and what it verifies agents by. */
async function checkInstance({ config, terminal }: CommandCall): Promise<{
  finding: Finding
  origin?: string | undefined
  held?: RangesStatus[] | undefined
  collector?: string | undefined
}> {
  if (!(await isRunning(config.data))) return { finding: ok('instance', `none runs on ${config.data}`) }
  const client = await connect(config, terminal)
  try {
    const { origin, store, collector } = StatusResponse.parse(await client.call('GET', '/control/status')).data
    if (collector !== undefined) return { finding: shippingFinding(store, collector), origin, collector }
    const { data: held } = RangesResponse.parse(await client.call('GET', '/control/agents/holdings'))
    return { finding: storeFinding(store), origin, held }
  } catch (error) {
    return {
      finding: fail(
        'instance',
        `does not answer (${errorReason(error)})`,
        'Look at its log; start it again if it hangs.',
      ),
    }
  } finally {
    await client.close()
  }
}

function storeFinding(store: z.infer<typeof StatusResponse>['data']['store']): Finding {
  if (store.state === 'ready' && store.losses?.length)
    return warn(
      'instance',
      `runs; its start gave up ${store.losses.join('; ')}`,
      'Keep the files named there until you know what was in them.',
    )
  if (store.state === 'ready') return ok('instance', 'runs, and stores what it sees')
  return fail(
    'instance',
    `runs, but its store is ${store.state}: ${store.reason ?? 'no reason given'}`,
    'The site goes on; what is said here has to be mended for rows to be stored.',
  )
}

function shippingFinding(
  { state, reason, trouble }: z.infer<typeof StatusResponse>['data']['store'],
  collector: string,
): Finding {
  if (state !== 'ready')
    return fail(
      'instance',
      `runs, but ${reason ?? `is ${state}`}`,
      'What is said here has to be mended: rows wait in memory only.',
    )
  if (trouble === undefined) return ok('instance', `runs, and ships what it sees to ${collector}`)
  return warn('instance', `runs, but ${collector} takes no rows: ${trouble}`, 'They wait on disk; its log says more.')
}

async function checkOrigin(url: string | undefined): Promise<Finding[]> {
  if (url === undefined) return [warn('origin', 'none is set', 'Name it: readership doctor http://localhost:3000')]
  const ask = (path: string) =>
    fetch(new URL(path, url), { redirect: 'manual', signal: AbortSignal.timeout(ORIGIN_TIMEOUT_MS) })
  try {
    const before = Date.now()
    const page = await ask('/')
    const took = Date.now() - before
    await page.body?.cancel()
    return [
      page.status >= 500
        ? fail('origin', `${url} answers ${page.status}`, 'The site itself is in trouble: look at its log.')
        : ok('origin', `${url} answers ${page.status} in ${took} ms`),
      checkClock(page.headers.get('date'), before),
      await checkRobots(ask),
    ]
  } catch (error) {
    return [fail('origin', `${url} does not answer (${errorReason(error)})`, 'Start the site, or correct the URL.')]
  }
}

function checkClock(date: string | null, now: number): Finding {
  const skew = date === null ? Number.NaN : Math.round(Math.abs(Date.parse(date) - now) / 1000)
  if (Number.isNaN(skew)) return ok('clock', `${new Date(now).toISOString()}; the origin sends no Date to compare with`)
  if (skew <= MAX_CLOCK_SKEW_S) return ok('clock', "agrees with the origin's")
  return warn(
    'clock',
    `${skew} s apart from the origin's`,
    'Set both by NTP (timedatectl set-ntp true): rows carry this clock.',
  )
}

async function checkRobots(ask: (path: string) => Promise<Response>): Promise<Finding> {
  const answer = await ask('/robots.txt')
  await answer.body?.cancel()
  const type = answer.headers.get('content-type') ?? 'no content type'
  if (answer.status === 200 && /^text\/plain/i.test(type)) return ok('robots.txt', 'is served')
  if (answer.status === 200)
    return warn('robots.txt', `is served as ${type}`, 'Serve it as text/plain, or agents may not read it.')
  return warn(
    'robots.txt',
    `answers ${answer.status}`,
    'Without one every agent may fetch everything (RFC 9309 2.3.1.3).',
  )
}

/** By what the running instance holds, or, where none runs, what one with these settings would. */
function checkRanges(config: Config, running: RangesStatus[] | undefined): Finding {
  const check = 'published addresses'
  const mend = config.offline
    ? 'Give newer copies with --ranges; without them agents cannot be verified by address.'
    : 'Run `readership agents refresh` and see what fails; without a way out, give copies with --ranges.'
  try {
    const { held: own, of } = cachedRanges(config, Date.now())
    const held = running ?? own
    const oldest = held.toSorted((a, b) => (a.refreshed_at < b.refreshed_at ? -1 : 1))[0]
    if (!oldest) return warn(check, 'none are held: claims of agents stay indeterminate', mend)
    const says = `of ${held.length} of ${of} agents, the oldest of ${oldest.refreshed_at.slice(0, 10)} (${oldest.agent_id})`
    const stale = held.filter((one) => one.stale)
    return stale.length > 0
      ? warn(check, `${says}; missing in part or older than a week: ${stale.length}`, mend)
      : ok(check, says)
  } catch (error) {
    return fail(check, error instanceof Error ? error.message : String(error), 'Correct --ranges, or leave it out.')
  }
}

function checkGeoData(geoip: string | undefined): Finding {
  try {
    const { sources } = openPlaceLookup(geoip === undefined ? {} : { geoip })
    if (sources.length === 0)
      return fail('geo data', 'is not there', 'Build it: npm run build; or reinstall the package.')
    const said = sources.map(({ name, date }) => `${name} of ${date}`).join(', ')
    const oldest = Math.min(...sources.map(({ date }) => Date.parse(date)))
    return Date.now() - oldest > MAX_GEO_DATA_AGE_MS
      ? warn('geo data', said, 'Update the package, or give a newer file with --geoip.')
      : ok('geo data', said)
  } catch (error) {
    return fail('geo data', error instanceof Error ? error.message : String(error), 'Correct --geoip, or leave it out.')
  }
}
