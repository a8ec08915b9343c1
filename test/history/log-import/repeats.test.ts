import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { SiteSettings } from '../../../src/capture/site.js'
import { CHROME, FIREFOX } from '../../fixtures/browser-headers.js'
import { createImporter, logLine, readRows } from '../../fixtures/importer.js'
import { GPTBOT } from '../../fixtures/instance.js'
import { openStore } from '../../fixtures/open-store.js'
import { createTestSalts } from '../../fixtures/write-path.js'

/** Tests that the same lines add nothing twice, in whatever files and order they come. */

const DAY = Date.UTC(2026, 2, 10)
const NOW = Date.UTC(2026, 10, 24)
const SITE: SiteSettings = {
  id: 1,
  domains: ['day.example'],
  timezone: 'UTC',
  respect_gpc: false,
  visitor_salt: 'day',
  excluded_paths: [],
}
const [ANN, BOB, CAROL, BOT] = ['81.2.69.160', '91.64.0.1', '3.5.140.2', '20.171.206.1'] as const
const at = (minute: number, second = 0) => DAY + minute * 60_000 + second * 1_000

/** Until 10:50: 3 views by Ann, 40 by Carol within 8 seconds from a hosting network, 3 fetches by GPTBot. */
const EARLY = [
  logLine(at(600), ANN, '/a', CHROME, { referrer: 'https://www.google.com/' }),
  logLine(at(605), BOT, '/docs', GPTBOT),
  logLine(at(606), BOT, '/robots.txt', GPTBOT),
  logLine(at(606), BOT, '/robots.txt', GPTBOT),
  logLine(at(610), ANN, '/b', CHROME),
  'a broken line',
  logLine(at(625), ANN, '/c?utm_source=mail', CHROME),
  ...Array.from({ length: 40 }, (_, n) => logLine(at(640, Math.floor(n / 5)), CAROL, `/c/${n}`, CHROME)),
]
/** Later: 3 views by Ann, one of them after midnight, 2 equal ones by Bob in one second, one by Carol, one fetch. */
const LATE = [
  logLine(at(660), ANN, '/d', CHROME),
  logLine(at(700), BOB, '/b', FIREFOX),
  logLine(at(700), BOB, '/b', FIREFOX),
  logLine(at(705), BOB, '/app.css', FIREFOX),
  logLine(at(720), BOB, '/b', FIREFOX, { method: 'POST' }),
  logLine(at(900), CAROL, '/c/again', CHROME),
  logLine(at(1430), ANN, '/e', CHROME),
  logLine(at(1450), ANN, '/f', CHROME),
  logLine(at(1500), BOT, '/gone', GPTBOT, { status: 404 }),
]
const WHOLE = [...EARLY, ...LATE]

async function createWorld(t: Test, rows_per_step = 1_000) {
  const store = await openStore(t)
  const salts = createTestSalts(() => NOW)
  const importer = await createImporter(t, { store, site: SITE, now: () => NOW, salts, rows_per_step })
  return { store, ...importer }
}

/** The rows of one import of these lines into an empty store, without these columns. */
async function importOnce(t: Test, lines: readonly string[], without: readonly string[]): Promise<string[]> {
  const { store, add } = await createWorld(t)
  await add([lines])
  return readRows(store, without)
}

t.test('one import gives the rows that were counted by hand', async (t) => {
  const { store, add } = await createWorld(t)
  const { counts, read } = await add([WHOLE])
  t.strictSame(counts, { human: 49, agent: 4, known: 0, other_hosts: 0, dropped: 0, own_salts: true })
  t.match(read, { lines: WHOLE.length, broken: 1, not_pages: 2 })
  const rows = (await readRows(store)).map((row) => JSON.parse(row.slice(row.indexOf('{'))))
  const starts = (path: string) => rows.find(({ pathname }) => pathname === path)?.session_start
  for (const [path, minute, why] of [
    ['/a', 600, 'the first'],
    ['/c', 600, '15 minutes after the one before'],
    ['/d', 660, '35 minutes after it'],
    ['/f', 1430, 'over midnight, when the salt changes'],
  ] as const)
    t.equal(starts(path), new Date(at(minute)).toISOString(), why)
  // More than 25 different pages in a minute are a sweep, and with a hosting network suspected: the 26th to the 40th.
  t.equal(rows.filter(({ suspected }) => suspected).length, 15)
  t.match(
    rows.find(({ pathname }) => pathname === '/c/again'),
    { suspected: false, suspected_by: 'network:hosting' },
    'a session of its own',
  )
})

