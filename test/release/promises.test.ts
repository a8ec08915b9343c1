import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { readOpenApiDocument } from '../fixtures/openapi-document.js'
import { findBreaks, undocumented } from './breaks.js'
import { listPromises } from './promises.js'

/*
 * Compares what this checkout promises with the last release. `node dist/test/release/promises.test.js --write` writes the
 * promises of the version in package.json; do so when a version is released, and keep the files of earlier releases.
 */

const FOLDER = 'test/release/promised'
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
const promises = listPromises(await readOpenApiDocument())

if (process.argv.includes('--write')) writeFileSync(`${FOLDER}/${version}.txt`, `${promises.join('\n')}\n`)

const releases = existsSync(FOLDER) ? readdirSync(FOLDER).map((file) => file.replace(/\.txt$/, '')) : []
const numbers = (one: string) => one.split('.').map(Number)
const [last] = releases.toSorted((a, b) => {
  const [x, y] = [numbers(a), numbers(b)]
  const at = x.findIndex((number, i) => number !== y[i])
  return at < 0 ? 0 : (y[at] ?? 0) - (x[at] ?? 0)
})

t.test('nothing that the last release promised is gone without a word in the changelog', async (t) => {
  t.ok(last, 'there is a release')
  const released = readFileSync(`${FOLDER}/${last}.txt`, 'utf8').trim().split('\n')
  t.ok(released.length > 2_000, `${released.length} promises of ${last}`)
  const changelog = readFileSync('.github/CHANGELOG.md', 'utf8')
  t.same(undocumented(findBreaks(released, promises), changelog, last ?? ''), [], `breaks since ${last}`)
})

t.test('each part has promises', async (t) => {
  const EXPECTED = [
    ['api GET /api/stats/overview 200 application/json $.data.visitors: integer', 'a field of a read'],
    ['api GET /api/stats/overview query site', 'a parameter'],
    ['api GET /api/stats/overview query site requires a value', 'a required parameter'],
    ['command stats flag --range <range>', 'a flag'],
    ['command proxy setting inject', 'a setting of a command'],
    ['command exit code 0', 'an exit code'],
    ['setting trust_proxy READERSHIP_TRUST_PROXY --trust-proxy <cidr|loopback|private>', 'a setting'],
    ['metric readership_rows_total counter', 'a metric'],
    ['metric readership_rows_total label audience', 'a label'],
    ['metric readership_spool_rows gauge', 'a metric of a shipper'],
    ['metric readership_lease_held gauge', 'a metric of several processes'],
    [
      'export readership value openReadership: ({ log, ...options }?: ReadershipOptions | undefined) => Promise<OpenReadership>',
      'a function with its types',
    ],

    ['export readership type ReadershipOptions.data: string | undefined', 'an option'],
    ['export readership/web type WebOptions.collector requires a value', 'a required option'],
    ['column agent_events.agent_id varchar', 'a column'],
    ['column events.lcp double', 'a column of web vitals'],
  ] as const
  for (const [line, why] of EXPECTED) t.ok(promises.includes(line), `${why}: ${line}`)
})

t.test('a break is found, and the changelog can name it', async (t) => {
  const released = [
    'api GET /api/a',
    'api GET /api/a 200 application/json $.data.visitors: integer',
    'api GET /api/a query site',
    'api POST /api/a',
    'api POST /api/a body application/json $.old: object',
    'command stats',
    'command stats flag --range <range>',
    'metric readership_rows_total counter',
    'export readership type Options.data: string',
  ]
  const without = (gone: string) => released.filter((line) => line !== gone)
  const log = (section: string, name: string) =>
    `# Changelog\n\n## Unreleased\n\n### ${section}\n\n- \`${name}\` went\n\n## 1.0.0\n`
  const CASES = [
    ['a field', without(released[1] ?? ''), 1, 'data.visitors'],
    ['a parameter', without(released[2] ?? ''), 1, '/api/a'],
    ['a flag', without(released[6] ?? ''), 1, '--range'],
    ['a metric', without(released[7] ?? ''), 1, 'readership_rows_total'],
    ['an option', without(released[8] ?? ''), 1, 'Options.data'],
    [
      'an option of another type',
      [...without(released[8] ?? ''), 'export readership type Options.data: number'],
      1,
      'Options.data',
    ],
    ['a new demand on an old call', [...released, 'api GET /api/a query site requires a value'], 1, '/api/a'],
    ['a new demand of an old command', [...released, 'command stats flag --site <id> requires a value'], 1, 'stats'],
    ['a new call with a demand', [...released, 'api GET /api/b', 'api GET /api/b query site requires a value'], 0, ''],
    [
      'a new demand on an old object',
      [...released, 'api POST /api/a body application/json $.old.name requires a value'],
      1,
      '/api/a',
    ],
    [
      'a new object with a demand',
      [...released, 'api POST /api/a body application/json $.new.name requires a value'],
      0,
      '',
    ],
    ['an addition', [...released, 'metric readership_new_total counter'], 0, ''],
    [
      'a changed type',
      [...without(released[1] ?? ''), 'api GET /api/a 200 application/json $.data.visitors: string'],
      1,
      'data.visitors',
    ],
  ] as const
  for (const [why, current, count, name] of CASES) {
    const breaks = findBreaks(released, current)
    t.equal(breaks.length, count, why)
    if (count === 0) continue
    t.equal(undocumented(breaks, log('Added', name), '1.0.0').length, 1, `${why}: a word under Added is not enough`)
    t.same(undocumented(breaks, log('Removed', name), '1.0.0'), [], `${why}: documented by \`${name}\``)
    t.equal(undocumented(breaks, log('Removed', name), '0.9.0').length, 0, `${why}: by any newer version`)
    t.equal(
      undocumented(breaks, '# Changelog\n\n## 1.0.0\n\n### Removed\n\n- `x`\n', '1.0.0').length,
      1,
      `${why}: not by an old one`,
    )
  }
})
