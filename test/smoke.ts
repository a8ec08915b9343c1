import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { pack, tryTarball } from './package/tarball.js'

/*
 * The program of `npm run smoke`: on each supported release of Node it tries the packed package in an empty directory, and runs
 * the tests of the product from outside. The releases come from npm (Linux, x64 or arm64) into node_modules/.cache, so `npm
 * test`, which needs no network, leaves it out; `.ci/run` has it. `npm run smoke -- 24` takes one release.
 */

const RELEASES = ['20', '22', '24']
const TESTS = ['package/pack', 'adapters/express', 'adapters/hono', 'app/cli/public-listener', 'examples/mounted']

const asked = process.argv.slice(2)
const tarball = pack(resolve('node_modules/.cache/readership-pack'))
let failed = false
for (const release of asked.length > 0 ? asked : RELEASES) {
  const home = resolve(`node_modules/.cache/node-${release}`)
  mkdirSync(home, { recursive: true })
  const name = `node-${process.platform}-${process.arch}`
  execFileSync('npm', ['install', '--prefix', home, '--no-save', '--silent', `${name}@${release}`], {
    stdio: 'inherit',
  })
  const node = resolve(home, 'node_modules', name, 'bin', 'node')
  console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  await tryTarball(node, tarball)
  // The tests of this checkout run on the oldest release anyway.
  if (process.version.startsWith(`v${release}.`)) continue
  const files = TESTS.map((test) => `dist/test/${test}.test.js`)
  // npm, which a test runs, takes the Node that the path names first.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const { status } = spawnSync(node, ['node_modules/tap/dist/esm/run.mjs', ...files], { stdio: 'inherit', env })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
