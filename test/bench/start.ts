import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printAims } from './aims.js'
import { startProduct } from './product.js'
import { child } from './proxy.js'
import { activityOfAll } from './usage.js'

/**
 * Milliseconds from `readership proxy` to the first page and to the stored row, and the CPU of both processes until then,
 * with the files of an earlier run. The argument is the number of starts.
 */
export async function run(args: string[] = []): Promise<void> {
  const starts = Number(args[0] ?? 9)
  const origin = await child('origin', 0)
  const data = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const found: { serving: number; ready: number; cpu: number; rss: number }[] = []
  try {
    for (let n = 0; n <= starts; n++) {
      const product = await startProduct(`http://127.0.0.1:${origin.port}`, { data })
      const [serving, ready] = await Promise.all([product.serving, product.ready])
      const { cpu, rss } = activityOfAll(product.pid)
      // The first start creates the files.
      if (n > 0) found.push({ serving, ready, cpu: cpu / 1e3, rss: rss / 1e6 })
      await product.stop()
    }
    const median = (key: keyof (typeof found)[number]) => {
      const sorted = found.map((one) => one[key]).toSorted((a, b) => a - b)
      return sorted[sorted.length >> 1]
    }
    printAims([
      { what: 'first page, ms', ours: median('serving'), peers: [], aim: 500 },
      { what: 'ready, ms', ours: median('ready'), peers: [], aim: 1_200 },
      { what: 'CPU until ready, ms', ours: median('cpu'), peers: [] },
      { what: 'memory when ready, MB', ours: median('rss'), peers: [] },
    ])
  } finally {
    origin.stop()
    rmSync(data, { recursive: true, force: true })
  }
}
