import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes `dist/test/groups/`, the programs that `npm test` runs: one for every few files of tests, and a program of its own
 * for the others. A process costs a small file more CPU than its tests, 0.9 s on the machine that this was measured on:
 * 18 files of `ingest/` took 24 s of CPU apart and 9 s together.
 */

/** Folders of small files, joined where few of them are in one; `.` has the files of no folder. */
const GROUPED = [
  ['.', 'browser/dashboard', 'base/outbound', 'analytics/query', 'browser/tracker'],
  ['history/access-logs', 'adapters', 'capture', 'worker/ingest', 'history/log-import', 'history/log-report'],
  ['agents', 'history/other-tools', 'manage'],
  ['app/cli'],
  ['storage/duckdb'],
  ['examples'],
  ['api'],
  ['manage/annotation-writers', 'manage/notify', 'site/shipping'],
  ['oracle'],
  ['agents/policy', 'site/proxy', 'site/proxy/inject'],
  ['analytics/reads'],
  ['worker'],
  // Without an engine all of their files but one say that they are skipped.
  existsSync('.engines/node_modules') ? [] : ['storage/clickhouse', 'contract'],
]
/** Files that measure the memory or the time of their own process, or that take as long as a group. */
const ALONE = /hostile|slow-clients|wire-bodies|spool|late-hits|worker\/reads|oracle\/(?:classified|generated|url)/
/** Others that take long, some of them with waiting. */
const LONG = /clickhouse|contract|frameworks|browser\/(?:dashboard|visit)|faults|oracle|package|^worker\//
const FILES_PER_GROUP = 12
const ROOT = 'dist/test'

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js'))
  .sort()
mkdirSync(`${ROOT}/groups`, { recursive: true })
// Programs run in the order of names: groups, long files, then short ones, so that none runs alone for long at the end.
for (const file of files.filter((file) => !isGrouped(file)))
  write(`${LONG.test(file) ? 2 : 3}-${file.replaceAll('/', '-').replace('.test.js', '')}`, `import '../${file}'\n`)
for (const folders of GROUPED) {
  const own = files.filter((file) => isGrouped(file) && folders.includes(dirname(file)))
  const count = Math.ceil(own.length / FILES_PER_GROUP)
  // In turns, because slow files have similar names.
  for (let n = 0; n < count; n++)
    write(
      `1-${folders.join('-').replace('.', 'root').replaceAll('/', '-')}-${n + 1}`,
      groupOf(own.filter((_, i) => i % count === n)),
    )
}

function isGrouped(file: string): boolean {
  return GROUPED.some((folders) => folders.includes(dirname(file))) && !ALONE.test(file)
}

/**
 * One file after the other. What a file's teardown closes is closed before the next file begins; after tap's own first
 * teardown tap would end the program.
 */
function groupOf(group: readonly string[]): string {
  const runs = group.map((file) => `await import('../${file}')\nawait t.test('end of ${file}', close)\n`)
  return `import t from 'tap'

const teardowns = []
t.teardown = (end) => teardowns.push(end)
const close = async () => {
  for (let end = teardowns.pop(); end; end = teardowns.pop()) await end()
}
${runs.join('')}t.end()
`
}

function write(name: string, program: string): void {
  writeFileSync(`${ROOT}/groups/${name}.test.js`, program)
}
