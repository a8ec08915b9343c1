import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Instance, startInstance } from '../fixtures/instance.js'
import { printAims } from './aims.js'
import { makeDataDirectory } from './data-directory.js'
import { usageOf, usageOfAll } from './usage.js'

/** Proxied pages a second beside the dashboards. */
const RATE = 300
const DASHBOARDS = 8
const DAY = 86_400_000
/** The reads of a dashboard's first screen. */
const READS = [
  ...['stats/overview?compare=previous', 'stats/overview?audience=agent&compare=previous'],
  ...['stats/timeseries?metric=visitors', 'stats/timeseries?audience=agent&metric=fetches'],
  ...['stats/pages?limit=10', 'stats/pages?audience=agent&limit=10'],
  ...['stats/sources?limit=10', 'policy/violations?limit=6'],
]

/**
 * `npm run bench -- crowd [hits] [fetches] [rounds]` (5,000,000 each, 5): milliseconds until eight dashboards of eight reads
 * that are asked at once have their answers, all about the same window or each about its own, against one dashboard; and
 * the p99 of proxied pages meanwhile, against none. In turns, medians. No question is asked a second time, so that no
 * answer is kept from the round before.
 */
export async function run(args: string[] = []): Promise<void> {
  const [people = 5_000_000, agents = 5_000_000, rounds = 5] = args.map(Number)
  const data = await makeDataDirectory({ people, agents, paths: 2_000 })
  const origin = fork(new URL('./proxy-child.js', import.meta.url), ['origin', '0'])
  const { port } = await nextMessage<{ port: number }>(origin)
  const app = await startInstance(`http://127.0.0.1:${port}`, data)
  const readers = fork(new URL('./reader.js', import.meta.url), [new URL(app.site).port, String(RATE)])
  const found = { quiet: [] as Cost[], one: [] as Cost[], equal: [] as Cost[], different: [] as Cost[] }
  const pages = { without: [] as number[], beside: [] as number[] }
  const dashboards = createDashboards(app)
  try {
    await dashboards.open(1, 'equal')
    await sleep(3_000)
    for (let round = 0; round < rounds; round++) {
      await p99(readers)
      found.quiet.push(await costOf(app, () => sleep(5_000)))
      pages.without.push(await p99(readers))
      found.one.push(await costOf(app, () => dashboards.open(1, 'equal')))
      await p99(readers)
      found.equal.push(await costOf(app, () => dashboards.open(DASHBOARDS, 'equal')))
      found.different.push(await costOf(app, () => dashboards.open(DASHBOARDS, 'different')))
      pages.beside.push(await p99(readers))
    }
  } finally {
    readers.disconnect()
    await once(readers, 'exit')
    await app.stop()
    origin.disconnect()
    rmSync(dirname(data), { recursive: true, force: true })
  }
  const of = (which: keyof typeof found, what: keyof Cost) => median(found[which].map((cost) => cost[what]))
  /** CPU milliseconds of a process without those of the proxied pages. */
  const cpu = (which: keyof typeof found, process: 'site' | 'worker') =>
    median(found[which].map((cost) => cost[process] - (of('quiet', process) / of('quiet', 'ms')) * cost.ms))
  const [one, without] = [of('one', 'ms'), median(pages.without)]
  console.log(`${people} hits, ${agents} fetches, 30 days, ${RATE} pages a second; ms, median of ${rounds}`)
  printAims([
    { what: 'one dashboard of eight reads', ours: one, peers: [] },
    { what: 'eight, equal, of one', ours: of('equal', 'ms'), peers: [one], aim: 1.2 * one },
    { what: 'eight, different, of one', ours: of('different', 'ms'), peers: [one], aim: 6 * one },
    { what: 'worker, CPU: eight, equal, of one', ours: cpu('equal', 'worker'), peers: [cpu('one', 'worker')] },
    { what: 'worker, CPU: eight, different, of one', ours: cpu('different', 'worker'), peers: [cpu('one', 'worker')] },
    { what: 'site, CPU: eight, equal, of one', ours: cpu('equal', 'site'), peers: [cpu('one', 'site')] },
    { what: 'page, p99, of without a dashboard', ours: median(pages.beside), peers: [without], aim: 1.3 * without },
  ])
}

/** Milliseconds, and CPU milliseconds of the site's process and of the worker. */
type Cost = Record<'ms' | 'site' | 'worker', number>

async function costOf({ child }: Instance, act: () => Promise<unknown>): Promise<Cost> {
  const cpu = () => [usageOf(child.pid ?? 0).cpu, usageOfAll(child.pid).cpu].map((us) => us / 1e3)
  const [from, [site = 0, all = 0]] = [performance.now(), cpu()]
  await act()
  const [siteNow = 0, allNow = 0] = cpu()
  return { ms: performance.now() - from, site: siteNow - site, worker: allNow - all - (siteNow - site) }
}

/** Asks for what dashboards show; windows of 30 days until now, each of which begins at another second. */
function createDashboards(app: Instance) {
  let windows = 0
  const nextWindow = () => `start=${new Date(Date.now() - 30 * DAY + ++windows * 1_000).toISOString()}`
  const ask = (window: string) => READS.map((read) => app.ask(`/api/${read}&site=1&${window}`))
  return {
    /** Resolves when the last of `count` dashboards has all its answers. */
    async open(count: number, which: 'equal' | 'different'): Promise<void> {
      const same = nextWindow()
      const asked = Array.from({ length: count }, () => ask(which === 'equal' ? same : nextWindow()))
      await Promise.all(asked.flat())
    },
  }
}

const nextMessage = async <T>(from: ChildProcess): Promise<T> => (await once(from, 'message'))[0]

/** Latencies of the pages since the last call; no page may have failed. */
async function p99(readers: ChildProcess): Promise<number> {
  readers.send('how was it')
  const report = await nextMessage<{ failed: number; p99: number }>(readers)
  if (report.failed > 0) throw new Error(`${report.failed} pages failed`)
  return report.p99
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
