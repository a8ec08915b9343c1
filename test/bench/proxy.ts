import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './aims.js'
import { load } from './load.js'
import { machineCpu, preciseCpu, usageOfAll } from './usage.js'

interface Contender {
  name: string
  port: number
  pid: number
  /** Rows dropped so far. */
  drops(): Promise<number>
  stop(): void
}
interface Slice {
  /** CPU microseconds for one request: of the proxy's processes (ours has a worker's), and of the thread that serves. */
  cpu: number
  thread: number
  p99: number
  rate: number
  /** CPU microseconds of other processes on the machine. */
  foreign: number
}

interface Workload {
  name: string
  path: string
  size: number
  connections: number
  /** Requests for assets after each page, which make no row. */
  assets?: number
  rate?: number
}
const PAGE = { path: '/1024', size: 1_024, connections: 32 }
const WORKLOADS: readonly Workload[] = [
  { ...PAGE, name: '1 KB pages, each a row' },
  { ...PAGE, name: '1 KB pages, head in a packet of its own', path: '/split/1024' },
  { ...PAGE, name: '1 KB, nine assets after each page', assets: 9 },
  { ...PAGE, name: '100 KB pages', path: '/102400', size: 102_400 },
  { ...PAGE, name: '1 KB pages, 2,000 a second', connections: 64, rate: 2_000 },
]
/** A server runs for days; until its code is compiled it takes several times the CPU, ours the longest of all, ms. */
const WARM = 5_000
/** Time after a slice for what it left to do, which counts as its CPU too: rows are stored after the response, ms. */
const DRAIN = 500

/**
 * CPU per request and p99 of our proxy beside bare http-proxy, bare undici and nginx, in slices that take turns, so
 * that what else the machine does falls on all alike. Each runs in its own process. Where every request is a person's
 * page every one becomes a row: the worst case for what recording costs. Arguments: `rounds`, `ms` of a slice, `only`
 * these workloads (`0,4`), these contenders (`readership,http-proxy`), and a directory with another build of readership,
 * which then is one more contender.
 */
export async function run(args: string[] = []): Promise<void> {
  const [rounds = '8', ms = '1000', only = '', named = '', other] = args
  const origin = await child('origin', 0)
  const contenders: Contender[] = []
  for (const name of named === ''
    ? ['readership', 'not recording', 'http-proxy', 'undici', 'nginx']
    : named.split(',')) {
    const contender = name === 'nginx' ? await nginxBefore(origin.port) : await child(name, origin.port)
    if (contender) contenders.push(contender)
  }
  if (other !== undefined) contenders.push(await child('readership', origin.port, other))
  try {
    for (const [at, workload] of WORKLOADS.entries()) {
      if (only !== '' && !only.split(',').includes(String(at))) continue
      for (const { port } of contenders)
        await load(port, { ...workload, rate: undefined, ms: Math.min(WARM, 3 * Number(ms)) })
      const slices = new Map<string, Slice[]>(contenders.map(({ name }) => [name, []]))
      for (let round = 0; round < Number(rounds); round++) {
        // The order changes, or one would always follow the same neighbour.
        const order = round % 2 === 0 ? contenders : contenders.toReversed()
        for (const one of order) slices.get(one.name)?.push(await slice(one, origin, workload, Number(ms)))
      }
      await report(workload, contenders, slices)
    }
  } finally {
    for (const one of [...contenders, origin]) one.stop()
  }
}

async function slice(one: Contender, origin: Contender, workload: Workload, ms: number): Promise<Slice> {
  const measure = () => {
    const { cpu, thread } = preciseCpu(one.pid)
    return [cpu, thread, machineCpu() - cpu - preciseCpu(origin.pid).alone - preciseCpu(process.pid).alone]
  }
  const before = measure()
  const { requests, seconds, latencies } = await load(one.port, { ...workload, ms })
  await new Promise((resolve) => setTimeout(resolve, DRAIN))
  const [cpu = 0, thread = 0, foreign = 0] = measure().map((now, i) => now - (before[i] ?? 0))
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
  return { cpu: cpu / requests, thread: thread / requests, p99, rate: requests / seconds, foreign }
}

async function report(workload: Workload, contenders: Contender[], slices: Map<string, Slice[]>): Promise<void> {
  const all = [...slices.values()]
  const rounds = Array.from({ length: all[0]?.length ?? 0 }, (_, i) => i)
  const foreign = (round: number) => all.reduce((sum, one) => sum + (one[round]?.foreign ?? 0), 0)
  const kept = rounds.toSorted((a, b) => foreign(a) - foreign(b)).slice(0, Math.max(2, Math.ceil(rounds.length / 4)))
  console.log(
    `\n${workload.name}, ${workload.connections} connections: median of the ${kept.length} least disturbed of ${rounds.length} rounds`,
  )
  console.log('CPU and RSS are sums over the processes of a proxy: of readership the one that serves and the worker')
  console.log('proxy           CPU us/request   its thread   p99 ms   req/s   RSS MB   readership is, paired')
  const ours = slices.get('readership') ?? []
  for (const { name, pid, drops } of contenders) {
    const mine = slices.get(name) ?? []
    const of = (key: keyof Slice) => median(kept.map((i) => mine[i]?.[key] ?? Number.NaN))
    const ratio = (key: 'cpu' | 'thread' | 'p99') =>
      median(kept.map((i) => (ours[i]?.[key] ?? Number.NaN) / (mine[i]?.[key] ?? Number.NaN))).toFixed(2)
    console.log(
      [
        name.slice(0, 15).padEnd(15),
        of('cpu').toFixed(1).padStart(14),
        of('thread').toFixed(1).padStart(12),
        of('p99').toFixed(1).padStart(8),
        of('rate').toFixed(0).padStart(7),
        (usageOfAll(pid).rss / 1e6).toFixed(0).padStart(8),
        name === 'readership'
          ? `   ${await drops()} rows dropped`
          : `   ${ratio('cpu')} of its CPU; the serving thread alone ${ratio('thread')}; p99 ${ratio('p99')}`,
      ].join(' '),
    )
  }
}

/** Starts a server of the bench, from this build or from the one in a directory. */
export async function child(name: string, originPort: number, directory?: string): Promise<Contender> {
  const file =
    directory === undefined
      ? new URL('./proxy-child.js', import.meta.url)
      : join(directory, 'dist/test/bench/proxy-child.js')
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
    name: directory ?? name,
    port,
    pid: process.pid ?? 0,
    async drops() {
      const told = answer()
      process.send('usage')
      return (await told).drops ?? 0
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
    drops: async () => 0,
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
