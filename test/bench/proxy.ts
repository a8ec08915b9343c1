import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from './load.js'
import { usageOfAll } from './usage.js'

interface Usage {
  cpu: number
  thread: number
  rss: number
  drops: number
}
interface Contender {
  name: string
  port: number
  pid: number
  /** CPU microseconds so far, of its processes and of the thread that serves; resident bytes; rows dropped. */
  usage(): Promise<Usage>
  stop(): void
}
interface Slice {
  /** CPU microseconds of the proxy for one request: of its processes (ours has a worker's), and of the thread that serves. */
  cpu: number
  thread: number
  p99: number
  rate: number
}

interface Workload {
  size: number
  /** Requests for assets after each page, which make no row. */
  assets: number
}
const WORKLOADS: readonly Workload[] = [
  { size: 1_024, assets: 0 },
  { size: 1_024, assets: 9 },
  { size: 102_400, assets: 0 },
]
const CONNECTIONS = 32
/** A server runs for days; until its code is compiled it takes several times the CPU, ours the longest of all, ms. */
const WARM = 5_000

/**
 * CPU per request and p99 of our proxy beside bare http-proxy, bare undici and nginx, in slices that take turns, so
 * that what else the machine does falls on all alike. Each runs in its own process. Where every request is a person's
 * page every one becomes a row: the worst case for what recording costs. A site's pages have assets. `rounds` and `ms` of
 * a slice are arguments.
 */
export async function run(args: string[] = []): Promise<void> {
  const rounds = Number(args[0] ?? 8)
  const ms = Number(args[1] ?? 1_000)
  const origin = await child('origin', 0)
  const contenders: Contender[] = []
  for (const name of ['readership', 'not recording', 'http-proxy', 'undici'])
    contenders.push(await child(name, origin.port))
  const nginx = await nginxBefore(origin.port)
  if (nginx) contenders.push(nginx)
  try {
    for (const workload of WORKLOADS) {
      const { size, assets } = workload
      for (const { port } of contenders) await load(port, size, CONNECTIONS, WARM, assets)
      const slices = new Map<string, Slice[]>(contenders.map(({ name }) => [name, []]))
      for (let round = 0; round < rounds; round++) {
        // The order changes, or one would always follow the same neighbour.
        const order = round % 2 === 0 ? contenders : contenders.toReversed()
        for (const one of order) slices.get(one.name)?.push(await slice(one, workload, ms))
      }
      await report(workload, contenders, slices)
    }
  } finally {
    for (const one of [...contenders, origin]) one.stop()
  }
}

async function slice(one: Contender, { size, assets }: Workload, ms: number): Promise<Slice> {
  const before = await one.usage()
  const { requests, seconds, latencies } = await load(one.port, size, CONNECTIONS, ms, assets)
  const after = await one.usage()
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
  const per = (key: 'cpu' | 'thread') => (after[key] - before[key]) / requests
  return { cpu: per('cpu'), thread: per('thread'), p99, rate: requests / seconds }
}

async function report(
  { size, assets }: Workload,
  contenders: Contender[],
  slices: Map<string, Slice[]>,
): Promise<void> {
  console.log(
    `\n${size / 1_024} KB, ${assets === 0 ? 'every request a page and a row' : `${assets} assets behind each page`}, ${CONNECTIONS} connections: median (least) over ${slices.values().next().value?.length} slices`,
  )
  console.log('CPU and RSS are sums over the processes of a proxy: of readership the one that serves and the worker')
  console.log('proxy           CPU us/request   its thread   p99 ms   req/s   RSS MB   readership is, paired')
  const ours = slices.get('readership') ?? []
  for (const { name, usage } of contenders) {
    const mine = slices.get(name) ?? []
    const cpu = mine.map((one) => one.cpu)
    const ratio = (key: 'cpu' | 'thread') =>
      median(mine.map((one, i) => (ours[i]?.[key] ?? Number.NaN) / one[key])).toFixed(2)
    const { rss, drops } = await usage()
    console.log(
      [
        name.padEnd(13),
        `${median(cpu).toFixed(1)} (${Math.min(...cpu).toFixed(1)})`.padStart(17),
        median(mine.map((one) => one.thread))
          .toFixed(1)
          .padStart(12),
        median(mine.map((one) => one.p99))
          .toFixed(1)
          .padStart(8),
        median(mine.map((one) => one.rate))
          .toFixed(0)
          .padStart(7),
        (rss / 1e6).toFixed(0).padStart(8),
        name === 'readership'
          ? `   ${drops} rows dropped`
          : `   ${ratio('cpu')} of its CPU; the serving thread alone ${ratio('thread')}`,
      ].join(' '),
    )
  }
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export async function child(name: string, originPort: number): Promise<Contender> {
  const file = new URL('./proxy-child.js', import.meta.url)
  const process: ChildProcess = fork(file, [name, String(originPort)])
  process.once('exit', (code) => {
    if (code) console.error(`${name} ended with ${code}`)
  })
  const answer = () =>
    new Promise<Record<string, number>>((resolve) => {
      process.once('message', (message: Record<string, number>) => resolve(message))
    })
  const { port = 0 } = await answer()
  return {
    name,
    port,
    pid: process.pid ?? 0,
    async usage() {
      const told = answer()
      process.send('usage')
      const { cpu = 0, thread = 0, rss = 0, drops = 0 } = await told
      return { cpu, thread, rss, drops }
    },
    stop: () => void process.kill(),
  }
}

/** nginx with one worker and a keep-alive pool, where it is installed. */
export async function nginxBefore(originPort: number): Promise<Contender | undefined> {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'bench-nginx-'))
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir}/${kind};`)
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log stderr crit; events { worker_connections 1024; }
    http { access_log off; keepalive_requests 1000000000; ${paths.join(' ')} upstream site { server 127.0.0.1:${originPort}; keepalive 64; }
    server { listen 127.0.0.1:${port}; location / { proxy_pass http://site; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; } } }`,
  )
  const process = spawn('nginx', ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' })
  const { pid = 0 } = process
  await new Promise((resolve) => setTimeout(resolve, 500))
  return {
    name: 'nginx',
    port,
    pid,
    async usage() {
      const { cpu, rss } = usageOfAll(pid)
      return { cpu, thread: cpu, rss, drops: 0 }
    },
    stop() {
      process.kill('SIGQUIT')
      process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
