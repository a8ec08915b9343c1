import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { z } from 'zod'
import { serviceUrl } from '../src/app/cli/client.js'
import { loadConfig, SETTINGS, type SettingName } from '../src/app/config.js'
import { beginHistory, DEMO_DATA } from './demo-directory.js'
import { createDemoRecords } from './demo-records.js'
import { createRandom } from './dice.js'
import { choosePorts } from './free-ports.js'
import { createHistory, deliverHistory, type HistorySize, historyStart } from './history.js'
import { writePastRecords } from './past-records.js'
import { startSite } from './site/server.js'
import { startTraffic } from './traffic.js'
import { AGENTS } from './visitors.js'

interface DemoOptions {
  /** Flags of `readership proxy`. */
  words: readonly string[]
  /** Variables of the settings, and of the process. */
  env: NodeJS.ProcessEnv
  /** Path of the compiled command line, `dist/bin/readership.js`. */
  program: string
  /** The same seed gives the same visits. */
  seed: number
  /** Visits made at the start, so that the first reports are not empty. */
  burst: number
  /** Visits that begin in a second. */
  rate?: number
  /** The past that is made up, if the demo's own data directory is new. */
  history?: HistorySize
  print(text: string): void
}

interface Demo {
  /** The secret of the API key that was created for this run. */
  secret: string
  /** The site itself, without the proxy. */
  origin: string
  /** Resolves to the exit code of the proxy when it ends. */
  ended: Promise<number>
  /**
   * Stops traffic, proxy and site, in this order; buffered rows are stored. `signalled` says that a terminal's Ctrl-C has
   * reached the proxy already: a second signal would make it exit at once.
   */
  close(signalled?: boolean): Promise<void>
}

/** Flags of `readership proxy`, as `parseArgs` takes them. */
const FLAGS: Record<string, { type: 'string' | 'boolean'; multiple: boolean }> = {
  config: { type: 'string', multiple: false },
}
const flagOf = (name: SettingName): string => name.replaceAll('_', '-')
for (const { name, flag, list } of SETTINGS)
  if (flag) FLAGS[flagOf(name)] = { type: flag.includes('<') ? 'string' : 'boolean', multiple: list }

/**
 * Reads the settings as `readership proxy` does, from flags, variables and file, with the demo's defaults for those that
 * no flag or variable sets: a data directory of its own, the tracker in its pages, and no request to the outside.
 */
export function readDemoSettings(words: readonly string[], env: NodeJS.ProcessEnv) {
  const { values, positionals } = parseArgs({ args: [...words], options: FLAGS, allowPositionals: true })
  const variables: NodeJS.ProcessEnv = {
    ...env,
    READERSHIP_DATA: env.READERSHIP_DATA || DEMO_DATA,
    READERSHIP_OFFLINE: env.READERSHIP_OFFLINE || 'true',
    READERSHIP_INJECT: env.READERSHIP_INJECT || 'true',
  }
  const config = loadConfig({
    flags: { ...Object.fromEntries(SETTINGS.map(({ name }) => [name, values[flagOf(name)]])), origin: positionals[0] },
    env: variables,
    file: typeof values.config === 'string' ? values.config : undefined,
    read: (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined),
  })
  const isChosen = (name: 'port' | 'admin_port') =>
    values[flagOf(name)] !== undefined || !!env[`READERSHIP_${name.toUpperCase()}`] || values.config !== undefined
  return { config, variables, isChosen }
}

/** Reads the settings with ports that are free. Throws before anything is written. */
async function settle({ words, env, print }: DemoOptions) {
  const { config, variables, isChosen } = readDemoSettings(words, env)
  const { data, host, admin_host, port, admin_port } = config
  if (config.collector !== undefined) throw new Error('The demo stores its rows itself: remove the setting collector.')
  if (port === 0 || admin_port === 0) throw new Error('The demo needs ports that are known before: not 0.')
  if (await isReady(data))
    throw new Error(`The demo runs already, on ${data}: use that one, or stop it with Ctrl-C in its terminal.`)
  const [site = port, admin = admin_port] = await choosePorts(
    [
      { flag: '--port', host, port, isChosen: isChosen('port') },
      { flag: '--admin-port', host: admin_host, port: admin_port, isChosen: isChosen('admin_port') },
    ],
    print,
  )
  return {
    config: { ...config, port: site, admin_port: admin },
    variables,
    // The last value of a flag counts.
    words: [...words, '--port', `${site}`, '--admin-port', `${admin}`],
  }
}

