import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Observation } from '../../src/capture/observation.js'
import { freePort, type Instance, startOrigin, startProxy } from '../fixtures/instance.js'
import { addSite } from '../fixtures/worker-client.js'
import { median, printAims } from './aims.js'
import { type Contender, createEdge, slice } from './track.js'
import { preciseCpu } from './usage.js'

const RATE = 2_000
const VISITORS = 5_000
const BROWSERS = 60
const URLS = 2_000
/** Rows of each kind that a worker stores before it is measured: until its code is compiled it takes several times the CPU. */
const WARM_ROWS = 20_000
const KINDS = ['pages', 'agents'] as const
const AIMS = { pages: 25, agents: 18, edge: 35_000 }

/**
 * Microseconds of the worker's CPU per row, of people's pages and of agents' fetches at 2,000 a second, and rows a second
 * from other servers. Arguments: `rounds`, `ms` of a slice, and a directory with another build of readership, which then
 * takes turns with this one.
 */
export async function run(args: string[] = []): Promise<void> {
  const [rounds = '4', ms = '4000', other] = args
  const builds = [resolve('.'), ...(other === undefined ? [] : [resolve(other)])]
  const rows = await measureRows(builds, Number(rounds), Number(ms))
  const edge = await measureEdge(builds, Number(rounds), Number(ms))
  const [ours = '', ...peers] = builds
  const of = (figures: ReadonlyMap<string, number[]>, name: string) => median(figures.get(name) ?? [])
  printAims([
    ...KINDS.map((kind) => ({
      what: `worker's CPU per row, ${kind}, us`,
      ours: of(rows, `${kind} ${ours}`),
      peers: peers.map((build) => of(rows, `${kind} ${build}`)),
      aim: AIMS[kind],
    })),
    ...['site', 'worker'].map((process) => ({
      what: `CPU of the ${process}'s process per row of another server, us`,
      ours: of(edge, `${process} ${ours}`),
      peers: peers.map((build) => of(edge, `${process} ${build}`)),
    })),
    {
      what: 'time per row of other servers, us',
      ours: 1e6 / of(edge, `rate ${ours}`),
      peers: peers.map((build) => 1e6 / of(edge, `rate ${build}`)),
      aim: 1e6 / AIMS.edge,
    },
  ])
  for (const build of builds) console.log(`${build}: ${of(edge, `rate ${build}`).toFixed(0)} rows a second from others`)
}

/** Calls `measure` for each build in turns; the order changes, or one would always follow the same neighbour. */
async function inTurns<B>(builds: readonly B[], rounds: number, measure: (build: B) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++)
    for (const build of round % 2 === 0 ? builds : builds.toReversed()) await measure(build)
}

async function measureRows(builds: readonly string[], rounds: number, ms: number): Promise<Map<string, number[]>> {
  const at = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const workers = await Promise.all(builds.map((build, i) => startWorker(build, join(at, `${i}`))))
  const figures = new Map<string, number[]>()
  try {
    for (const kind of KINDS) {
      for (const worker of workers) await worker.store(kind, WARM_ROWS, 8_000)
      await inTurns(workers, rounds, async ({ build, store }) => {
        const cpu = await store(kind, (RATE * ms) / 1_000, RATE)
        figures.set(`${kind} ${build}`, [...(figures.get(`${kind} ${build}`) ?? []), cpu])
      })
    }
  } finally {
    await Promise.all(workers.map(({ close }) => close()))
    rmSync(at, { recursive: true, force: true })
  }
  return figures
}

