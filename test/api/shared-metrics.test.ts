import t from 'tap'
import { addSharedMetrics, createMetricRegistry, type MetricRegistry } from '../../src/api/metrics.js'

const LEASE = { held: true, epoch: 7, age_seconds: 1.5 }
const SERVER = { parts: { events: 12, sessions: 3 }, unfinished_mutations: 2 }
const COMMITS = { count: 4, rows: 900, seconds: 0.25 }

/** The lines with a value, without `readership_`. */
async function scrape({ render }: MetricRegistry): Promise<string[]> {
  const lines = (await render()).text.split('\n')
  return lines.filter((line) => line.startsWith('readership_')).map((line) => line.replace('readership_', ''))
}

t.test('what processes share has lines, and what is not known has none', async (t) => {
  const lease = ['lease_held 1', 'lease_epoch 7', 'lease_renewal_age_seconds 1.5']
  const server = [
    'clickhouse_parts{table="events"} 12',
    'clickhouse_parts{table="sessions"} 3',
    'clickhouse_mutations_unfinished 2',
  ]
  const commits = ['clickhouse_commits_total 4', 'clickhouse_rows_total 900', 'clickhouse_commit_seconds_total 0.25']
  const rows: [() => Promise<unknown>, string[], string][] = [
    [async () => ({ lease: LEASE }), lease, 'records in PostgreSQL, rows in a file'],
    [async () => ({ lease: LEASE, server: SERVER }), [...lease, ...server], 'a process that only reads'],
    [
      async () => ({ server: { ...SERVER, commits: COMMITS } }),
      [...commits, ...server],
      'the only process, with its records in a file',
    ],
    [
      async () => ({ server: { ...SERVER, replication_delay_seconds: 9 } }),
      [...server, 'clickhouse_replication_delay_seconds 9'],
      'replicas',
    ],
    [async () => ({ lease: { ...LEASE, held: false } }), ['lease_held 0', ...lease.slice(1)], 'no process writes'],
    [async () => ({}), [], 'the server is away'],
    [() => Promise.reject(new Error('away')), [], 'the worker is away'],
    [async () => 'nonsense', [], 'no status'],
  ]
  for (const [read, expected, why] of rows) {
    const registry = createMetricRegistry()
    addSharedMetrics(registry, read, () => 0)
    t.strictSame(await scrape(registry), expected, why)
  }
})

t.test('scrapes within five seconds ask once, and old values go', async (t) => {
  const registry = createMetricRegistry()
  let [now, asked] = [0, 0]
  const answers: Promise<unknown>[] = [
    Promise.resolve({ lease: LEASE }),
    Promise.resolve({ lease: { ...LEASE, epoch: 8 } }),
    Promise.reject(new Error('away')),
  ]
  addSharedMetrics(
    registry,
    () => answers[asked++] ?? Promise.resolve({}),
    () => now,
  )
  const steps: [number, number, string | undefined][] = [
    [0, 1, 'lease_epoch 7'],
    [4_000, 1, 'lease_epoch 7'],
    [5_001, 2, 'lease_epoch 8'],
    [10_003, 3, undefined],
  ]
  for (const [at, count, line] of steps) {
    now = at
    const lines = await scrape(registry)
    t.equal(asked, count, `asked at ${at}`)
    t.equal(
      lines.find((each) => each.startsWith('lease_epoch')),
      line,
      `${at}`,
    )
  }
})
