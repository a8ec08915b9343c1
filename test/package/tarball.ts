import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { z } from 'zod'
import { startSite } from '../../examples/site/server.js'
import { CHROME, eventually, freePort, GPTBOT } from '../fixtures/instance.js'

/*
 * A trial of the package on one release of Node: npm installs it into an empty directory with an empty cache, and a report of
 * a log, the proxy in front of the sample site, an application of Express and one of Next.js use it. `npm run smoke` does
 * this with each release; `npm test` does not, because npm fetches the dependencies.
 */

const Stats = z.object({
  people: z.object({ pageviews: z.number() }),
  agents: z.object({ fetches: z.number() }),
})

/** The applications that import the package: their files and what is installed for them. */
const APPLICATIONS = {
  Express: {
    packages: ['express@5.3.0'],
    files: {
      'site.js': `import express from 'express'
import { openReadership } from 'readership'
import { middleware } from 'readership/express'
const site = express()
site.use(middleware(await openReadership({ offline: true })))
site.get('/', (req, res) => res.send('<title>Express</title>'))
site.listen(Number(process.env.PORT), '127.0.0.1')
`,
    },
  },
  'Next.js': {
    packages: ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1'],
    files: {
      'next.config.mjs': `export default { serverExternalPackages: ['readership'] }\n`,
      'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>\n`,
      'app/page.jsx': `export const dynamic = 'force-dynamic'\nexport default () => <h1>Next.js</h1>\n`,
      'site.js': `import { createServer } from 'node:http'
import next from 'next'
import { openReadership } from 'readership'
import { listener } from 'readership/node'
const app = next({ dev: false })
await app.prepare()
const readership = await openReadership({ offline: true })
createServer(listener(readership, app.getRequestHandler())).listen(Number(process.env.PORT), '127.0.0.1')
`,
    },
    build: ['next', 'build'],
  },
}

/** Tries the package on the Node in `node`, and prints a transcript. Throws at the first thing that does not work. */
export async function tryTarball(node: string, tarball: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'readership-tarball-'))
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    npm_config_cache: join(home, 'cache'),
    NEXT_TELEMETRY_DISABLED: '1',
    NO_COLOR: '1',
  }
  const site = await startSite({ port: 0 })
  try {
    const run = (cwd: string, command: string, ...words: string[]): string => {
      console.log(`$ ${command} ${words.join(' ')}`)
      return execFileSync(command, words, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    }
    const place = makePlace(home, 'proxy')
    console.log(run(place, 'npm', 'install', '--no-audit', '--no-fund', tarball).trim())
    writeFileSync(join(place, 'access.log'), logLine('/pricing', CHROME) + logLine('/about', GPTBOT))
    const report = run(place, 'npx', 'readership', 'report', 'access.log')
    if (!report.includes('GPTBot')) throw new Error(`The report has no GPTBot:\n${report}`)
    console.log(report.split('\n').slice(0, 3).join('\n'))

    const [port, admin] = [await freePort(), await freePort()]
    const words = ['readership', 'proxy', site.url, '--port', `${port}`, '--admin-port', `${admin}`, '--offline']
    await visit({ cwd: place, env, words: ['npx', ...words], port, run })
    for (const [name, { packages, files, ...more }] of Object.entries(APPLICATIONS)) {
      const at = makePlace(home, name)
      run(at, 'npm', 'install', '--no-audit', '--no-fund', tarball, ...packages)
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(at, file)), { recursive: true })
        writeFileSync(join(at, file), text)
      }
      if ('build' in more) run(at, 'npx', ...more.build)
      await visit({ cwd: at, env, words: ['node', 'site.js'], port: await freePort(), run })
    }
  } finally {
    await site.close()
    rmSync(home, { recursive: true, force: true })
  }
}

const logLine = (path: string, agent: string): string => {
  const time = new Date().toUTCString().replace(/^..., (..) (...) (....) (.{8}).*/, '$1/$2/$3:$4 +0000')
  return `192.0.2.7 - - [${time}] "GET ${path} HTTP/1.1" 200 99 "-" "${agent}"\n`
}

function makePlace(home: string, name: string): string {
  const at = join(home, name)
  mkdirSync(at)
  writeFileSync(join(at, 'package.json'), '{ "type": "module", "private": true }\n')
  return at
}

interface Visit {
  cwd: string
  env: NodeJS.ProcessEnv
  words: readonly string[]
  port: number
  run(cwd: string, command: string, ...words: string[]): string
}

/** Starts a site, sends one person and one agent, and waits until both are stored. */
async function visit({ cwd, env, words: [command = '', ...words], port, run }: Visit): Promise<void> {
  console.log(`$ ${command} ${words.join(' ')} &`)
  const child = spawn(command, words, { cwd, env: { ...env, PORT: `${port}` }, stdio: 'ignore', detached: true })
  const ended = once(child, 'exit')
  try {
    const url = `http://127.0.0.1:${port}/`
    await eventually(`${url} responds`, async () => (await fetch(url, { headers: { 'user-agent': GPTBOT } })).ok)
    await fetch(url, { headers: { 'user-agent': CHROME, accept: 'text/html', 'sec-fetch-dest': 'document' } })
    let stored: z.infer<typeof Stats> | undefined
    await eventually('both are stored', async () => {
      stored = Stats.parse(JSON.parse(run(cwd, 'npx', 'readership', 'stats', '--range', 'today', '--json')))
      return stored.people.pageviews > 0 && stored.agents.fetches > 0
    })
    console.log(`pageviews ${stored?.people.pageviews}, fetches ${stored?.agents.fetches}`)
  } finally {
    // The group, because npx starts the program as a child of its own.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

/** Packs the built package into `folder` and returns the file. */
export function pack(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const old of readdirSync(folder)) rmSync(join(folder, old))
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { stdio: 'pipe' })
  return join(folder, String(readdirSync(folder)[0]))
}