t.test('lines that come again add nothing', async (t) => {
  // Signs against a person are those of a log that begins between them.
  const without = ['import_id', 'suspected', 'suspected_by']
  const expected = await importOnce(t, WHOLE, without)
  /** Counts of people, of agents, and of rows that were known. */
  type Step = readonly [logs: (string[] | Buffer)[], human: number, agent: number, known: number]
  const cases: readonly [why: string, ...Step[]][] = [
    ['the same file', [[WHOLE], 49, 4, 0], [[WHOLE], 0, 0, 53]],
    ['the same file, packed', [[gzipSync(WHOLE.join('\n'))], 49, 4, 0], [[WHOLE], 0, 0, 53]],
    ['a longer copy', [[EARLY], 43, 3, 0], [[WHOLE], 6, 1, 46]],
    ['a rotated half, then all', [[LATE], 6, 1, 0], [[WHOLE], 43, 3, 7]],
    ['two halves that overlap', [[WHOLE.slice(0, 30)], 26, 3, 0], [[WHOLE.slice(20)], 23, 1, 10]],
    ['two halves in one command, in any order', [[LATE, EARLY], 49, 4, 0]],
    ['a copy of the end, in one command', [[WHOLE, LATE], 49, 4, 7], [[LATE, EARLY], 0, 0, 53]],
    ['the first second of two equal lines', [[WHOLE.slice(0, 3)], 1, 2, 0], [[WHOLE], 48, 2, 3]],
  ]
  const { store, add, undo, imports } = await createWorld(t)
  for (const [why, ...steps] of cases) {
    for (const [logs, human, agent, known] of steps) t.match((await add(logs)).counts, { human, agent, known }, why)
    t.ok(isDeepStrictEqual(await readRows(store, without), expected), why)
    // The first is undone first: later ones have moved its sessions on.
    for (const { id } of (await imports.list(1)).reverse()) await undo(id)
    t.strictSame(await readRows(store), [], `${why}, undone`)
  }
})

t.test('an import that was interrupted anywhere ends as one that was not, and can be undone', async (t) => {
  const expected = await importOnce(t, WHOLE, ['import_id'])
  const { store, add, undo, imports } = await createWorld(t)
  for (const count of [1, 3, 20, 46, 49, 53]) {
    const first = WHOLE.slice(0, count)
    const { id } = await add([first])
    const interrupted = await readRows(store)
    const trial = await add([WHOLE], { dry_run: true })
    t.strictSame(await readRows(store), interrupted, 'a trial stores nothing')
    const second = await add([WHOLE])
    t.strictSame(second.counts, trial.counts, 'and predicts the counts')
    t.ok(isDeepStrictEqual(await readRows(store, ['import_id']), expected), `after ${count} lines`)
    await undo(second.id)
    t.strictSame(await readRows(store), interrupted, 'without the second')
    await undo(id)
    t.strictSame(await readRows(store), [], 'without both')
    t.equal(await imports.secret(), undefined, 'the secret leaves with the last import')
  }
})

t.test('two logs, one after the other, give the sessions of both together', async (t) => {
  // Equal lines are in one log. Carol's signs differ: each log has a part of her pages.
  const isOdd = (line: string) => [...line].reduce((sum, one) => sum + one.charCodeAt(0), 0) % 2 === 1
  const [odd, even] = [WHOLE.filter(isOdd), WHOLE.filter((line) => !isOdd(line))]
  const without = ['import_id', 'suspected', 'suspected_by']
  const expected = await importOnce(t, WHOLE, without)
  const { store, add, undo } = await createWorld(t)
  const first = await add([odd])
  const alone = await readRows(store)
  const second = await add([even])
  t.ok(isDeepStrictEqual(await readRows(store, without), expected))
  t.ok(first.counts.human > 10 && second.counts.human > 10)
  await undo(second.id)
  t.strictSame(await readRows(store), alone)
})

t.test('while an import runs, none is undone, and the reverse', async (t) => {
  const { store, add, imports, callWorker, undo } = await createWorld(t, 20)
  const { id } = await add([WHOLE])
  const stored = await readRows(store)
  const options = { dry_run: true, verify_now: false, host: 'one.example', robots: null }
  const begin = () => callWorker('import_begin', { id: 0, org: 1, site: 1, secret: 'c2VjcmV0', options })
  const step = () => callWorker('remove_import', { site: 1, import: id })
  await begin()
  await t.rejects(step(), { code: 'conflict', message: /^A trial import of site 1 runs since/ })
  t.strictSame(await readRows(store), stored)
  await callWorker('import_end', { id: 0 })
  t.match(await step(), { more: true }, 'one of several steps')
  await t.rejects(begin(), { code: 'conflict', message: 'An import is being undone.' })
  await undo(id)
  t.strictSame([await readRows(store), await imports.list(1)], [[], []])
  await begin()
})
