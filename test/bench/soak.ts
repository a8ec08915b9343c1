import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startInstance } from '../fixtures/instance.js'
import { load } from './load.js'
import { sharedOutOfAll, usageOfAll } from './usage.js'

const CONNECTIONS = 8
const PAGE = 1_024

/**
 * Issue 2, show 5: memory of the process that serves and of the worker together, under load over ten minutes (`minutes` is the argument), of the real
 * `readership proxy`; every request is a page and a row. One line each half minute, then what the halves say.
 */
export async function run(args: string[] = []): Promise<void> {
  const minutes = Number(args[0] ?? 10)
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
  const rss: number[] = []
  try {
    const port = Number(new URL(app.site).port)
    const from = performance.now()
    console.log('RSS is the sum over both processes; shared out: pages that both have count once')
    console.log('minute   RSS MB   shared out MB   req/s   p99 ms')
    while (performance.now() - from < minutes * 60_000) {
      const { requests, seconds, latencies } = await load(port, {
        path: '/',
        size: PAGE,
        connections: CONNECTIONS,
        ms: 30_000,
      })
      rss.push(Math.round(usageOfAll(app.child.pid).rss / 1e6))
      const minute = ((performance.now() - from) / 60_000).toFixed(1)
      const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
      console.log(
        [
          minute.padStart(6),
          String(rss.at(-1)).padStart(8),
          (sharedOutOfAll(app.child.pid) / 1e6).toFixed(0).padStart(15),
          (requests / seconds).toFixed(0).padStart(7),
          p99.toFixed(1).padStart(8),
        ].join(' '),
      )
    }
    const half = rss.length >> 1
    const highest = (values: number[]) => Math.max(...values)
    console.log(`highest RSS: first half ${highest(rss.slice(0, half))} MB, second half ${highest(rss.slice(half))} MB`)
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    console.log(
      metrics
        .split('\n')
        .filter((line) => /^readership_(rows|drop)/.test(line))
        .join('\n'),
    )
  } finally {
    await app.stop()
    origin.closeAllConnections()
    origin.close()
    rmSync(data, { recursive: true, force: true })
  }
}
