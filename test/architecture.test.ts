import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/**
 * The allowed imports: each place in `src` and the places it may import. A folder may always import itself; a file at
 * the top of `src` stands under its own name. The table has no cycle, and one test checks that.
 */
const MAY: Record<string, readonly string[]> = {
  'src/base/errors': [],
  'src/base/address': [],
  'src/base/hostname': [],
  // Lines of access logs in, entries out.
  'src/history/access-logs': ['src/base/address', 'src/base/nearest-name', 'src/base/errors'],
  'src/base/nearest-name': [],
  'src/base/option-names': ['src/base/nearest-name'],
  'src/storage/sql': [],
  'src/base/cache': [],
  'src/base/private-socket': [],
  'src/base/event-loop-queue': [],
  'src/base/slots': [],
  'src/base/fair-share': [],
  'src/storage/rows': [],
  'src/storage/columns': ['src/storage/rows'],
  'src/storage/aggregates/session-aggregates': ['src/storage/columns', 'src/storage/rows', 'src/storage/sql'],
  'src/storage/aggregates/daily-counts': [
    'src/base/assistants',
    'src/storage/aggregates/session-aggregates',
    'src/storage/sql',
  ],
  'src/browser/tracker': [],
  // The app in the browser, a client of the API like any other.
  'src/browser/dashboard': [],
  'src/client': ['src/browser/dashboard/client'],
  'src/build/licences': [],
  'src/build/dashboard': ['src/build/licences'],
  'src/build/programs': ['src/build/licences'],
  'src/app/config': ['src/app/config-values', 'src/base/nearest-name'],
  'src/app/config-values': ['src/base/hostname'],
  'src/storage/store': ['src/storage/sql', 'src/storage/rows', 'src/base/errors'],
  // The store of hits and fetches as the worker uses it, whatever its engine.
  'src/storage/row-changes': ['src/storage/event-store', 'src/storage/columns', 'src/storage/rows', 'src/storage/sql'],
  'src/storage/event-store': [
    'src/storage/commit-position',
    'src/capture',
    'src/storage/rows',
    'src/storage/store',
    'src/storage/sql',
  ],
  'src/storage/aggregates/aggregation': ['src/storage/event-store', 'src/storage/rows', 'src/storage/store'],
  'src/storage/records/records-schema': [],
  'src/storage/records/shared-records': ['src/storage/store', 'src/storage/sql', 'src/base/errors'],
  'src/storage/records/copy-marker': ['src/storage/store', 'src/storage/sql', 'src/base/errors'],
  'src/storage/dialects': ['src/storage/columns', 'src/storage/sql'],
  'src/site/readership': ['src/capture'],
  'src/base/outbound': ['src/base/address'],
  'src/agents': ['src/base/outbound', 'src/base/address', 'src/base/cache'],
  'src/agents/policy': [
    'src/agents',
    'src/base/cache',
    'src/base/outbound',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  // Both processes read what an exchange or a browser said.
  'src/capture': ['src/agents', 'src/storage/rows', 'src/base/cache', 'src/base/address'],
  'src/analytics/query': [
    'src/storage/aggregates/daily-counts',
    'src/storage/aggregates/session-aggregates',
    'src/base/nearest-name',
    'src/storage/sql',
    'src/storage/store',
    'src/base/errors',
  ],
  'src/analytics/reads': ['src/analytics/query', 'src/storage/sql', 'src/storage/store', 'src/base/errors'],
  // Exports of other tools in, days out.
  'src/history/other-tools': ['src/history/access-logs/decompress', 'src/analytics/query', 'src/base/errors'],
  // The worker's process.
  'src/worker/ingest': [
    'src/capture',
    'src/agents/policy',
    'src/agents',
    'src/storage/rows',
    'src/base/cache',
    'src/base/address',
  ],
  // Shows access logs without a store.
  'src/history/log-report': [
    ...[
      'src/history/access-logs',
      'src/worker/ingest',
      'src/agents/policy',
      'src/analytics/export',
      'src/capture',
      'src/agents',
      'src/base/cache',
    ],
  ],
  // Lines of access logs on their way to the worker.
  'src/worker-client/log-batch': [],
  'src/history/log-import': ['src/history/access-logs', 'src/capture', 'src/agents', 'src/base/cache'],
  'src/storage/duckdb': [
    'src/base/slots',
    'src/storage/records/copy-marker',
    'src/storage/row-changes',
    'src/storage/aggregates/aggregation',
    'src/storage/event-store',
    'src/storage/dialects',
    'src/capture',
    'src/worker-client',
    'src/storage/aggregates/daily-counts',
    'src/storage/aggregates/session-aggregates',
    'src/storage/records/records-schema',
    'src/storage/columns',
    'src/storage/rows',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  // Read through the control socket by `readership migrate`.
  'src/storage/migrate/tables': ['src/storage/columns'],
  'src/storage/migrate/read-events': [
    'src/storage/migrate/tables',
    'src/storage/dialects',
    'src/storage/store',
    'src/storage/sql',
  ],
  'src/storage/migrate/read-records': [
    'src/storage/migrate/tables',
    'src/storage/records/records-schema',
    'src/storage/store',
    'src/storage/sql',
  ],
  // Runs in the process of a command, which opens stores of any engine.
  'src/storage/migrate': [
    'src/storage/clickhouse',
    'src/storage/duckdb',
    'src/storage/postgres',
    'src/worker/ingest/salts',
    'src/storage/records/lease',
    'src/storage/records/shared-records',
    'src/storage/dialects',
    'src/storage/records/copy-marker',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/storage/backup/manifest': [],
  'src/storage/backup/take': [
    'src/storage/backup/manifest',
    'src/storage/migrate/tables',
    'src/storage/migrate/read-events',
    'src/storage/migrate/read-records',
    'src/storage/dialects',
    'src/storage/event-store',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/storage/backup/backups': ['src/storage/backup/manifest', 'src/base/errors'],
  'src/storage/backup': [
    ...[
      'src/analytics/export/format',
      'src/storage/migrate/tables',
      'src/storage/migrate/read-events',
      'src/storage/migrate/read-records',
    ],
    'src/storage/duckdb',
    'src/storage/dialects',
    'src/storage/event-store',
    'src/storage/records/copy-marker',
    'src/storage/records/records-schema',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/storage/postgres': [
    'src/storage/records/records-schema',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/storage/clickhouse': [
    'src/storage/row-changes',
    'src/storage/aggregates/aggregation',
    'src/storage/event-store',
    'src/storage/dialects',
    'src/capture',
    'src/worker-client',
    'src/storage/aggregates/daily-counts',
    'src/storage/aggregates/session-aggregates',
    'src/storage/columns',
    'src/storage/rows',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  // The only file of the write path that knows engines.
  'src/worker/open-stores': [
    'src/storage/duckdb',
    // Loaded where a setting names a server.
    'src/storage/clickhouse/store',
    'src/storage/clickhouse/event-store',
    'src/storage/postgres/records',
    'src/storage/records/lease',
    'src/storage/records/shared-records',
    'src/storage/records/copy-marker',
    'src/worker-client',
    'src/storage/event-store',
    'src/storage/store',
    'src/base/errors',
  ],
  'src/worker': [
    ...['src/worker-client/log-batch', 'src/storage/backup/take', 'src/manage/imports'],
    'src/storage/event-store',
    'src/worker/ingest',
    'src/worker-client',
    'src/capture',
    'src/agents/policy',
    'src/agents',
    'src/base/outbound',
    'src/storage/columns',
    'src/storage/rows',
    'src/base/cache',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  // The site's process.
  'src/worker-client': [
    'src/storage/dialects',
    'src/capture',
    'src/agents/policy',
    'src/storage/rows',
    'src/storage/store',
    'src/storage/sql',
    'src/base/event-loop-queue',
    'src/base/errors',
  ],
  'src/site/shipping': ['src/capture', 'src/agents', 'src/base/cache', 'src/base/private-socket'],
  'src/manage': [
    'src/analytics/query',
    'src/capture',
    'src/base/hostname',
    'src/storage/rows',
    'src/storage/sql',
    'src/storage/store',
    'src/base/errors',
  ],
  'src/analytics/export': [
    'src/analytics/reads',
    'src/analytics/query',
    'src/storage/store',
    'src/base/slots',
    'src/base/fair-share',
    'src/base/errors',
  ],
  'src/manage/notify': [
    'src/manage',
    'src/analytics/export',
    'src/analytics/reads',
    'src/analytics/query',
    'src/agents/policy',
    'src/base/outbound',
    'src/base/signature',
    'src/base/address',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/manage/annotation-writers': ['src/manage', 'src/agents/policy', 'src/storage/store', 'src/storage/sql'],
  'src/api': [
    'src/base/fair-share',
    'src/base/hostname',
    ...['src/worker-client/log-batch', 'src/storage/backup/manifest', 'src/storage/backup/backups'],
    ...['src/storage/migrate/tables', 'src/storage/migrate/read-events', 'src/storage/migrate/read-records'],
    'src/manage/notify',
    'src/analytics/export',
    'src/manage',
    'src/analytics/reads',
    'src/analytics/query',
    'src/site/shipping/shipper',
    'src/worker-client',
    'src/capture',
    'src/agents/policy',
    'src/agents',
    'src/base/address',
    'src/base/private-socket',
    'src/site/readership',
    'src/base/event-loop-queue',
    'src/storage/columns',
    'src/storage/store',
    'src/storage/sql',
    'src/base/errors',
  ],
  'src/app/instance': ['src'],
  'src/site/proxy': ['src/site/readership', 'src/capture', 'src/base/address', 'src/base/option-names'],
  'src/app/cli': ['src'],
  'src/build/main': ['src/worker/ingest/place', 'src/build/dashboard', 'src/build/programs'],
  'src/index': [
    'src/base/errors',
    'src/base/address',
    'src/site/readership',
    'src/app/instance',
    'src/capture/observation',
    'src/site/proxy',
  ],
  'src/mount': ['src/site/proxy/node-handler', 'src/site/proxy/observe-web'],
  'src/web': ['src/agents', 'src/site/shipping/web', 'src/base/option-names'],
  bin: ['src/app/cli', 'src/app/config'],
  // An adapter imports `src/mount` and `src/web` alone where it runs without Node.
  adapters: ['src/index', 'src/mount', 'src/web'],
}

/** The only files or folders that may import each package. Every file may import zod. */
const HOME: Record<string, readonly string[]> = {
  'http-proxy': ['src/site/proxy/upgrade.ts'],
  'ipaddr.js': ['src/base/address.ts'],
  'robots-parser': ['src/agents/policy/longest-match.ts'],
  'ua-parser-js': ['src/capture/device.ts'],
  isbot: ['src/agents/general-pattern.ts'],
  'structured-headers': ['src/agents/signature/header-fields.ts'],
  '@duckdb/node-api': ['src/storage/duckdb/'],
  '@duckdb/node-bindings': ['src/storage/duckdb/'],
  // Types, and one import at run time, only where it is used.
  '@clickhouse/client': ['src/storage/clickhouse/'],
  pg: ['src/storage/postgres/'],
  // One file for each use.
  undici: ['src/base/outbound/', 'src/site/shipping/collector-client.ts', 'src/api/to-writer.ts'],
  'mmdb-lib': ['src/worker/ingest/place/'],
  'temporal-polyfill': ['src/analytics/query/'],
  '@hono/node-server': ['src/api/'],
  hono: ['src/api/', 'adapters/hono.ts'],
  express: ['adapters/express.ts'],
  commander: ['src/app/cli/'],
  pino: ['src/app/cli/log.ts'],
  'prom-client': ['src/api/metrics.ts', 'src/api/shared-metrics.ts'],
  yaml: ['src/app/config.ts'],
  pdfkit: ['src/analytics/export/pdf/'],
  fontkit: ['src/analytics/export/pdf/'],
  fzstd: ['src/history/access-logs/zstd.ts'],
  // Used by the build only.
  rolldown: ['src/build/main.ts', 'src/build/programs.ts', 'src/build/licences.ts'],
  terser: ['src/build/main.ts'],
  '@node-rs/argon2': ['src/manage/passwords.ts'],
  nodemailer: ['src/manage/notify/smtp-mailer.ts'],
  uqr: ['src/api/account/'],
  // The dashboard in the browser.
  preact: ['src/browser/dashboard/'],
  '@preact/signals': ['src/browser/dashboard/'],
  'd3-scale': ['src/browser/dashboard/charts/'],
  'd3-shape': ['src/browser/dashboard/charts/'],
  'd3-sankey': ['src/browser/dashboard/views/'],
  'd3-geo': ['src/browser/dashboard/views/'],
  'topojson-client': ['src/browser/dashboard/views/'],
  'topojson-specification': ['src/browser/dashboard/views/'],
  'world-atlas': ['src/browser/dashboard/views/'],
  'openapi-fetch': ['src/browser/dashboard/client/'],
  vite: ['src/build/dashboard.ts'],
}

/** The types of the API for its client, written by `npm run client`. */
const GENERATED = 'browser/dashboard/client/schema.ts'
const listFiles = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && file !== GENERATED)
    .map((file) => join(root, file))
const files = ['src', 'adapters', 'bin'].flatMap(listFiles)
const imports = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(
      /(?:^(?:import|export)\b[^'"]*?\bfrom\s+|^import\s+|\b(?:import|require)\()['"]([^'"]+)['"]/gm,
    ),
  ].map((match) => match[1] ?? '')
/** The files of this repository that a file imports, without their ending. */
const importedFiles = (file: string): string[] =>
  imports(file)
    .filter((from) => from.startsWith('.'))
    .map((from) => normalize(join(dirname(file), from)).replace(/\.js$/, ''))
const within = (path: string, place: string) =>
  path === place || path === `${place}.ts` || path === `${place}.tsx` || path.startsWith(`${place}/`)
const layerOf = (file: string) => Object.keys(MAY).find((layer) => within(file, layer))

t.test('the table of allowed imports has no cycle', async (t) => {
  // Places that may import all of `src` stand above the table and are imported by the entry points alone.
  const below = new Map(Object.entries(MAY).map(([place, allowed]) => [place, allowed.filter((one) => one !== 'src')]))
  const cycles: string[] = []
  const visit = (place: string, path: readonly string[]) => {
    if (path.includes(place)) cycles.push([...path.slice(path.indexOf(place)), place].join(' → '))
    else if (!done.has(place)) {
      for (const allowed of below.get(place) ?? []) visit(layerOf(`${allowed}.ts`) ?? allowed, [...path, place])
      done.add(place)
    }
  }
  const done = new Set<string>()
  for (const place of below.keys()) visit(place, [])
  t.same(cycles, [])
})

t.test('code of the site’s process never imports code of the worker’s process', async (t) => {
  const SITE = ['capture', 'engine', 'proxy', 'http', 'manage', 'notes', 'notify', 'export', 'ship'].map(
    (name) => `src/${name}`,
  )
  const WORKER = [
    'src/worker/ingest',
    'src/worker',
    'src/storage/duckdb',
    'src/storage/clickhouse',
    'src/storage/postgres',
  ]
  for (const file of files.filter((file) => SITE.some((place) => within(file, place))))
    t.same(
      importedFiles(file).filter((to) => WORKER.some((place) => within(to, place))),
      [],
      file,
    )
})

t.test('a file imports only what the table allows', async (t) => {
  for (const file of files) {
    const layer = layerOf(file)
    if (!layer) {
      t.fail(`${file} stands in no row of the table above`)
      continue
    }
    const wrong = importedFiles(file).filter(
      (to) => !within(to, layer) && !MAY[layer]?.some((place) => within(to, place)),
    )
    t.same(wrong, [], file)
  }
})

t.test('a package is imported only from its home', async (t) => {
  for (const file of files) {
    const strangers = imports(file)
      .filter((from) => !from.startsWith('.') && !from.startsWith('node:'))
      .map((from) =>
        from
          .split('/')
          .slice(0, from.startsWith('@') ? 2 : 1)
          .join('/'),
      )
      .filter((name) => name !== 'zod')
      .filter((name) => !HOME[name]?.some((home) => (home.endsWith('/') ? file.startsWith(home) : file === home)))
    t.same(strangers, [], file)
  }
})

t.test('the bundled programs load nothing of another engine without its setting', async (t) => {
  const loaded = new Map<string, string>()
  const load = (file: string): void => {
    if (loaded.has(file)) return
    const text = readFileSync(join('dist', file), 'utf8')
    loaded.set(file, text)
    for (const [, to = ''] of text.matchAll(/^(?:import|export)\b[^'"()]*["'](\.{1,2}\/[^'"]+)["']/gm))
      load(normalize(join(dirname(file), to)))
  }
  for (const program of ['bin/readership.js', 'src/worker/entry.js']) load(program)
  t.ok(loaded.size > 10, `${loaded.size} files`)
  for (const [file, text] of loaded) t.notMatch(text, /@clickhouse\/client|pg_advisory_lock/, file)
})

t.test('a file has at most 400 lines', async (t) => {
  for (const file of [...files, ...listFiles('test')]) {
    const lines = readFileSync(file, 'utf8').split('\n').length
    t.ok(lines <= 400, `${file} has ${lines} lines, at most 400`)
  }
})

t.test('only bin reads process.env and process.argv', async (t) => {
  // The worker's process gets the whole environment, and one variable more.
  const others = files.filter((file) => !file.startsWith('bin/') && file !== 'src/worker-client/worker-process.ts')
  for (const file of others) t.notMatch(readFileSync(file, 'utf8'), /process\.(env|argv)\b/, file)
})

t.test('no install scripts among the runtime dependencies', async (t) => {
  const lock: { packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  )
  const scripted = Object.entries(lock.packages)
    .filter(([, entry]) => !entry.dev && entry.hasInstallScript)
    .map(([name]) => name)
  t.same(scripted, [])
})
