import { monitorEventLoopDelay } from 'node:perf_hooks'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createPdfRenderer } from '../../src/analytics/export/pdf.js'
import { createApp } from '../../src/api/app.js'
import { exportRoutes } from '../../src/api/export.js'
import { listenAdmin } from '../../src/api/server.js'
import { duckdbDialect } from '../../src/storage/dialects/duckdb.js'
import { sql } from '../../src/storage/sql.js'
import type { ResultRow, Store } from '../../src/storage/store.js'
import { startWorkerClient } from '../../src/worker-client/worker-client.js'
import { usageOfAll } from './usage.js'

/** The service of one site in a process of its own, over rows made as they are asked for, or over a real engine. */
const [rows = '1000000', data] = process.argv.slice(2)
const made: Store['stream'] = async function* () {
  for (let n = 0; n < Number(rows); n += 2_048) {
    // As a worker's message would: on a later turn.
    await new Promise((resolve) => setImmediate(resolve))
    yield Array.from({ length: Math.min(2_048, Number(rows) - n) }, (_, i): ResultRow => {
      const views = (n + i) % 977
      return {
        ...{
          pathname: `/section/${(n + i) % 97}/page/${n + i}`,
          visitors: views,
          sessions: views,
          pageviews: views + 1,
        },
        ...{
          entries: 1,
          exits: 1,
          exit_rate: 1 / (views + 1),
          bounce: 0.25,
          time_on_page: views / 7,
          scroll_depth: 50.5,
        },
      }
    })
  }
}
const quiet = { info() {}, warn: console.error, error: console.error }
const engine =
  data === undefined
    ? undefined
    : await startWorkerClient({ data, log: quiet, offline: true, min_free_disk: 0, memory_limit: '1GB' })
const store = engine?.events ?? { dialect: duckdbDialect, query: async () => [], stream: made }
if (engine) await engine.events.query(sql`select 1`)
const site = {
  ...{
    id: 1,
    version: 1,
    org: 1,
    name: 'Bench',
    domains: [],
    timezone: 'Europe/Berlin',
    currency: 'EUR',
    excluded_paths: [],
    sections: [],
  },
  ...{ respect_gpc: false, visitor_salt: 'month' as const },
}
const app = createApp({
  routes: exportRoutes({
    ...{
      store,
      now: () => new Date(),
      catalog: listAgents(loadCatalog()),
      pdf: createPdfRenderer(undefined),
      log: console.error,
    },
    sites: { get: async () => site, list: async () => [site] },
  }),
  credentials: {
    keys: {
      authenticate: async () => {
        throw new Error('the operator asks')
      },
      isActive: async () => false,
    },
  },
  version: '0',
  log: console.error,
})
const listener = await listenAdmin((request, peer) => app(request, { ...peer, operator: true }), '127.0.0.1', 0)
const mega = (bytes: number) => Math.round(bytes / 1_000_000)
process.send?.({ at: listener.at, idle_mb: mega(usageOfAll().rss) })
let peak = 0
const delay = monitorEventLoopDelay({ resolution: 2 })
delay.enable()
setInterval(() => {
  peak = Math.max(peak, usageOfAll().rss)
}, 20)
process.on('message', () => {
  const ms = (ns: number) => Math.round(ns / 1e6)
  const [turn_p99_ms, turn_max_ms] = [ms(delay.percentile(99)), ms(delay.max)]
  process.send?.({ peak_mb: mega(Math.max(peak, usageOfAll().rss)), turn_p99_ms, turn_max_ms })
})
process.on('disconnect', () => void Promise.resolve(engine?.close()).then(() => process.exit(0)))
