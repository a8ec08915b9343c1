import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/**
 * Who may import whom. The direction of the arrows is the architecture; this table is its only diagram that cannot rot.
 * A folder may always import itself; a file at the top of src stands under its own name.
 */
const MAY: Record<string, readonly string[]> = {
  bin: ['src/cli', 'src/config'],
  // What an adapter takes from the second loads where there is no Node.
  adapters: ['src/index', 'src/mount', 'src/web'],
  'src/errors': [],
  'src/address': [],
  'src/hostname': [],
  'src/sql': [],
  'src/rollup': [],
  'src/build': ['src/record/place'],
  'src/config': ['src/hostname'],
  'src/tracker': [],
  'src/store': ['src/sql', 'src/record/row'],
  'src/index': ['src/errors', 'src/readership', 'src/record/observation', 'src/proxy'],
  'src/mount': ['src/proxy/bridge', 'src/proxy/web'],
  'src/web': ['src/agents', 'src/ship/web'],
  'src/readership': ['src'],
  'src/compose': ['src'],
  'src/outbound': ['src/address'],
  'src/agents': ['src/outbound', 'src/address'],
  'src/policy': ['src/outbound', 'src/agents', 'src/store', 'src/sql', 'src/errors'],
  'src/record': ['src/address', 'src/agents', 'src/policy'],
  'src/query': ['src/rollup', 'src/sql', 'src/store', 'src/errors'],
  'src/reads': ['src/query', 'src/sql', 'src/store', 'src/errors'],
  // What is sent to people and their servers: alerts, reports, links.
  'src/notify': [
    'src/manage',
    'src/reads',
    'src/query',
    'src/outbound',
    'src/ship/sign',
    'src/address',
    'src/store',
    'src/sql',
    'src/errors',
  ],
  // What is kept to be asked about has the shape that asking has.
  'src/manage': [
    'src/query',
    'src/record/drop',
    'src/record/site',
    'src/hostname',
    'src/sql',
    'src/store',
    'src/errors',
  ],
  'src/duckdb': [
    'src/rollup',
    'src/sql',
    'src/store',
    'src/errors',
    'src/record/row',
    'src/record/drop',
    'src/record/delivery',
  ],
  'src/worker': [
    'src/duckdb',
    'src/record',
    'src/agents',
    'src/policy',
    'src/outbound',
    'src/store',
    'src/sql',
    'src/errors',
  ],
  'src/http': [
    'src/reads',
    'src/query',
    'src/manage',
    'src/record',
    'src/agents',
    'src/policy',
    'src/worker/engine',
    'src/address',
    'src/ship/shipper',
    'src/notify',
    'src/store',
    'src/sql',
    'src/errors',
  ],
  'src/shipping': ['src'],
  'src/ship': ['src/record', 'src/agents'],
  'src/proxy': ['src/record/observation', 'src/readership'],
  'src/cli': ['src'],
}

/** Each package and its home: one file, or one folder. zod is anyone's. */
const HOME: Record<string, readonly string[]> = {
  'http-proxy': ['src/proxy/upgrade.ts'],
  'ipaddr.js': ['src/proxy/address.ts'],
  'robots-parser': ['src/policy/robots.ts'],
  'ua-parser-js': ['src/record/device.ts'],
  isbot: ['src/agents/identify.ts'],
  'structured-headers': ['src/agents/signature/fields.ts'],
  '@duckdb/node-api': ['src/duckdb/'],
  // One file per use (architecture.md).
  undici: ['src/proxy/forward.ts', 'src/proxy/pools.ts', 'src/outbound/', 'src/ship/send.ts'],
  'mmdb-lib': ['src/record/place/'],
  'temporal-polyfill': ['src/query/'],
  '@hono/node-server': ['src/http/'],
  hono: ['src/http/', 'adapters/hono.ts'],
  express: ['adapters/express.ts'],
  commander: ['src/cli/'],
  pino: ['src/cli/log.ts'],
  'prom-client': ['src/http/metrics.ts'],
  yaml: ['src/config.ts'],
  pdfkit: ['src/http/export/pdf/'],
  fontkit: ['src/http/export/pdf/'],
  // The build alone.
  rollup: ['src/build.ts'],
  terser: ['src/build.ts'],
  'lru-cache': ['src/record/', 'src/agents/'],
  '@node-rs/argon2': ['src/manage/passwords.ts'],
  nodemailer: ['src/notify/mail.ts'],
  uqr: ['src/http/account/'],
}

const files = ['src', 'adapters', 'bin'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(root, file)),
)
const imports = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(
      /(?:^(?:import|export)\b[^'"]*?\bfrom\s+|^import\s+|\b(?:import|require)\()['"]([^'"]+)['"]/gm,
    ),
  ].map((match) => match[1] ?? '')
const within = (path: string, place: string) => path === place || path === `${place}.ts` || path.startsWith(`${place}/`)
const layerOf = (file: string) => Object.keys(MAY).find((layer) => within(file, layer))

t.test('arrows point down', async (t) => {
  for (const file of files) {
    const layer = layerOf(file)
    if (!layer) {
      t.fail(`${file} lies in no layer of the table above`)
      continue
    }
    const wrong = imports(file)
      .filter((from) => from.startsWith('.'))
      .map((from) => normalize(join(dirname(file), from)).replace(/\.js$/, ''))
      .filter((to) => !within(to, layer) && !MAY[layer]?.some((place) => within(to, place)))
    t.same(wrong, [], file)
  }
})

t.test('one package, one home', async (t) => {
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

t.test('a file fits in the head', async (t) => {
  for (const file of files) {
    const lines = readFileSync(file, 'utf8').split('\n').length
    t.ok(lines <= 400, `${file} has ${lines} lines, at most 400`)
  }
})

t.test('only bin reads process.env and process.argv', async (t) => {
  for (const file of files.filter((file) => !file.startsWith('bin/')))
    t.notMatch(readFileSync(file, 'utf8'), /process\.(env|argv)\b/, file)
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
