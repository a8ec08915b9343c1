import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { transformSync } from 'rolldown/utils'

/**
 * `npm run test:one FILE…`: runs files of tests without a build. It removes the types of the sources that are newer than
 * their copies in `dist`, without checking them, because that takes two seconds where a build takes half a minute. With
 * `--watch` it runs the files again after each change.
 */

const ROOTS = ['src', 'bin', 'adapters', 'examples', 'test']
/** Folders of tests that use what only a build makes: bundles, the dashboard, the tracker's script, the list of countries. */
const BUILT =
  /^test\/(?:adapters|app\/cli|browser|contract|examples|faults|package)\/|\/(?:openapi|tracker-script|place)\.test/
/** Compiled by its bundler alone. */
const DASHBOARD = 'src/browser/dashboard/'
const USAGE = 'usage: npm run test:one FILE… [--watch], for example test/analytics/query/windows.test.ts'

const words = process.argv.slice(2)
const files = words.filter((word) => word !== '--watch').map((word) => relative('.', word))
// npm keeps a flag that is not after `--`, and puts it into the environment.
const isWatching = words.includes('--watch') || process.env.npm_config_watch === 'true'
const unknown = files.find((file) => !/^test\/.+\.test\.ts$/.test(file) || !existsSync(file))
if (files.length === 0 || unknown !== undefined) {
  console.error(unknown === undefined ? USAGE : `${unknown}: not a file test/….test.ts\n${USAGE}`)
  process.exit(2)
}

/** Brings `dist` up to date for `files`; returns whether that succeeded. */
function prepare() {
  if (files.some((file) => BUILT.test(file)))
    return spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' }).status === 0
  const changed = ROOTS.flatMap(listFiles).filter((file) => isPrepared(file) && !isUpToDate(file))
  // Bundles have copies of the sources, so after a change each of them gives way to its compiled file.
  const bundled = existsSync('dist/chunks') && changed.some((file) => !file.startsWith('test/')) ? listBundles() : []
  const errors = [...changed, ...bundled].flatMap((file) => (isCode(file) ? compile(file) : copy(file)))
  for (const error of errors) console.error(error)
  return errors.length === 0
}

const listFiles = (root) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
const isCode = (file) => /\.c?ts$/.test(file) && !file.endsWith('.d.ts')
/** Only code of the product looks for data beside its compiled file; tests read theirs where it stands. */
const isData = (file) => file.startsWith('src/') && !/\.tsx?$|\.md$|\/tsconfig\.json$/.test(file)
const isPrepared = (file) => !file.startsWith(DASHBOARD) && (isCode(file) || isData(file))
const targetOf = (file) => join('dist', isCode(file) ? file.replace(/ts$/, 'js') : file)

function isUpToDate(file) {
  const target = statSync(targetOf(file), { throwIfNoEntry: false })
  return target !== undefined && target.mtimeMs >= statSync(file).mtimeMs
}

function compile(file) {
  const target = targetOf(file)
  const name = target.slice(target.lastIndexOf('/') + 1)
  const text = readFileSync(file, 'utf8')
  const { code, map, errors } = transformSync(file, text, {
    target: 'es2023',
    sourcemap: true,
    typescript: { onlyRemoveTypeImports: true },
  })
  if (errors.length > 0) return errors.map(({ codeframe, message }) => `${file}: ${codeframe ?? message}`)
  mkdirSync(dirname(target), { recursive: true })
  // The compiler makes `require` for these files, which the bundler leaves undefined outside CommonJS.
  const isRequiring = /^import \w+ = require\(/m.test(text) && file.endsWith('.ts')
  const require = isRequiring
    ? `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); `
    : ''
  writeFileSync(target, `${require}${code}\n//# sourceMappingURL=${name}.map\n`)
  writeFileSync(`${target}.map`, JSON.stringify({ ...map, file: name, sources: [relative(dirname(target), file)] }))
  return []
}

function copy(file) {
  mkdirSync(dirname(targetOf(file)), { recursive: true })
  copyFileSync(file, targetOf(file))
  return []
}

/** Returns the sources whose compiled file is a bundle. */
function listBundles() {
  rmSync('dist/chunks', { recursive: true })
  return ['bin', 'src']
    .flatMap(listFiles)
    .filter((file) => isCode(file) && existsSync(targetOf(file)))
    .filter((file) => /from\s*"(?:\.\.?\/)+chunks\//.test(readFileSync(targetOf(file), 'utf8')))
}

/** The test that runs now, until a change stops it. */
let child
/** Runs the files one after the other; returns the exit status, undefined after a change. */
async function run({ isStale = () => false } = {}) {
  let status = prepare() ? 0 : 1
  for (const file of status === 0 ? files : []) {
    const env = { TAP_TIMEOUT: '1800', ...process.env }
    child = spawn(process.execPath, ['--import=./dist/test/fixtures/bare.js', targetOf(file)], {
      stdio: 'inherit',
      env,
    })
    const code = await new Promise((done) => child.on('exit', (code) => done(code ?? 1)))
    if (isStale()) return
    console.log(`${code === 0 ? 'passed' : 'FAILED'}: ${file}`)
    if (code !== 0 && !existsSync('dist/data'))
      console.log(
        'If it lacks a file of dist/data, dist/dashboard or the tracker, run npm run build once, then this again.',
      )
    status ||= code
  }
  return status
}

/** Runs the files again after each change of a source, also of one that is saved while they run. */
async function runForever() {
  let changes = 0
  let wake = () => {}
  for (const root of ROOTS)
    watch(root, { recursive: true }, () => {
      changes++
      child?.kill()
      wake()
    })
  for (;;) {
    const before = changes
    await run({ isStale: () => changes !== before })
    while (changes === before) await new Promise((done) => (wake = done))
    console.log('\nA source changed: running again.')
  }
}

if (isWatching) await runForever()
else process.exitCode = await run()
