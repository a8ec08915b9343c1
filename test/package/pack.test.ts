import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import t, { type Test } from 'tap'
import * as tar from 'tar'
import { z } from 'zod'
import { directory } from '../fixtures/files.js'

const root = resolve('.')
const Package = z.object({
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
})
const { exports, dependencies, peerDependencies } = Package.parse(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
)
const entries = Object.keys(exports).map((name) => name.replace(/^\./, 'readership'))

/** The package as npm would publish it. */
const tarballs = directory(t)
execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', tarballs], { stdio: 'pipe' })
const tarball = join(tarballs, String(readdirSync(tarballs)[0]))

/** A project that has the package and what it depends on, and nothing else of ours. */
function project(t: Test): string {
  const at = directory(t)
  const own = join(at, 'node_modules', 'readership')
  mkdirSync(own, { recursive: true })
  tar.extract({ file: tarball, cwd: own, strip: 1, sync: true })
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), '@types/node', '@types/express']) {
    mkdirSync(dirname(join(at, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(at, 'node_modules', name))
  }
  writeFileSync(join(at, 'package.json'), '{ "type": "module" }')
  return at
}

t.test('what is published', async (t) => {
  const files: string[] = []
  tar.list({ file: tarball, sync: true, onReadEntry: ({ path }) => files.push(path) })
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
  for (const [module, resolution] of [
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ]) {
    const options = { module, moduleResolution: resolution, target: 'es2023', strict: true, noEmit: true }
    const compilerOptions = { ...options, skipLibCheck: module === 'esnext', types: ['node'], lib: ['es2023'] }
    writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['all.ts', 'site.ts'] }))
    let said = ''
    try {
      execFileSync(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), '-p', at], { stdio: 'pipe' })
    } catch (error) {
      said = z
        .object({ stdout: z.instanceof(Buffer) })
        .parse(error)
        .stdout.toString()
    }
    t.equal(said, '', `moduleResolution ${resolution}`)
  }
})

t.test('every entry point loads there, and the command runs', async (t) => {
  const at = project(t)
  const script = `for (const name of ${JSON.stringify(entries)}) console.log(name, Object.keys(await import(name)).length > 0)`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: at, encoding: 'utf8' })
  t.equal(said, entries.map((name) => `${name} true\n`).join(''))
  const bin = join(at, 'node_modules/readership/dist/bin/readership.js')
  t.match(execFileSync(process.execPath, [bin, '--version'], { cwd: at, encoding: 'utf8' }), /^\d+\.\d+\.\d+\n$/)
})
