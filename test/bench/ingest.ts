import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { OBSERVED_HEADERS, type Observation } from '../../src/capture/observation.js'
import { createRecorder, type Recorder } from '../../src/capture/recorder.js'
import type { Engine } from '../../src/engine/engine.js'
import { startEngine } from '../../src/engine/engine.js'
import { createProxy } from '../../src/proxy/proxy.js'
import { sql } from '../../src/sql.js'
import { addSite } from '../fixtures/engine.js'
import { fillPast } from './past.js'
import { usageOf } from './usage.js'

/**
 * Issue 2, show 6: `rate` rows a second for `seconds`, through the Recorder and the worker into DuckDB, and the event-loop
 * delay of this thread, which is the proxy's: `serving` of them are real requests through the proxy, the rest
 * observations. Then the same while a 90-day read over `rows` stored rows repeats. Each beside recording off.
 */
export async function run(args: string[] = []): Promise<void> {
  const number = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { seconds: number, rate: number, rows: number, serving: number } })
  const seconds = Number(values.seconds ?? 60)
  const rate = Number(values.rate ?? 5_000)
  const rows = Number(values.rows ?? 5_000_000)
  const serving = Number(values.serving ?? 1_000)

  const data = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  try {
    await fillPast(join(data, 'events.duckdb'), rows)
    perRecord()
    const off = await phase('recording off', { seconds: Math.min(seconds, 20), rate, serving, record: () => {} })
    const engine = await startEngine({
      data,
      offline: true,
      log: { info() {}, warn: console.warn, error: console.error },
    })
    await addSite(engine)
    const results = [off]
    for (const reading of [false, true]) {
      const recorder = createRecorder({
        send: (batch) => engine.record(batch),
        now: () => performance.now(),
        log: { warn: console.warn },
      })
      const stop = reading ? readOverAndOver(engine) : async () => undefined
      const name = reading ? `recording, 90-day read over ${rows} rows` : 'recording'
      const result = await phase(name, { seconds, rate, serving, record: (o) => recorder.record(o), engine, recorder })
      const reads = await stop()
      await recorder.close()
      results.push({ ...result, ...reads })
    }
    console.log('rss_mb and cpu_cores are sums over the process that serves and the worker')
    console.table(Object.fromEntries(results.map(({ name, ...figures }) => [name, figures])))
    for (const { name, ...figures } of results.slice(1)) {
      console.log(`${name}: event-loop p99 ${ratio(figures.loop_p99_ms, off.loop_p99_ms)} of recording off`)
    }
    await engine.close()
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

interface Phase {
  seconds: number
  rate: number
  serving: number
  record: (observation: Observation) => void
  engine?: Engine
  recorder?: Recorder
}

interface Figures {
  name: string
  sent: number
  served: number
  served_p99_ms: number
  stored?: number
  dropped?: number
  loop_p50_ms: number
  loop_p99_ms: number
  loop_max_ms: number
  flush_p50_ms?: number
  flush_max_ms?: number
  waiting_max: number
  rss_mb: number
  cpu_cores: number
  reads?: number
  read_p50_ms?: number
}

async function phase(name: string, { seconds, rate, serving, record, engine, recorder }: Phase): Promise<Figures> {
  const site = await serve(record, serving)
  const loop = monitorEventLoopDelay({ resolution: 1 })
  const before = engine?.status().rows ?? { human: 0, agent: 0 }
  const flushes: number[] = []
  // Usage of this process and the worker; the origin and the clients are other processes.
  const usage = () => [process.pid, engine?.status().worker?.pid ?? 0].map(usageOf)
  const cpuOf = () => usage().reduce((sum, { cpu }) => sum + cpu, 0)
  const cpu = cpuOf()
  const from = performance.now()
  let sent = 0
  let waiting = 0
  let rss = 0
  let asked = 0
  loop.enable()
  await new Promise<void>((resolve) => {
    const tick = setInterval(() => {
      const passed = performance.now() - from
      const due = Math.min(seconds * (rate - serving), Math.floor((passed / 1000) * (rate - serving)))
      for (; sent < due; sent++) record(observed(sent))
      waiting = Math.max(waiting, recorder?.stats().waiting ?? 0)
      if (passed - asked > 1_000) {
        asked = passed
        rss = Math.max(
          rss,
          usage().reduce((sum, one) => sum + one.rss, 0),
        )
        flushes.push(...(engine?.status().flush_ms.slice(-5) ?? []))
      }
      if (sent >= seconds * (rate - serving)) {
        clearInterval(tick)
        resolve()
      }
    }, 2)
  })
  loop.disable()
  const { answered, p99 } = await site.stop()
  const took = performance.now() - from
  const spent = cpuOf() - cpu
  for (let n = 0; recorder && recorder.stats().waiting > 0 && n < 200; n++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const after = engine?.status().rows ?? { human: 0, agent: 0 }
  const drops = Object.values(recorder?.stats().drops ?? {}).reduce((sum, n) => sum + n, 0)
  flushes.sort((a, b) => a - b)
  return {
    name,
    sent: sent + answered,
    served: answered,
    served_p99_ms: round(p99),
    ...(engine ? { stored: after.human + after.agent - before.human - before.agent, dropped: drops } : {}),
    loop_p50_ms: round(loop.percentile(50) / 1e6),
    loop_p99_ms: round(loop.percentile(99) / 1e6),
    loop_max_ms: round(loop.max / 1e6),
    ...(flushes.length > 0
      ? { flush_p50_ms: round(flushes[flushes.length >> 1] ?? 0), flush_max_ms: round(flushes.at(-1) ?? 0) }
      : {}),
    waiting_max: waiting,
    rss_mb: round(rss / 1e6),
    cpu_cores: round(spent / 1000 / took),
  }
}

/** The proxy on this thread, an origin and its readers in processes of their own. */
async function serve(record: (observation: Observation) => void, rate: number) {
  const child = (file: string, args: string[]) => fork(new URL(file, import.meta.url), args)
  const told = async <T>(from: ChildProcess): Promise<T> => (await once(from, 'message'))[0]
  const origin = child('./proxy-child.js', ['origin', '0'])
  const { port } = await told<{ port: number }>(origin)
  const proxy = createProxy({
    origin: new URL(`http://127.0.0.1:${port}`),
    record,
    clientAddress: (req) => req.socket.remoteAddress ?? '',
    isTrustedPeer: () => true,
  })
  proxy.server.listen(0, '127.0.0.1')
  await once(proxy.server, 'listening')
  const address = proxy.server.address()
  const readers = child('./reader.js', [
    String(typeof address === 'object' && address ? address.port : 0),
    String(rate),
  ])
  return {
    async stop() {
      readers.send('how was it')
      const report = await told<{ answered: number; failed: number; p99: number }>(readers)
      if (report.failed > 0) throw new Error(`${report.failed} requests failed`)
      readers.disconnect()
      await once(readers, 'exit')
      await proxy.close(1_000)
      origin.disconnect()
      return report
    },
  }
}

/** Starts reading; what it returns stops and tells how it went. */
function readOverAndOver(engine: Engine): () => Promise<Pick<Figures, 'reads' | 'read_p50_ms'>> {
  const times: number[] = []
  let on = true
  const reading = (async () => {
    while (on) {
      const from = performance.now()
      await engine.events.query(sql`
        select (epoch_ms(timestamp) // 86400000) as day, count(*) as pageviews, count(distinct visitor_id) as visitors,
          count(distinct session_id) as sessions
        from events where site_id = 1 and timestamp >= ${new Date(Date.now() - 90 * 86_400_000)}
        group by day order by day`)
      times.push(performance.now() - from)
    }
  })()
  return async () => {
    on = false
    await reading
    times.sort((a, b) => a - b)
    return { reads: times.length, read_p50_ms: round(times[times.length >> 1] ?? 0) }
  }
}

/** Measures the cost of one `record` on the proxy's thread, without sending messages. */
function perRecord(): void {
  const recorder = createRecorder({
    send: () => Promise.resolve(),
    now: () => performance.now(),
    log: { warn() {} },
    maxWaiting: Number.POSITIVE_INFINITY,
  })
  const made = Array.from({ length: 1_000 }, (_, n) => observed(n))
  const times = Array.from({ length: 300 }, () => {
    const from = performance.now()
    for (const one of made) recorder.record(one)
    return (performance.now() - from) * 1_000
  })
  times.sort((a, b) => a - b)
  console.log(`record(): ${round(times[0] ?? 0)} ns at least, ${round(times[150] ?? 0)} ns in the median`)
}

const round = (value: number): number => Math.round(value * 100) / 100
const ratio = (value: number, base: number): string => `${round(value / base)}x`

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{v}.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{v}.0 Safari/605.1.15',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{v}.0) Gecko/20100101 Firefox/{v}.0',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{v}.0.0.0 Mobile Safari/537.36',
]
const AGENTS = [
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
]
const HEADERS: Record<string, string> = Object.fromEntries(
  OBSERVED_HEADERS.filter((name) => /^(accept|sec-ch-ua|sec-fetch)/.test(name)).map((name) => [name, `${name}-value`]),
)

/** The `n`-th observation: one in three by an agent, else a page read by one of 50,000 people. */
function observed(n: number): Observation {
  const person = (n * 7919) % 50_000
  const agent = n % 3 === 0
  const browser = BROWSERS[person % BROWSERS.length] ?? ''
  return {
    timestamp: new Date().toISOString(),
    user_agent: agent ? (AGENTS[n % AGENTS.length] ?? '') : browser.replaceAll('{v}', String(100 + (person % 40))),
    method: 'GET',
    hostname: 'example.com',
    pathname: `/page/${(n * 31) % 2_000}`,
    status: 200,
    bytes: 1_000 + (n % 5_000),
    duration_ms: n % 300,
    content_type: 'text/html; charset=utf-8',
    conditional: 0,
    ip: `84.${person % 200}.${(person >> 3) % 250}.${person % 250}`,
    query: '',
    referrer: n % 4 === 0 ? 'https://www.google.com/' : '',
    headers: {
      ...HEADERS,
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'accept-language': 'de-DE,de;q=0.9',
    },
  }
}
