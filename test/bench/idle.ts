import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { printAims } from './aims.js'
import { startProduct } from './product.js'
import { child, nginxBefore } from './proxy.js'
import { activityOfAll } from './usage.js'

/** Milliseconds until what a start leaves behind is done: compilation, the first checkpoint, the first garbage collections. */
const SETTLE_MS = 15_000
const PER_SECOND = 10
/** Connections that a handful of visitors keep open. */
const CONNECTIONS = 4

/** The load of a server in a second: CPU in per cent of a core, wake-ups of its threads, and kilobytes written to disk. */
interface Activity {
  cpu: number
  wakeups: number
  written: number
}

/**
 * Measures readership on a machine on which little happens: nothing at all, then ten pages a second, beside the same of
 * http-proxy and nginx at the same time. All threads of all processes count. The argument is the seconds of each part.
 */
export async function run(args: string[] = []): Promise<void> {
  const seconds = Number(args[0] ?? 60)
  const origin = await child('origin', 0)
  const product = await startProduct(`http://127.0.0.1:${origin.port}`)
  const nginx = await nginxBefore(origin.port)
  const peers = [await child('http-proxy', origin.port), ...(nginx ? [nginx] : [])]
  const servers = [{ ...product, name: 'readership' }, ...peers]
  try {
    await product.ready
    await sleep(SETTLE_MS)
    const rest = await measure(servers, 0, seconds)
    const few = await measure(servers, PER_SECOND, seconds)
    const [ours, ...peersAtRest] = rest
    const [oursServing, ...peersServing] = few
    printAims([
      { what: 'at rest, CPU %', ours: ours?.cpu, peers: peersAtRest.map(({ cpu }) => cpu), aim: 0.2 },
      {
        what: 'at rest, wake-ups a second',
        ours: ours?.wakeups,
        peers: peersAtRest.map(({ wakeups }) => wakeups),
        aim: 10,
      },
      { what: 'at rest, KB written a second', ours: ours?.written, peers: peersAtRest.map(({ written }) => written) },
      { what: '10 requests/s, CPU %', ours: oursServing?.cpu, peers: peersServing.map(({ cpu }) => cpu), aim: 2 },
      {
        what: '10 requests/s, wake-ups a second',
        ours: oursServing?.wakeups,
        peers: peersServing.map(({ wakeups }) => wakeups),
        aim: 50,
      },
      {
        what: '10 requests/s, KB written a second',
        ours: oursServing?.written,
        peers: peersServing.map(({ written }) => written),
      },
      { what: 'memory, MB', ours: activityOfAll(product.pid).rss / 1e6, peers: [], aim: 220 },
    ])
  } finally {
    await product.stop()
    for (const one of [...peers, origin]) one.stop()
  }
}

/** Measures all servers over the same seconds, each with `rate` requests a second. */
async function measure(
  servers: readonly { name: string; port: number; pid: number }[],
  rate: number,
  seconds: number,
): Promise<Activity[]> {
  const before = servers.map(({ pid }) => activityOfAll(pid))
  const from = performance.now()
  await Promise.all([sleep(seconds * 1_000), ...servers.map(({ port }) => requestPages(port, rate, seconds))])
  const took = (performance.now() - from) / 1_000
  const found = servers.map(({ name, pid }, i) => {
    const after = activityOfAll(pid)
    const rise = (key: 'cpu' | 'switches' | 'written') => (after[key] - (before[i]?.[key] ?? Number.NaN)) / took
    return { name, cpu: rise('cpu') / 1e4, wakeups: rise('switches'), written: rise('written') / 1e3 }
  })
  console.log(`\n${rate} requests a second, ${Math.round(took)} s`)
  console.table(
    Object.fromEntries(
      found.map(({ name, cpu, wakeups, written }) => [
        name,
        { 'CPU %': round(cpu), 'wake-ups/s': round(wakeups), 'KB written/s': round(written) },
      ]),
    ),
  )
  return found
}

/** Requests pages at a steady rate over a few connections that stay open. */
async function requestPages(port: number, rate: number, seconds: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const from = performance.now()
  for (let n = 0; n < rate * seconds; n++) {
    await sleep(Math.max(0, from + (n / rate) * 1_000 - performance.now()))
    const headers = {
      'user-agent': BROWSER,
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'accept-language': 'en-GB,en;q=0.9',
      'x-forwarded-for': `84.10.${n % 7}.${n % 250}`,
    }
    const request = get({ port, host: '127.0.0.1', path: '/1024', agent, headers })
    const [response] = await once(request, 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 200) throw new Error(`port ${port} answered ${response.statusCode}`)
  }
  agent.destroy()
}

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

const round = (value: number): number => Math.round(value * 100) / 100
