import { mkdirSync } from 'node:fs'
import t from 'tap'
import type { InstanceStatus } from '../../../src/api/instance-status.js'
import { listenControl, socketPath } from '../../../src/api/server.js'
import { runProgram } from '../../../src/app/cli/index.js'
import { formatStatus } from '../../../src/app/cli/status-screen.js'
import { textWidth } from '../../../src/app/cli/text-width.js'
import { dataDir, eventually } from '../../fixtures/instance.js'

const NOW = '2026-11-24T12:00:00.000Z'
const STATUS: InstanceStatus = {
  version: '1.2.3',
  started_at: '2026-11-21T08:00:00.000Z',
  now: NOW,
  origin: 'http://localhost:3000',
  store: { state: 'ready', restarts: 0 },
  rows: { stored: 1_203_332, a_second: 12.44, waiting: 17, dropped: { prefetch: 9, queue_full: 0 } },
  requests: { active: 3, statuses: { '2xx': 1_234, '4xx': 3 }, failures: {}, addresses: {} },
  memory: { site_bytes: 120_000_000, worker_bytes: 310_000_000 },
  data: {
    directory: '/data',
    files: [
      { name: 'events.duckdb', bytes: 1_200_000_000 },
      { name: 'control.duckdb', bytes: 3_100_000 },
      { name: 'agents', bytes: 2_000_000 },
      { name: 'salts.json', bytes: 500 },
    ],
    free_bytes: 12_300_000_000,
  },
  robots: [{ hostname: 'a.com', site: 1, standing: 'served', checked_at: '2026-11-24T11:57:00.000Z' }],
  ranges: { agents: 42, stale: 0, oldest: '2026-11-24T10:00:00.000Z' },
  geo: [{ name: 'DB-IP', date: '2026-06-17' }],
}
const pipe = { colour: false, columns: undefined }

t.test('the state of a healthy instance, line by line', async (t) => {
  t.same(formatStatus(pipe, STATUS).split('\n'), [
    'readership 1.2.3   up 3 d 4 h',
    'proxies http://localhost:3000, data /data',
    '',
    '✓ State       stores rows',
    '  Rows        12.4 a second in the last minute, 1,203,332 since the start',
    '  Waiting     17 rows',
    '  Requests    3 in progress, 2xx 1,234, 4xx 3',
    '  Memory      site 120.0 MB, worker 310.0 MB',
    '  Files       events.duckdb 1.2 GB, control.duckdb 3.1 MB, agents 2.0 MB, others 500 B',
    '  Disk        12.3 GB free',
    '  robots.txt  a.com served, checked 3 m 0 s ago',
    '  Ranges      of 42 agents, the oldest from 2 h 0 m ago',
    '  Geo data    DB-IP of 2026-06-17',
    '  Gap         none within 7 days',
    '  Last error  none since the start',
    '',
  ])
})

t.test('a sidecar says that its rules are not confirmed any more', async (t) => {
  const rules = { confirmed_at: '2026-11-24T09:00:00.000Z' }
  t.notMatch(formatStatus(pipe, { ...STATUS, rules }), /Rules/)
  const refused = { ...rules, trouble: 'the collector refuses the ingest key with 401' }
  t.match(
    formatStatus(pipe, { ...STATUS, rules: refused }),
    /^! Rules {7}not confirmed for 3 h 0 m: the collector refuses the ingest key with 401; the last\n {14}ones decide$/m,
  )
})

t.test('a fleet has its role, its writer and its engines', async (t) => {
  const lease = { epoch: 1_207, held: true, age_seconds: 1.2 }
  const engines = { rows: 'ClickHouse', rows_bytes: 3_200_000_000, records: 'PostgreSQL', records_bytes: 12_000_000 }
  const files = { rows: 'DuckDB', records: 'DuckDB' }
  const writer = 'http://a:8081'
  const rows: [Pick<InstanceStatus, 'fleet' | 'engines'>, string[], why: string][] = [
    [
      { fleet: { role: 'writer', ...lease }, engines },
      [
        '✓ State       stores rows',
        '✓ Role        writer, epoch 1,207, renewed 1 s ago',
        '  Engines     rows in ClickHouse (3.2 GB), records in PostgreSQL (12.0 MB)',
      ],
      'the writer',
    ],
    [
      { fleet: { role: 'reader', writer, ...lease } },
      [
        '✓ State       answers reads',
        '✓ Role        reader; the writer is http://a:8081, epoch 1,207, renewed 1 s ago',
        '  Rows        12.4 a second in the last minute, 1,203,332 since the start',
      ],
      'a reader, whose worker does not say its engines',
    ],
    [
      { fleet: { role: 'reader', writer, ...lease, held: false, age_seconds: 75 }, engines: files },
      [
        '✓ State       answers reads',
        '✗ Role        reader; no process writes: epoch 1,207, renewed 1 m 15 s ago',
        '  Engines     rows in DuckDB, records in DuckDB',
      ],
      'a dead writer',
    ],
  ]
  for (const [given, lines, why] of rows)
    t.strictSame(
      formatStatus(pipe, { ...STATUS, ...given })
        .split('\n')
        .slice(3, 6),
      lines,
      why,
    )
})

