import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * Writes `dist/test/groups/`, the programs that `npm test` runs: a program for each file of tests that starts processes,
 * and one for every few files of tests that do not. A process of its own costs a small file more CPU than its tests,
 * 0.9 s on the machine that this was measured on: 18 files of `ingest/` took 24 s of CPU apart and 9 s together.
 */

/**
 * Folders whose tests start no process. Those of `proxy/` depend on milliseconds, and files named hostile measure their
 * own memory and time: each stays alone.
 */
const GROUPED = [
  ...['agents', 'capture', 'duckdb', 'http', 'ingest', 'manage', 'notify', 'outbound', 'policy', 'query', 'reads'],
  'tracker',
]
const FILES_PER_GROUP = 9
const ROOT = 'dist/test'

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js'))
  .sort()
mkdirSync(`${ROOT}/groups`, { recursive: true })
// Groups are the first in the order of names: they take longest, and none should start last.
for (const file of files.filter((file) => !isGrouped(file)))
  write(`2-${file.replaceAll('/', '-').replace('.test.js', '')}`, `import '../${file}'\n`)
for (const folder of GROUPED) {
  const own = files.filter((file) => isGrouped(file) && dirname(file) === folder)
  const count = Math.ceil(own.length / FILES_PER_GROUP)
  // In turns, because slow files have similar names.
  for (let n = 0; n < count; n++)
    write(`1-${folder.replaceAll('/', '-')}-${n + 1}`, groupOf(own.filter((_, i) => i % count === n)))
}

function isGrouped(file: string): boolean {
  return GROUPED.includes(dirname(file)) && !/hostile/.test(basename(file))
}

/** One file after the other. After the first `teardown` tap would end between two files, so that is `after` here. */
function groupOf(group: readonly string[]): string {
  const runs = group.map((file) => `await import('../${file}')\nawait t.test('end of ${file}', async () => {})\n`)
  return `import t from 'tap'\n\nt.teardown = t.after\n${runs.join('')}t.end()\n`
}

function write(name: string, program: string): void {
  writeFileSync(`${ROOT}/groups/${name}.test.js`, program)
}