/**
 * Starts the sample site, `readership proxy` in front of it, and visitors. Resolves to undefined when the proxy did not
 * start; the proxy prints the reason itself. Throws an error of one line for a wrong setting.
 */
export async function startDemo(options: DemoOptions): Promise<Demo | undefined> {
  const { program, print: say } = options
  const { config, variables, words } = await settle(options)
  const { data, host, port } = config
  const [target, admin] = [serviceUrl({ admin_host: host, admin_port: port }), serviceUrl(config)]
  const base = config.tls_cert === undefined ? target : target.replace('http:', 'https:')
  say(`Starting a sample site, readership in front of it, and visitors. Rows go to ${data}.`)
  const endHistory = options.history && beginHistory(data, say)
  const history = endHistory && options.history
  const site = await startSite({ port: 0, base })
  const ranges = variables.READERSHIP_RANGES || writeRanges(data)
  const env = { ...variables, READERSHIP_RANGES: ranges }
  const until = Date.now()
  if (history) {
    const since = historyStart(until, history.days)
    const { hostname } = new URL(base)
    await writePastRecords({ data, origin: site.url, hostname, pages: site.pages, since, until })
  }
  const proxy = spawn(process.execPath, [program, 'proxy', site.url, ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env,
  })
  const ended = new Promise<number>((done) => {
    proxy.on('error', () => done(1))
    proxy.on('exit', (code) => done(code ?? 1))
  })
  const run: Run = async (...command) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...command, '--data', data], { env })
    return command.includes('--json') ? JSON.parse(stdout) : undefined
  }
  try {
    await waitUntilReady(data, proxy)
    if (proxy.exitCode !== null) throw new Error('the proxy ended')
    const visits = { pages: site.pages, random: createRandom(options.seed), tracked: config.inject }
    const origin = { base, origin: site.url, until }
    if (history) await writeHistory({ ...history, ...visits, ...origin }, { admin, run, say })
    endHistory?.()
    const secret = await makeKey(run)
    const { burst, rate } = options
    const traffic = startTraffic({ target: new URL(base), ...visits, burst, ...(rate && { rate }) })
    // The proxy logs a link at its first start only.
    const { link } = Link.parse(await run('login-link', '--json'))
    say(
      formatHints({
        site: base,
        origin: site.url,
        admin,
        secret,
        data,
        link,
        inject: config.inject,
        history: history !== undefined,
      }),
    )
    return {
      secret,
      origin: site.url,
      ended,
      async close(signalled = false) {
        await traffic.close()
        await stop(proxy, ended, signalled)
        await site.close()
      },
    }
  } catch (error) {
    // A proxy that ended has printed its reason; any other reason is printed here.
    if (proxy.exitCode === null) say(`The demo did not start: ${error instanceof Error ? error.message : error}`)
    await stop(proxy, ended)
    await site.close()
    return undefined
  }
}

/** Fills the new site with made-up visits of past days, and makes its records. */
async function writeHistory(
  options: Parameters<typeof createHistory>[0],
  { admin, run, say }: { admin: string; run: Run; say(text: string): void },
): Promise<void> {
  say(`Writing a history of ${options.days} days, which is made up. A link to sign in follows; a dashboard that is open
before shows a part of it.`)
  await run('sites', 'update', '1', '--name', 'The past is being written: Slack Water (demo)')
  const scopes = ['--scopes', 'ingest:write,manage:write']
  const { id, secret } = NewKey.parse(await run('keys', 'create', '--name', 'demo history', ...scopes, '--json'))
  const entries = await createHistory(options)
  let quarter = 0
  await deliverHistory(entries, {
    admin,
    key: secret,
    progress(share) {
      if (share * 4 < quarter + 1) return
      quarter = Math.floor(share * 4)
      say(`  ${quarter * 25} % of ${entries.length} rows`)
    },
  })
  await run('sites', 'update', '1', '--name', 'Slack Water (demo)')
  await createDemoRecords(admin, secret, new Date(options.until))
  await run('keys', 'revoke', String(id))
}

