import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import t, { type Test } from 'tap'
import * as tar from 'tar'
import { z } from 'zod'
import { REPOSITORY_FILES } from '../../src/base/repository.js'
import { directory } from '../fixtures/files.js'

const root = resolve('.')
const Package = z.object({
  exports: z.record(z.string(), z.union([z.object({ types: z.string(), default: z.string() }), z.string()])),
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
  repository: z.object({ url: z.string() }),
})
const { exports, dependencies, peerDependencies, repository } = Package.parse(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
)
const entries = Object.keys(exports)
  .filter((name) => name !== './package.json')
  .map((name) => name.replace(/^\./, 'readership'))
/** The entry points without the packages of the store. */
const light = ['readership/web', 'readership/client', 'readership/tracker', 'readership/hono']

/** The package as npm would publish it. */
const tarballs = directory(t)
execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', tarballs], { stdio: 'pipe' })
const tarball = join(tarballs, String(readdirSync(tarballs)[0]))

/** A project that has the package and what it depends on, and nothing else of ours but `types`. */
function project(t: Test, types: readonly string[] = ['@types/node', '@types/express'], without = /^$/): string {
  const at = directory(t)
  const own = join(at, 'node_modules', 'readership')
  mkdirSync(own, { recursive: true })
  tar.extract({ file: tarball, cwd: own, strip: 1, sync: true })
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), ...types]) {
    if (without.test(name)) continue
    mkdirSync(dirname(join(at, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(at, 'node_modules', name))
  }
  writeFileSync(join(at, 'package.json'), '{ "type": "module" }')
  return at
}

/** Returns what a compiler says about a project. */
function compile(at: string, compiler: string): string {
  try {
    execFileSync(process.execPath, [join(root, `node_modules/${compiler}/bin/tsc`), '-p', at], { stdio: 'pipe' })
    return ''
  } catch (error) {
    return z
      .object({ stdout: z.instanceof(Buffer) })
      .parse(error)
      .stdout.toString()
  }
}

const Flag = z.boolean().optional()
const Lock = z.object({
  packages: z.record(z.string(), z.object({ dev: Flag, optional: Flag, peer: Flag, devOptional: Flag })),
})

/** Names and sizes in bytes of what is published. */
const contents = new Map<string, number>()
tar.list({
  file: tarball,
  sync: true,
  onReadEntry: ({ path, size }) => contents.set(path.replace('package/', ''), size),
})

t.test('the package is small', async (t) => {
  const bytes = [...contents.values()].reduce((a, b) => a + b, 0)
  t.ok(bytes <= 10e6, `${bytes} bytes unpacked, at most 10 MB`)
  const lock = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')))
  const installed = Object.entries(lock.packages).filter(
    ([path, { dev, optional, peer }]) => path !== '' && !(dev || optional || peer),
  )
  t.ok(installed.length <= 35, `${installed.length} packages are installed everywhere, at most 35`)
})

t.test('messages name pages of the repository in package.json', async (t) => {
  t.equal(`git+${REPOSITORY_FILES.replace('/blob/main', '.git')}`, repository.url)
})

t.test('two packs have the same bytes', async (t) => {
  const again = directory(t)
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', again], { stdio: 'pipe' })
  t.ok(readFileSync(join(again, String(readdirSync(again)[0]))).equals(readFileSync(tarball)))
})

t.test('each file that NOTICE or a message names is in the package', async (t) => {
  for (const [path] of readFileSync(join(root, 'NOTICE'), 'utf8').matchAll(/\bdist\/[\w./<>-]*\w/g))
    t.ok(
      [...contents.keys()].some((file) => file === path || file.replace(/geo-[\d.-]+bin$/, 'geo-<date>.bin') === path),
      path,
    )
  for (const file of contents.keys())
    if (/^dist\/(bin|chunks|lib|src)\/.*\.js$/.test(file))
      for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(
        /(?<![\w/.-])((?:src|examples|test)\/[\w/.-]+\.md)/g,
      ))
        t.fail(`${file} names ${path}, which is not published: name its address`)
})

