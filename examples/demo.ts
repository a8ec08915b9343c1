import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { z } from 'zod'
import { MACHINES } from './cast.js'
import { startSite } from './site/server.js'
import { startTraffic } from './traffic.js'
import { seeded } from './visits.js'

export interface DemoOptions {
  /** Of the proxy and of the service. */
  port: number
  admin_port: number
  /** Where the rows are stored. */
  data: string
  /** Path of the compiled command line, `dist/bin/readership.js`. */
  program: string
  /** The same seed, the same visits. */
  seed: number
  /** Visits made at once at the start, so that the first answers are not empty. */
  burst: number
  say(text: string): void
}

export interface Demo {
  /** Of the API key that was made for this run. */
  secret: string
  /** The site itself, without the proxy. */
  origin: string
  /** Exit code of the proxy, whenever and however it ends. */
  ended: Promise<number>
  /**
   * Stops traffic, proxy and site, in this order; rows that wait are stored. `told`: a terminal's Ctrl-C has reached the
   * proxy already, and a second signal would hurry it.
   */
  close(told?: boolean): Promise<void>
}

/**
 * The sample site, `readership proxy` before it as anybody would run it, and visitors. Resolves to undefined when the
 * proxy did not start; it has said why itself.
 */
export async function startDemo(options: DemoOptions): Promise<Demo | undefined> {
  const { port, admin_port, data, program, say } = options
  const taken = await answers(data)
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
    // With another readership on the same data this one will not start: nothing may be asked of that other.
    if (taken) await ended
    else await started(data, proxy)
    if (proxy.exitCode !== null) throw new Error('the proxy ended')
    const secret = await makeKey(keys)
    const target = new URL(`http://localhost:${port}`)
    const traffic = startTraffic({ target, pages: site.pages, random: seeded(options.seed), burst: options.burst })
    const link = await signInLink(program, data)
    say(whatToTry({ site: target.origin, origin: site.url, admin, secret, data, link }))
    return {
      secret,
      origin: site.url,
      ended,
      async close(told = false) {
        await traffic.close()
        await stop(proxy, ended, told)
        await site.close()
      },
    }
  } catch (error) {
    // A proxy that ended has named its reason; anything else is ours to tell.
    if (proxy.exitCode === null) say(`The demo did not start: ${error instanceof Error ? error.message : error}`)
    await stop(proxy, ended)
    await site.close()
    return undefined
  }
}

/**
 * Where the cast's agents come from, as their operators would publish it, in a directory for `--ranges`: the demo asks
 * nobody outside, and yet tells who is who from who says so.
 */
function writeRanges(data: string): string {
  const folder = join(data, 'demo-ranges')
  mkdirSync(folder, { recursive: true })
  for (const { agent_id, network } of MACHINES) {
    if (agent_id === undefined) continue
    const prefixes = [{ ipv4Prefix: `${network}.0/24` }]
    writeFileSync(join(folder, `${agent_id}.json`), JSON.stringify({ prefixes }))
  }
  return folder
}

/** Whether a readership answers through the control socket of the data directory: it is made last, after the listeners. */
function answers(data: string): Promise<boolean> {
  const path = join(data, 'control.sock')
  const near = relative('.', path)
  // A socket's name has a hundred bytes or so.
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
async function started(data: string, proxy: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200 && proxy.exitCode === null; tries++) {
    if (await answers(data)) return
    await sleep(100)
  }
  if (proxy.exitCode === null) throw new Error('the proxy did not answer within 20 seconds')
}

const Keys = z.array(z.object({ id: z.int(), name: z.string(), revoked_at: z.string().nullish() }))
const NewKey = z.object({ secret: z.string() })

/** A fresh key named demo. The one of the last run is revoked: nobody can read its secret again. */
async function makeKey(keys: (...words: string[]) => Promise<unknown>): Promise<string> {
  for (const key of Keys.parse(await keys('list', '--json'))) {
    if (key.name === 'demo' && !key.revoked_at) await keys('revoke', String(key.id))
  }
  return NewKey.parse(await keys('create', '--name', 'demo', '--json')).secret
}

/** Asks with SIGTERM, again after 3 seconds (a browser may hold a stream open), and at last insists. */
async function stop(child: ChildProcess, ended: Promise<number>, told = false): Promise<void> {
  for (const signal of [told ? undefined : 'SIGTERM', 'SIGTERM', 'SIGKILL'] as const) {
    if (child.exitCode !== null || child.signalCode !== null) return
    if (signal) child.kill(signal)
    await Promise.race([ended, sleep(3000, undefined, { ref: false })])
  }
}

const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

const Link = z.object({ link: z.string() })

/** Of the owner; the one that the proxy has logged at a first start has scrolled away, and later ones log none. */
async function signInLink(program: string, data: string): Promise<string> {
  const words = [program, 'login-link', '--data', data, '--json']
  return Link.parse(JSON.parse((await promisify(execFile)(process.execPath, words)).stdout)).link
}

function whatToTry(at: {
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
           ${at.admin}/api/docs    what can be asked

  Sign in  ${at.link}
           open it and press the button: good once, within 15 minutes. Another: ${command('login-link')}

  Watch    ${command('tail')}
  Be read  curl -A '${GPTBOT}' ${at.site}/robots.txt

  People   ${ask('/api/stats/overview?site=1&range=today')}
  Agents   ${ask('/api/agents/overview?site=1&range=today')}
  Both     ${command('stats --range today')}

  Pages are as the site sent them. To see clicks, time on page and Web Vitals of your own browser as well, begin it with
  READERSHIP_INJECT=true npm start

  The next demo revokes this key. Its visitors lie in ${at.data}: remove that before your own site's come.
  Visitors and agents keep coming until Ctrl-C.
`
}
