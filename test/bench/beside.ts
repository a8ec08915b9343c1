import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startInstance } from '../fixtures/instance.js'
import { makeDataDirectory } from './data-directory.js'

const RATE = 1_000
const READS = [
  ...['stats/overview', 'stats/timeseries', 'stats/pages', 'stats/sources', 'stats/events', 'stats/journeys'],
  ...['stats/sessions', 'agents/overview', 'agents/coverage', 'content/decay'],
]

/**
 * Reads of 90 days through HTTP, alone and while 1,000 pages a second go through the same process and are
 * stored; and the p99 of those pages, alone and while the reads are asked. In turns, medians. Arguments: hits, fetches
 * (10,000,000 each), rounds.
 */
export async function run(args: string[] = []): Promise<void> {
  const [people = 10_000_000, agents = 10_000_000, rounds = 5] = args.map(Number)
  const data = await makeDataDirectory({ people, agents, paths: 2_000 })
  const origin = fork(new URL('./proxy-child.js', import.meta.url), ['origin', '0'])
  const { port } = await told<{ port: number }>(origin)
  const app = await startInstance(`http://127.0.0.1:${port}`, data)
  const alone = new Map(READS.map((read) => [read, [] as number[]]))
  const beside = new Map(READS.map((read) => [read, [] as number[]]))
  const pages = { alone: [] as number[], beside: [] as number[] }
  /** Asks each read once, and says how long each took. */
  const ask = async (into: Map<string, number[]>) => {
    for (const read of READS) {
      const from = performance.now()
      await app.ask(`/api/${read}?site=1&range=90d`)
      into.get(read)?.push(performance.now() - from)
    }
  }
  try {
    await ask(new Map())
    for (let round = 0; round < rounds; round++) {
      await ask(alone)
      const readers = fork(new URL('./reader.js', import.meta.url), [new URL(app.site).port, String(RATE)])
      try {
        await sleep(2_000)
        await p99(readers)
        await sleep(10_000)
        pages.alone.push(await p99(readers))
        await ask(beside)
        pages.beside.push(await p99(readers))
      } finally {
        readers.disconnect()
        await once(readers, 'exit')
      }
    }
    console.log(
      `${people} hits, ${agents} fetches; median ms of ${rounds} rounds\n| read | alone | beside ${RATE}/s | ratio |`,
    )
    console.log('|---|---|---|---|')
    const line = (name: string, a: number, b: number) =>
      console.log(`| ${name} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${(b / a).toFixed(2)} |`)
    for (const read of READS) line(read, median(alone.get(read)), median(beside.get(read)))
    line('page, p99', median(pages.alone), median(pages.beside))
    const stored = await app.pageviews()
    console.log(`${stored} pages stored; ${app.output().match(/"level":[45]0.*/g)?.length ?? 0} warnings`)
  } finally {
    await app.stop()
    origin.disconnect()
    rmSync(dirname(data), { recursive: true, force: true })
  }
}

const told = async <T>(from: ChildProcess): Promise<T> => (await once(from, 'message'))[0]

/** Latencies of the pages since the last call; no page may have failed. */
async function p99(readers: ChildProcess): Promise<number> {
  readers.send('how was it')
  const report = await told<{ answered: number; failed: number; p99: number }>(readers)
  if (report.failed > 0) throw new Error(`${report.failed} pages failed`)
  return report.p99
}

const median = (times: readonly number[] = []): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN
