import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/**
 * The districts of `src` from the ground up, and the places that each may import: a district, or a folder or file of one.
 * A district imports only what stands above it in this table. The entry points come last.
 */
const MAY: Record<string, readonly string[]> = {
  base: [],
  // Runs in a browser. It shares no code with the rest.
  browser: [],
  storage: ['base'],
  agents: ['base', 'storage/sql', 'storage/store'],
  analytics: ['base', 'storage'],
  // The words that the site's and the worker's process share about an exchange or a hit.
  capture: ['base', 'storage/rows', 'storage/drops'],
  rules: ['base', 'agents', 'capture'],
  site: ['base', 'agents', 'capture', 'rules'],
  'worker-client': ['base', 'storage', 'agents/policy/change', 'capture'],
  manage: [
    ...['base', 'storage', 'agents/agent', 'agents/catalog', 'agents/policy/stored-changes', 'analytics'],
    ...['capture/site', 'capture/path-pattern', 'capture/excluded-paths', 'rules'],
  ],
  history: ['base', 'agents', 'analytics', 'capture', 'worker-client/log-batch'],
  worker: ['base', 'storage', 'agents', 'capture', 'worker-client', 'manage/imports'],
  api: [
    'base',
    'storage',
    'agents',
    'analytics',
    'capture',
    'rules',
    'site/shipping/shipper',
    'worker-client',
    'manage',
  ],
  app: [
    ...[
      'base',
      'storage',
      'agents',
      'analytics',
      'capture',
      'rules',
      'site',
      'worker-client',
      'manage',
      'history',
      'api',
    ],
    // `readership agents` and `geoip` explain what the worker would decide, and `migrate` runs parts of it.
    'worker',
  ],
  build: ['worker/ingest/place', 'app/cli/man-page', 'browser/docs/index-options'],
  mount: ['site/proxy/node-handler', 'site/proxy/observe-web'],
  web: ['base', 'agents', 'site/shipping/web'],
  client: ['browser/dashboard/client'],
  index: ['base', 'capture', 'site', 'app/instance'],
}

/**
 * The walls: files of `from` never reach files of `to`, over imports of imports, types included. A path through a file of
 * `except` is allowed for the reason beside it.
 */
const WALLS: readonly { from: string[]; to: string[]; except?: Record<string, string> }[] = [
  // Code of the site's process never loads code of the worker's process, or a database.
  {
    from: ['site', 'worker-client', 'manage', 'api', 'app/instance'],
    to: ['worker', 'storage/duckdb', 'storage/clickhouse', 'storage/postgres'],
  },
  {
    from: ['app/cli'],
    to: ['worker', 'storage/duckdb', 'storage/clickhouse', 'storage/postgres'],
    except: {
      'src/app/cli/agents.ts': '`agents identify --ip` looks up the network as the worker does',
      'src/app/cli/log-report.ts': '`report` looks up countries as the worker does',
      'src/app/cli/doctor-lists.ts': 'doctor checks the lists of networks as the worker reads them',
      'src/app/cli/geoip.ts': 'a database of places is checked before the worker gets it',
      'src/app/cli/doctor-files.ts': 'doctor opens the files of a stopped instance',
      'src/app/cli/doctor-servers.ts': 'doctor asks the servers themselves',
      'src/app/cli/store.ts': '`store vacuum` compacts the file of a stopped instance',
      'src/app/cli/migrate.ts': 'copies everything to another engine',
      'src/app/cli/restore.ts': 'writes the files of a backup',
    },
  },
  { from: ['site'], to: ['analytics', 'capture/sources', 'manage', 'history', 'api', 'app'] },
  {
    from: ['analytics'],
    to: ['site', 'capture', 'agents', 'storage/duckdb', 'storage/clickhouse', 'storage/postgres'],
  },
  { from: ['analytics/query'], to: ['analytics/reads', 'analytics/export'] },
  { from: ['analytics/reads'], to: ['analytics/export'] },
  // An engine knows no other, and what copies engines stands above them.
  { from: ['storage/duckdb'], to: ['storage/clickhouse', 'storage/postgres', 'storage/migrate', 'storage/backup'] },
  { from: ['storage/clickhouse'], to: ['storage/duckdb', 'storage/postgres', 'storage/migrate', 'storage/backup'] },
  { from: ['storage/postgres'], to: ['storage/duckdb', 'storage/clickhouse', 'storage/migrate', 'storage/backup'] },
  { from: ['history', 'capture'], to: ['site', 'worker'] },
  { from: ['worker'], to: ['site', 'api', 'history', 'analytics/export'] },
  // Run where there is no Node: an edge function has no file system.
  { from: ['web'], to: ['storage/duckdb', 'storage/clickhouse', 'storage/postgres', 'worker', 'worker-client', 'app'] },
  { from: ['app/instance', 'app/config', 'app/config-values'], to: ['app/cli'] },
]

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
  '@modelcontextprotocol/server': ['src/api/mcp/', 'src/app/cli/mcp.ts'],
  pino: ['src/app/cli/log.ts'],
  'prom-client': ['src/api/metrics.ts'],
  yaml: ['src/app/config.ts', 'src/app/cli/rule-file.ts'],
  pdfkit: ['src/analytics/export/pdf/'],
  fontkit: ['src/analytics/export/pdf/'],
  fzstd: ['src/history/access-logs/zstd.ts'],
  // Used by the build only.
  '@cyclonedx/cyclonedx-library': ['src/build/sbom.ts'],
  rolldown: ['src/build/main.ts', 'src/build/programs.ts', 'src/build/licences.ts', 'src/build/docs/site.ts'],
  marked: ['src/build/docs/markdown.ts'],
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
  // The documentation site: its index is made by the build and searched in the browser.
  minisearch: ['src/browser/docs/', 'src/build/docs/site.ts'],
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
    // A program that the dashboard shows is a text in backticks, which begins with an import.
    ...readFileSync(file, 'utf8')
      .replaceAll(/`import [^`]*`/g, '')
      .matchAll(/(?:^(?:import|export)\b[^'"]*?\bfrom\s+|^import\s+|\b(?:import|require)\()['"]([^'"]+)['"]/gm),
  ].map((match) => match[1] ?? '')
/** The files of this repository that a file imports, without their ending. */
const importedFiles = (file: string): string[] =>
  imports(file)
    .filter((from) => from.startsWith('.'))
    .map((from) => normalize(join(dirname(file), from)).replace(/\.js$/, ''))
const bare = (file: string) => file.replace(/\.tsx?$/, '')
const within = (path: string, place: string) => bare(path) === `src/${place}` || path.startsWith(`src/${place}/`)
const districtOf = (file: string) => bare(file).split('/')[1] ?? ''
/** The files that each file imports, by their names without ending. */
const graph = new Map(files.map((file) => [bare(file), importedFiles(file)]))

t.test('a file imports only what the table allows', async (t) => {
  const districts = Object.keys(MAY)
  for (const [district, places] of Object.entries(MAY))
    for (const place of places)
      t.ok(
        districts.indexOf(place.split('/')[0] ?? '') < districts.indexOf(district),
        `${district} stands above ${place}`,
      )
  for (const file of files.filter((file) => file.startsWith('src/'))) {
    const allowed = MAY[districtOf(file)]
    if (!allowed) t.fail(`${file} stands in no district of the table above`)
    const wrong = importedFiles(file).filter(
      (to) => districtOf(to) !== districtOf(file) && !allowed?.some((place) => within(to, place)),
    )
    t.same(wrong, [], file)
  }
  for (const file of files.filter((file) => !file.startsWith('src/'))) {
    const allowed = file.startsWith('bin/')
      ? ['src/app/cli/index', 'src/app/config']
      : ['src/index', 'src/mount', 'src/web']
    const wrong = importedFiles(file).filter((to) => to.startsWith('src/') && !allowed.includes(to))
    t.same(wrong, [], file)
  }
})

t.test('no file reaches through a wall, over imports of imports', async (t) => {
  for (const { from, to, except = {} } of WALLS)
    for (const file of files.filter((file) => from.some((place) => within(file, place)) && !(file in except)))
      t.same(
        findPath(bare(file), (path) => to.some((place) => within(path, place)), except),
        undefined,
        file,
      )
  for (const { except = {} } of WALLS)
    for (const file of Object.keys(except)) t.ok(files.includes(file), `the exception ${file} exists`)
})

/** Returns the shortest chain of imports to a file that `isForbidden` names, as text; undefined if none exists. */
function findPath(start: string, isForbidden: (path: string) => boolean, except: Record<string, string>) {
  const importer = new Map<string, string | undefined>([[start, undefined]])
  for (const file of importer.keys()) {
    if (file !== start && isForbidden(file)) {
      const chain = [file]
      for (let at = importer.get(file); at !== undefined; at = importer.get(at)) chain.unshift(at)
      return chain.join(' → ')
    }
    for (const to of graph.get(file) ?? []) if (!importer.has(to) && !(`${to}.ts` in except)) importer.set(to, file)
  }
  return undefined
}

t.test('what runs without Node loads no module of Node', async (t) => {
  const loaded = new Set(['src/web.ts', 'src/mount.ts'])
  for (const file of loaded)
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^'"]*'([^']+)'/gm)) {
      t.notOk(from.startsWith('node:'), `${file} imports ${from}`)
      const to = `${normalize(join(dirname(file), from)).replace(/\.js$/, '')}.ts`
      if (from.startsWith('.') && files.includes(to)) loaded.add(to)
    }
  t.ok(loaded.size > 20, `${loaded.size} files`)
})

t.test('files import each other in no circle, types included', async (t) => {
  for (const file of graph.keys())
    t.same(
      findPath(file, (path) => graph.get(path)?.includes(file) === true, {}),
      undefined,
      file,
    )
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