t.test('what is published', async (t) => {
  const files = [...contents.keys()].map((path) => `package/${path}`)
  for (const name of ['LICENSE', 'NOTICE', 'README.md', 'package.json', 'dist/bin/readership.js'])
    t.ok(files.includes(`package/${name}`), name)
  t.same(
    files.filter((file) => /\.map$|\/test\/|\/examples\/|(?<!\.d)\.ts$/.test(file)),
    [],
    'no tests, no sources, no maps to sources that are not there',
  )
  const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))))
  const problems = 'problems' in checked ? checked.problems : ['it has no types']
  // An ES module, which `require` takes too since Node 20.19; the resolution of Node 10 does not matter here.
  const fine = ['node10', 'node16-cjs']
  t.same(
    problems.filter(
      (one) => typeof one === 'string' || !('resolutionKind' in one) || !fine.includes(one.resolutionKind),
    ),
    [],
    'are the types wrong?',
  )
  const { messages } = await publint({ pkgDir: root, strict: true, pack: false })
  t.same(messages, [], 'publint')
})

/** A program that compiles only if the client's `data` and `error` have the types that the service sends. */
const CLIENT_PROGRAM = `import { createReadershipClient, type paths } from 'readership/client'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Code = 'bad_request' | 'validation_error' | 'unauthorized' | 'forbidden' | 'not_found' | 'conflict'
  | 'rate_limited' | 'internal_error' | 'upstream_error' | 'database_error'
interface Failure { error: { code: Code; message: string; field?: string } }
const is = <A, B>(_: Equal<A, B>) => {}

const client = createReadershipClient({ baseUrl: 'https://stats.example', key: 'svcg_k' })
const read = await client.GET('/api/stats/overview', { params: { query: { site: 1 } } })
if (read.error) {
  const { code, message, field } = read.error.error
  is<typeof code, Code>(true)
  is<typeof message, string>(true)
  is<typeof field, string | undefined>(true)
  is<typeof read.data, undefined>(true)
  // @ts-expect-error: an error has no such part
  read.error.error.messages
} else {
  const visitors: number | undefined = read.data.data.visitors
  const took: number = read.data.meta.took_ms
  // @ts-expect-error: the read has no such metric
  read.data.data.visits
  console.log(visitors, took)
}
const list = await client.GET('/api/stats/pages', { params: { query: { site: 1, limit: 5 } } })
const first: string | undefined = list.data?.data[0]?.pathname
const made = await client.POST('/api/segments', { body: { site: 1, name: 'a', filters: [] } })
const id: number | undefined = made.data?.data.id
const gone = await client.DELETE('/api/segments/{id}', { params: { path: { id: 1 } } })
is<typeof gone.data, undefined>(true)
const ready = await client.GET('/readyz')
const state: string | undefined = ready.error?.data.state
console.log(first, id, state)
// @ts-expect-error: the site is required
await client.GET('/api/stats/overview', { params: { query: {} } })

/** The errors of a call, as the client gives them. */
type ErrorOf<R> = 'default' extends keyof R
  ? R extends { default: { content: { 'application/json': infer E } } } ? E : 'no JSON'
  : never
type Typed<R> = [ErrorOf<R>] extends [never] ? 'none' : ErrorOf<R> extends Failure ? 'as sent' : 'wrong'
type Calls = { [P in keyof paths]: { [M in keyof paths[P]]: paths[P][M] extends { responses: infer R } ? \`\${M & string} \${P} \${Typed<R>}\` : never }[keyof paths[P]] }[keyof paths]
/** Everything else sends errors as JSON, and says so. */
type Others = Exclude<Calls, \`\${string} as sent\`>
is<
  Others,
  \`get \${'/healthz' | '/readyz' | '/metrics' | '/api/track/pixel.gif' | '/api/evidence/key'} none\` | \`post \${'/api/track' | '/api/track/batch' | Form} none\`
>(true)
type Form = '/sign-in' | '/register' | '/reset-password' | '/confirm-email' | '/invitation'
for (const call of [made, gone, list]) if (call.error) console.log(call.error.error.code satisfies Code)
`