/** A worker of a build, with the recorder that the proxy hands its observations to. */
async function startWorker(build: string, data: string) {
  const load = (file: string) => import(pathToFileURL(join(build, 'dist/src', file)).href)
  const { startWorkerClient }: typeof import('../../src/worker-client/worker-client.js') = await load(
    'worker-client/worker-client.js',
  )
  const { createRecorder }: typeof import('../../src/capture/recorder.js') = await load('capture/recorder.js')
  const engine = await startWorkerClient({
    data,
    offline: true,
    log: { info() {}, warn: console.warn, error: console.error },
  })
  await addSite(engine)
  const recorder = createRecorder({
    send: (batch) => engine.record(batch),
    now: () => performance.now(),
    log: { warn: console.warn },
  })
  const counted = () => engine.status().rows.human + engine.status().rows.agent
  let sent = 0
  return {
    build,
    /** Returns the CPU microseconds of each row. */
    async store(kind: (typeof KINDS)[number], count: number, rate: number): Promise<number> {
      const pid = engine.status().worker?.pid ?? 0
      const [rows, cpu, from] = [counted(), preciseCpu(pid).alone, performance.now()]
      for (let n = 0; n < count; ) {
        await new Promise((done) => setTimeout(done, 5))
        const due = Math.min(count, ((performance.now() - from) / 1_000) * rate)
        for (; n < due; n++) recorder.record(kind === 'pages' ? page(sent++) : fetched(sent++))
      }
      await recorder.flush()
      const stored = counted() - rows
      if (stored !== count) throw new Error(`${count} rows were sent, ${stored} are stored`)
      return (preciseCpu(pid).alone - cpu) / stored
    },
    async close() {
      await recorder.close()
      await engine.close()
    },
  }
}

const common = (n: number) => ({
  timestamp: new Date().toISOString(),
  method: 'GET',
  hostname: 'site.example',
  pathname: `/blog/page-${(n * 7_919) % URLS}`,
  status: 200,
  bytes: 1_000 + (n % 5_000),
  duration_ms: n % 300,
  content_type: 'text/html; charset=utf-8',
  conditional: 0 as const,
})

/** The `n`-th page of people, with the headers of a browser. */
function page(n: number): Observation {
  const visitor = (n * 7_919) % VISITORS
  const version = 100 + (visitor % BROWSERS)
  return {
    ...common(n),
    user_agent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 Safari/537.36`,
    ip: `198.18.${visitor >> 8}.${visitor & 255}`,
    query: '',
    referrer: n % 4 === 0 ? 'https://www.google.com/' : 'https://site.example/blog/',
    headers: {
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
      'accept-language': 'en-GB,en;q=0.9,de;q=0.8',
      'accept-encoding': 'gzip, deflate, br, zstd',
      'sec-ch-ua': `"Chromium";v="${version}", "Google Chrome";v="${version}", "Not?A_Brand";v="99"`,
      'sec-ch-ua-mobile': '?0',
      'sec-ch-ua-platform': '"Linux"',
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': n % 4 === 0 ? 'cross-site' : 'same-origin',
    },
  }
}

const AGENTS = [
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
]

/** The `n`-th fetch of agents. */
const fetched = (n: number): Observation => ({
  ...common(n),
  user_agent: AGENTS[n % AGENTS.length] ?? '',
  ip: `198.51.100.${n & 255}`,
  headers: { accept: '*/*', 'accept-encoding': 'gzip, br' },
})

async function measureEdge(builds: readonly string[], rounds: number, ms: number): Promise<Map<string, number[]>> {
  const origin = await startOrigin()
  const at = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const figures = new Map<string, number[]>()
  const note = (key: string, value: number) => figures.set(key, [...(figures.get(key) ?? []), value])
  const instances: Instance[] = []
  try {
    const edges: (Contender & { build: string })[] = []
    for (const [i, build] of builds.entries()) {
      const [port, adminPort] = [await freePort(), await freePort()]
      const data = join(at, `${i}`, 'data')
      const app = await startProxy({ origin: origin.url, data, port, adminPort, build })
      instances.push(app)
      edges.push({ ...createEdge(app), build })
    }
    let n = 0
    for (const edge of edges) n += (await slice(edge, 3_000, n)).requests
    await inTurns(edges, rounds, async (edge) => {
      const before = preciseCpu(edge.pid)
      const { requests, rate } = await slice(edge, ms, n)
      n += requests
      const after = preciseCpu(edge.pid)
      const rows = requests * edge.each
      const site = after.alone - before.alone
      note(`rate ${edge.build}`, rate)
      note(`site ${edge.build}`, site / rows)
      note(`worker ${edge.build}`, (after.cpu - before.cpu - site) / rows)
    })
  } finally {
    for (const app of instances) await app.stop()
    await origin.close()
    rmSync(at, { recursive: true, force: true })
  }
  return figures
}