/**
 * Writes the published addresses of the demo's agents into a directory for `--ranges`, and returns it: the demo sends no
 * request to the outside, and still verifies agents.
 */
function writeRanges(data: string): string {
  const folder = join(data, 'demo-ranges')
  mkdirSync(folder, { recursive: true })
  for (const { agent_id, network } of AGENTS) {
    if (agent_id === undefined) continue
    const prefixes = [{ ipv4Prefix: `${network}.0/24` }]
    writeFileSync(join(folder, `${agent_id}.json`), JSON.stringify({ prefixes }))
  }
  return folder
}

/** Tells whether a readership answers on the control socket of the data directory, which opens after the listeners. */
function isReady(data: string): Promise<boolean> {
  const path = join(data, 'control.sock')
  const near = relative('.', path)
  // The path of a socket has room for about a hundred bytes.
  const socketPath = near.length < path.length ? near : path
  return new Promise((done) => {
    const req = get({ socketPath, path: '/readyz', timeout: 1000 }, (res) => {
      res.resume()
      done(res.statusCode === 200)
    })
    req.on('timeout', () => req.destroy())
    req.on('error', () => done(false))
  })
}

/** Resolves when the proxy answers or has ended; rejects after two minutes, which a busy machine may need. */
async function waitUntilReady(data: string, proxy: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1_200 && proxy.exitCode === null; tries++) {
    if (await isReady(data)) return
    await sleep(100)
  }
  if (proxy.exitCode === null) throw new Error('the proxy did not answer within two minutes')
}

const Keys = z.array(z.object({ id: z.int(), name: z.string(), revoked_at: z.string().nullish() }))
const NewKey = z.object({ id: z.int(), secret: z.string() })
/** Runs a command of readership; with `--json`, returns what it prints. */
type Run = (...words: string[]) => Promise<unknown>

/** Creates a key named demo and returns its secret. The key of the last run is revoked, because its secret is lost. */
async function makeKey(run: Run): Promise<string> {
  for (const key of Keys.parse(await run('keys', 'list', '--json'))) {
    if (key.name === 'demo' && !key.revoked_at) await run('keys', 'revoke', String(key.id))
  }
  return NewKey.parse(await run('keys', 'create', '--name', 'demo', '--json')).secret
}

/** Sends SIGTERM, again after 3 seconds (a browser may hold a stream open), and then SIGKILL. */
async function stop(child: ChildProcess, ended: Promise<number>, signalled = false): Promise<void> {
  for (const signal of [signalled ? undefined : 'SIGTERM', 'SIGTERM', 'SIGKILL'] as const) {
    if (child.exitCode !== null || child.signalCode !== null) return
    if (signal) child.kill(signal)
    await Promise.race([ended, sleep(3000, undefined, { ref: false })])
  }
}

const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

const Link = z.object({ link: z.string() })

function formatHints(at: {
  site: string
  origin: string
  admin: string
  secret: string
  data: string
  link: string
  inject: boolean
  history: boolean
}): string {
  const command = (words: string) => `node dist/bin/readership.js ${words} --data ${at.data}`
  const ask = (path: string) => `curl -s -H 'Authorization: Bearer ${at.secret}' '${at.admin}${path}'`
  return `
  Dashboard  ${at.link}
             Open it and press the button. The link is valid once, for 15 minutes; for another:
             ${command('login-link')}
             Then the dashboard is at ${at.admin}/
             ${at.history ? 'Its past is made up, and so are its visitors.' : 'Its visitors are made up.'}

  Site       ${at.site}/ through the proxy (the site itself: ${at.origin}/)
  API        ${at.admin}/api/docs

  Watch      ${command('tail')}
  Visit      curl -A '${GPTBOT}' ${at.site}/robots.txt

  People     ${ask('/api/stats/overview?site=1&range=today')}
  Agents     ${ask('/api/agents/overview?site=1&range=today')}
  Both       ${command('stats --range today')}

  ${
    at.inject
      ? 'The tracker is added to pages: clicks, time on page and Web Vitals of your browser are recorded too.'
      : 'Pages are sent unchanged: clicks, time on page and Web Vitals are not recorded.'
  }

  The next demo revokes this key. Remove ${at.data} when you have seen enough.
  Visitors and agents keep coming until Ctrl-C.
`
}
