import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { z } from 'zod'
import { startSite } from './site/server.js'
import { startTraffic } from './traffic.js'
import { AGENTS } from './visitors.js'
import { createRandom } from './visits.js'

interface DemoOptions {
  /** Port of the proxy. */
  port: number
  /** Port of the service. */
  admin_port: number
  /** Directory in which the rows are stored. */
  data: string
  /** Path of the compiled command line, `dist/bin/readership.js`. */
  program: string
  /** The same seed gives the same visits. */
  seed: number
  /** Visits made at the start, so that the first reports are not empty. */
  burst: number
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

/**
 * Starts the sample site, `readership proxy` in front of it, and visitors. Resolves to undefined when the proxy did not
 * start; the proxy prints the reason itself.
 */
export async function startDemo(options: DemoOptions): Promise<Demo | undefined> {
  const { port, admin_port, data, program, print: say } = options
  const taken = await isReady(data)
  const site = await startSite({ port: 0, base: `http://localhost:${port}` })
  const ports = ['--port', String(port), '--admin-port', String(admin_port)]
  const where = ['--data', data, '--offline', '--ranges', writeRanges(data)]
  const proxy = spawn(process.execPath, [program, 'proxy', site.url, ...ports, ...where], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = new Promise<number>((done) => {
    proxy.on('error', () => done(1))
    proxy.on('exit', (code) => done(code ?? 1))
  })
  const keys = async (...words: string[]): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'keys', ...words, '--data', data])
    return words.includes('--json') ? JSON.parse(stdout) : undefined
  }
  const admin = `http://localhost:${admin_port}`
  try {
    // Another readership runs on the same data, so this one will not start; no request may go to that other one.
    if (taken) await ended
    else await waitUntilReady(data, proxy)
    if (proxy.exitCode !== null) throw new Error('the proxy ended')
    const secret = await makeKey(keys)
    const target = new URL(`http://localhost:${port}`)
    const traffic = startTraffic({
      target,
      pages: site.pages,
      random: createRandom(options.seed),
      burst: options.burst,
    })
    const link = await signInLink(program, data)
    say(formatHints({ site: target.origin, origin: site.url, admin, secret, data, link }))
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

/** Resolves when the proxy answers or has ended; rejects after 20 seconds. */
async function waitUntilReady(data: string, proxy: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200 && proxy.exitCode === null; tries++) {
    if (await isReady(data)) return
    await sleep(100)
  }
  if (proxy.exitCode === null) throw new Error('the proxy did not answer within 20 seconds')
}

const Keys = z.array(z.object({ id: z.int(), name: z.string(), revoked_at: z.string().nullish() }))
const NewKey = z.object({ secret: z.string() })

/** Creates a key named demo and returns its secret. The key of the last run is revoked, because its secret is lost. */
async function makeKey(keys: (...words: string[]) => Promise<unknown>): Promise<string> {
  for (const key of Keys.parse(await keys('list', '--json'))) {
    if (key.name === 'demo' && !key.revoked_at) await keys('revoke', String(key.id))
  }
  return NewKey.parse(await keys('create', '--name', 'demo', '--json')).secret
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

/** Creates a sign-in link of the owner, because the proxy logs one at its first start only. */
async function signInLink(program: string, data: string): Promise<string> {
  const words = [program, 'login-link', '--data', data, '--json']
  return Link.parse(JSON.parse((await promisify(execFile)(process.execPath, words)).stdout)).link
}

function formatHints(at: {
  site: string
  origin: string
  admin: string
  secret: string
  data: string
  link: string
}): string {
  const data = at.data === './readership-data' ? '' : ` --data ${at.data}`
  const command = (words: string) => `node dist/bin/readership.js ${words}${data}`
  const ask = (path: string) => `curl -s -H 'Authorization: Bearer ${at.secret}' '${at.admin}${path}'`
  return `
  Open     ${at.site}/            the sample site, through the proxy (the site itself: ${at.origin}/)
           ${at.admin}/api/docs    the API

  Sign in  ${at.link}
           open it and press the button; valid once, for 15 minutes. For another: ${command('login-link')}

  Watch    ${command('tail')}
  Visit    curl -A '${GPTBOT}' ${at.site}/robots.txt

  People   ${ask('/api/stats/overview?site=1&range=today')}
  Agents   ${ask('/api/agents/overview?site=1&range=today')}
  Both     ${command('stats --range today')}

  Pages are sent unchanged. To record clicks, time on page and Web Vitals of your own browser too, start with
  READERSHIP_INJECT=true npm start

  The next demo revokes this key. The demo's rows are in ${at.data}: remove that directory before you record your own site.
  Visitors and agents keep coming until Ctrl-C.
`
}