t.test('each finding has its mark and its reason', async (t) => {
  const ago = (seconds: number) => new Date(Date.parse(NOW) - seconds * 1000).toISOString()
  const { robots: _, ranges: __, geo: ___, ...shipping } = STATUS
  const host = (hostname: string, standing: 'served' | 'unreachable', age: number) => ({
    ...{ hostname, standing, checked_at: ago(age) },
  })
  const backups = { directory: '/b', keep: 7, failures: 0 }
  const rows: [InstanceStatus, string, string][] = [
    [{ ...STATUS, store: { state: 'degraded', reason: 'x' } }, '✗ State       degraded: x', 'a store that stands'],
    [
      { ...STATUS, store: { state: 'ready', restarts: 2 } },
      '! State       stores rows; its worker was started again 2 times',
      'a worker that died',
    ],
    [
      { ...STATUS, store: { state: 'ready', losses: ['wal cut: 5 bytes'] } },
      '! State       stores rows, but lost data at its start: wal cut: 5 bytes',
      'a loss at the start',
    ],
    [
      {
        ...STATUS,
        data: {
          ...STATUS.data,
          files: ['events.duckdb.wal', 'events.duckdb.2026-11-24T08-30-00-123Z', 'events.duckdb.schema-3'].map(
            (name) => ({
              ...{ name, bytes: 1 },
            }),
          ),
        },
      },
      '! Set aside   events.duckdb.2026-11-24T08-30-00-123Z: what it had is missing from the reads;',
      'a file that a start has set aside; the rest is on the next line',
    ],
    [
      { ...STATUS, rows: { stored: 0, waiting: 6_000, dropped: {} } },
      '! Waiting     6,000 rows',
      'more than batches on their way',
    ],
    [
      { ...STATUS, rows: { stored: 0, waiting: 0, dropped: {} } },
      '  Rows        no minute measured yet, 0 since the start',
      'the first ten seconds',
    ],
    [
      { ...STATUS, rows: { stored: 0, waiting: 0, dropped: { queue_full: 1_200, prefetch: 3 } } },
      '! Lost        1,200 queue_full',
      'a loss, but not what is left out by design',
    ],
    [
      {
        ...STATUS,
        size: {
          ...{ used_bytes: 850_000, free_bytes: 1_000_000, max_bytes: 1_000_000 },
          tables: [
            { table: 'events', rows: 9, bytes: 500_000, growth_bytes: 7_000 },
            { table: 'sessions', rows: 0, bytes: 0, growth_bytes: 0 },
            { table: 'agent_events', rows: 9, bytes: 600_000, growth_bytes: 1_000 },
          ],
        },
      },
      '! Store       850.0 KB of 1.0 MB, +8.0 KB a day (agent_events 600.0 KB +1.0 KB, events 500.0 KB',
      'more than 80 % of --max-disk; the rest is on the next line',
    ],
    [
      { ...STATUS, backups: { ...backups, last: { taken_at: ago(7_200), bytes: 10_800_000 } } },
      '✓ Backup      2 h 0 m ago, 10.8 MB in /b, which keeps 7',
      'a backup of this night',
    ],
    [
      { ...STATUS, backups: { ...backups, last: { taken_at: ago(172_801), bytes: 1 } } },
      '! Backup      2 d 0 h ago, 1 B in /b, which keeps 7',
      'one that is too old',
    ],
    [{ ...STATUS, backups }, '! Backup      none in /b yet', 'the first minute'],
    [
      { ...STATUS, backups: { ...backups, failures: 1, failure: { at: ago(60), says: 'no disk', mend: 'Buy one.' } } },
      '✗ Backup      failed 1 m 0 s ago: no disk: Buy one. The last one: none in /b yet',
      'a failure',
    ],
    [
      { ...STATUS, requests: { active: 0, statuses: {}, failures: { refused: 4 }, addresses: {} } },
      '! Origin      failed: refused 4',
      'an origin that fails',
    ],
    [
      { ...STATUS, robots: [host('a.com', 'served', 60), host('b.com', 'unreachable', 60)] },
      '! robots.txt  b.com unreachable, checked 1 m 0 s ago; 1 more hostname',
      'the one with a fault is named',
    ],
    [
      { ...STATUS, robots: [host('a.com', 'served', 7_200)] },
      '! robots.txt  a.com served, checked 2 h 0 m ago',
      'an old copy',
    ],
    [
      { ...STATUS, robots: [1, 2, 3, 4].map((n) => host(`${n}.com`, 'served', 60)) },
      '  robots.txt  4 hostnames, all fetched within an hour',
      'many without a fault',
    ],
    [
      { ...STATUS, ranges: { agents: 0, stale: 0 } },
      '! Ranges      no published addresses of agents: their claims stay indeterminate',
      'no ranges',
    ],
    [
      { ...STATUS, gap: { start: ago(7_200), end: ago(3_600), reason: 'not_running' } },
      '! Gap         1 h 0 m until 1 h 0 m ago: not running',
      'a gap of today',
    ],
    [
      { ...STATUS, gap: { start: ago(180_000), end: ago(176_400), reason: 'rows_lost' } },
      '  Gap         1 h 0 m until 2 d 1 h ago: rows lost',
      'one of the day before yesterday',
    ],
    [
      { ...STATUS, last_error: { at: ago(90), message: 'a \u001b[2J' } },
      '! Last error  1 m 30 s ago: a \\x1b[2J',
      'an error, escaped',
    ],
    [
      { ...shipping, collector: 'https://c.com', spool: { rows: 4, bytes: 900, limit_bytes: 1_000 } },
      '! Spool       4 rows wait, 900 B of 1.0 KB',
      'a spool that is more than half full',
    ],
    [
      { ...shipping, collector: 'https://c.com', store: { state: 'ready', trouble: '503' } },
      '✗ State       rows wait on disk: the collector accepts none (503)',
      'a collector that is away',
    ],
  ]
  for (const [status, line, why] of rows) t.ok(formatStatus(pipe, status).split('\n').includes(line), `${why}: ${line}`)
})