t.test('types of every entry point check in a project of its own', async (t) => {
  const at = project(t)
  const names = entries.map((name, n) => `import * as e${n} from '${name}'\nexport const t${n}: object = e${n}\n`)
  writeFileSync(join(at, 'all.ts'), names.join(''))
  writeFileSync(
    join(at, 'site.ts'),
    `import { createServer } from 'node:http'
import express from 'express'
import { Hono } from 'hono'
import { openReadership, type Readership } from 'readership'
import { middleware } from 'readership/express'
import { middleware as forHono, webMiddleware } from 'readership/hono'
import { listener } from 'readership/node'
import { webReadership } from 'readership/web'

const readership: Readership = await openReadership({ data: 'x', origin: 'http://localhost:3000' })
express().use(middleware(readership, { basePath: '/r' }))
new Hono().use(forHono(readership))
const web = webReadership({ collector: 'https://stats.example.com', site: 1, ingest_key: 'k' })
const worker = new Hono<{ Bindings: { KV: string } }>()
worker.use(webMiddleware(web, { clientAddress: (c) => c.req.header('cf-connecting-ip') ?? '' }))
worker.get('/', (c) => c.text(c.env.KV))
// @ts-expect-error: whose address it is must be said
webMiddleware(web)
createServer(listener(readership, (_req, res) => res.end()))
// @ts-expect-error: an option that there is not
await openReadership({ dta: 'x' })
`,
  )
  writeFileSync(join(at, 'client.ts'), CLIENT_PROGRAM)
  const programs = ['all.ts', 'site.ts', 'client.ts']
  for (const [compiler, module, resolution, files] of [
    ['typescript-7', 'nodenext', 'nodenext', programs],
    ['typescript-7', 'node16', 'node16', programs],
    ['typescript-7', 'esnext', 'bundler', programs],
    ['typescript', 'esnext', 'bundler', ['client.ts']],
  ] as const) {
    const options = { module, moduleResolution: resolution, target: 'es2023', strict: true, noEmit: true }
    const compilerOptions = { ...options, skipLibCheck: module === 'esnext', types: ['node'], lib: ['es2023'] }
    writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    t.equal(compile(at, compiler), '', `moduleResolution ${resolution}, ${compiler}`)
  }
})

t.test('the types of the Express adapter need no types of Express', async (t) => {
  const at = project(t, ['@types/node'])
  const program = `import { openReadership } from 'readership'
import { middleware } from 'readership/express'

type Handler = ReturnType<typeof middleware>
const handler: Handler = middleware(await openReadership())
// @ts-expect-error: a request of Express is required
handler({}, {}, () => {})
`
  writeFileSync(join(at, 'site.ts'), program)
  const options = { module: 'node16', target: 'es2023', strict: true, noEmit: true, skipLibCheck: false }
  const compilerOptions = { ...options, types: ['node'], lib: ['es2023'] }
  writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['site.ts'] }))
  t.equal(compile(at, 'typescript-7'), '')
})

t.test('what a browser, a worker or a client loads needs no store', async (t) => {
  const at = project(t, [], /^(@duckdb|@node-rs|pdfkit|fontkit)/)
  const script = `for (const name of ${JSON.stringify(light)}) console.log(name, Object.keys(await import(name)).length > 0)`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: at, encoding: 'utf8' })
  t.equal(said, light.map((name) => `${name} true\n`).join(''))
})

t.test('every entry point loads there, and the command runs', async (t) => {
  const at = project(t)
  const script = `for (const name of ${JSON.stringify(entries)}) console.log(name, Object.keys(await import(name)).length > 0)`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: at, encoding: 'utf8' })
  t.equal(said, entries.map((name) => `${name} true\n`).join(''))
  const bin = join(at, 'node_modules/readership/dist/bin/readership.js')
  t.match(execFileSync(process.execPath, [bin, '--version'], { cwd: at, encoding: 'utf8' }), /^\d+\.\d+\.\d+\n$/)
})
