import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startInstance } from '../fixtures/instance.js'
import { printAims } from './aims.js'
import { load } from './load.js'
import { sharedOutOfAll, usageOfAll } from './usage.js'

const CONNECTIONS = 8
const PAGE = 1_024

/** Often enough to see the memory of a checkpoint. */
const SAMPLE_MS = 200

/**
 * Memory of the process that serves and of the worker together, under load over ten minutes (the argument, at least 2), of
 * the real `readership proxy`; every request is a page and a row. One line each half minute, then whether the memory grew
 * and how high it rose for a moment, both after the first minute.
 */
export async function run(args: string[] = []): Promise<void> {
  const minutes = Math.max(2, Number(args[0] ?? 10))
  const page = Buffer.alloc(PAGE, 'x')
  const origin = createServer((_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': PAGE })
    res.end(page)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => origin.once('listening', resolve))
  const bound = origin.address()
  const data = await mkdtemp(join(tmpdir(), 'readership-soak-'))
  const app = await startInstance(
    `http://127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`,
    join(data, 'data'),
  )
  const samples: { minute: number; rss: number }[] = []
  const from = performance.now()
  const sampling = setInterval(() => {
    samples.push({ minute: (performance.now() - from) / 60_000, rss: usageOfAll(app.child.pid).rss / 1e6 })
  }, SAMPLE_MS)
  try {
    const port = Number(new URL(app.site).port)
    console.log('RSS is the sum over both processes; shared out: pages that both have count once')
    console.log('minute   RSS MB   highest   shared out MB   req/s   p99 ms')
    while (performance.now() - from < minutes * 60_000) {
      const { requests, seconds, latencies } = await load(port, {
        path: '/',
        size: PAGE,
        connections: CONNECTIONS,
        ms: 30_000,
      })
      const minute = (performance.now() - from) / 60_000
      const rss = rssBetween(samples, minute - 0.5, minute)
      const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
      console.log(
        [
          minute.toFixed(1).padStart(6),
          median(rss).toFixed(0).padStart(8),
          Math.max(...rss)
            .toFixed(0)
            .padStart(9),
          (sharedOutOfAll(app.child.pid) / 1e6).toFixed(0).padStart(15),
          (requests / seconds).toFixed(0).padStart(7),
          p99.toFixed(1).padStart(8),
        ].join(' '),
      )
    }
    const minutely = Array.from({ length: Math.floor(minutes) - 1 }, (_, i) =>
      median(rssBetween(samples, i + 1, i + 2)),
    )
    const settled = rssBetween(samples, 1, minutes)
    printAims([
      { what: 'highest minute of lowest', ours: Math.max(...minutely) / Math.min(...minutely), peers: [], aim: 1.05 },
      { what: 'highest moment of median', ours: Math.max(...settled) / median(settled), peers: [], aim: 1.3 },
    ])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    console.log(
      metrics
        .split('\n')
        .filter((line) => /^readership_(rows|drop)/.test(line))
        .join('\n'),
    )
  } finally {
    clearInterval(sampling)
    await app.stop()
    origin.closeAllConnections()
    origin.close()
    rmSync(data, { recursive: true, force: true })
  }
}

const rssBetween = (samples: readonly { minute: number; rss: number }[], start: number, end: number): number[] =>
  samples.filter(({ minute }) => minute >= start && minute < end).map(({ rss }) => rss)
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