t.test('no line is wider than a narrow terminal, and colour changes no text', async (t) => {
  const long = { ...STATUS, last_error: { at: NOW, message: `${'word '.repeat(30)}${'漢'.repeat(80)}` } }
  for (const columns of [40, 60, 200]) {
    const plain = formatStatus({ colour: false, columns }, long)
    for (const line of plain.split('\n')) t.ok(textWidth(line) <= Math.min(columns, 100), `${columns}: ${line}`)
    t.match(plain.replaceAll(/\s/g, ''), '漢'.repeat(80), 'nothing is cut')
    const coloured = formatStatus({ colour: true, columns }, long)
    t.equal(
      coloured
        .split('\u001b[')
        .map((part, i) => (i === 0 ? part : part.replace(/^\d+m/, '')))
        .join(''),
      plain,
    )
  }
})

t.test(
  '--watch draws each screen over the one before, says that the instance is away, and ends at Ctrl-C',
  async (t) => {
    const data = dataDir(t)
    mkdirSync(data)
    const control = await listenControl(async () => Response.json({ data: STATUS }), socketPath(data))
    let drawn = ''
    let interrupt = () => {}
    const watching = runProgram(['status', '--data', data, '--watch'], {
      ...{ colour: false, columns: 60, version: '1.2.3', pid: 1, env: {}, err() {}, onUncaughtError() {} },
      out(text) {
        drawn += text
      },
      onSignal(name, listener) {
        if (name === 'SIGINT') interrupt = listener
      },
      exit: (code) => {
        throw new Error(`exit ${code}`)
      },
    })
    await eventually('two screens', () => drawn.split('readership ').length > 2)
    const screen = formatStatus({ colour: false, columns: 60 }, STATUS).replaceAll('\n', '\u001b[K\n')
    t.equal(drawn, `\u001b[2J${`\u001b[H${screen}\u001b[J`.repeat(2)}`)
    await control.close()
    await eventually('a line in its place', () => drawn.includes('\u001b[HNo instance runs on '))
    interrupt()
    t.equal(await watching, 0)
  },
)
