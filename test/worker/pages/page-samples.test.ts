import t, { type Test } from 'tap'
import type { SiteSettings } from '../../../src/capture/site.js'
import { raw, sql } from '../../../src/storage/sql.js'
import { createPageSamples } from '../../../src/worker/pages/page-samples.js'
import { openStore } from '../../fixtures/open-store.js'

const SITE: SiteSettings = {
  ...{ id: 1, domains: [], timezone: 'UTC', respect_gpc: false, visitor_salt: 'month' },
  excluded_paths: ['/private/**'],
}
const START = Date.parse('2026-11-01T00:00:00Z')
const MINUTE = 60_000

async function open(t: Test, store?: Awaited<ReturnType<typeof openStore>>) {
  const opened = store ?? (await openStore(t))
  let now = START
  const samples = createPageSamples({
    store: opened,
    siteOf: (hostname) => (hostname.endsWith('a.example') ? SITE : undefined),
    obstacle: () => undefined,
    now: () => now,
    log: (_, message, error) => t.fail(message, { error }),
  })
  const take = async (minute: number, text: string | undefined, pathname = '/', hostname = 'a.example') => {
    now = START + minute * MINUTE
    const body = text === undefined ? {} : { body: Buffer.from(text) }
    await samples.take({ hostname, pathname, at: now, content_type: 'text/html', coding: '', ...body })
  }
  const minute = (at: unknown) => (at instanceof Date ? (at.getTime() - START) / MINUTE : at)
  /** `[path, first seen, last seen, prior seen, replaced at, first line, samples, varies]`, times in minutes. */
  const rows = async () => {
    await samples.close()
    const all = await opened.query(sql`select * from page_samples order by hostname, pathname, first_seen`)
    return all.map((row) => [
      row.pathname,
      ...[row.first_seen, row.last_seen, row.prior_seen, row.replaced_at].map(minute),
      ...[row.first_line, row.samples, row.varies],
    ])
  }
  return { store: opened, samples, take, rows, at: (at: number) => (now = START + at * MINUTE) }
}

t.test('a text that changes begins an edition', async (t) => {
  const { store, take, rows } = await open(t)
  await take(0, '<p>one')
  await take(10, '<b>one</b>')
  await take(20, undefined)
  await take(25, 'two')
  await take(24, 'one')
  await take(40, undefined, '/never')
  await take(41, 'x', '/private/a')
  await take(42, 'x', '/', 'other.example')
  const expected = [
    ['/', 0, 20, null, 25, 'one', 3, false],
    ['/', 25, 25, 20, null, 'two', 1, false],
  ]
  t.same(await rows(), expected)
  const next = await open(t, store)
  await next.take(60, 'two')
  await next.take(70, 'one')
  const later = [
    ['/', 0, 20, null, 25, 'one', 3, false],
    ['/', 25, 60, 20, 70, 'two', 2, false],
    ['/', 70, 70, 60, null, 'one', 1, false],
  ]
  t.same(await next.rows(), later, 'after a restart the editions continue; an old text may come back')
})

t.test('a page that differs at every sample has one row', async (t) => {
  const { take, rows } = await open(t)
  for (let n = 0; n < 5; n++) await take(n * 10, `text ${n}`)
  t.same(await rows(), [['/', 0, 40, null, null, 'text 4', 2, true]], 'it is recognised')
  for (let n = 5; n < 9; n++) await take(n * 10, `text ${n}`)
  t.same(await rows(), [['/', 0, 80, null, null, 'text 8', 6, true]], 'and stays so')
  for (let n = 9; n < 12; n++) await take(n * 10, 'text 8')
  t.same(await rows(), [['/', 0, 110, null, null, 'text 8', 9, true]], 'three equal ones are chance')
  await take(120, 'text 8')
  t.same(await rows(), [['/', 120, 120, null, null, 'text 8', 1, false]], 'four are a page that stays')
})

t.test('what browsers show is kept with the present edition, a first line from the second visitor on', async (t) => {
  const { store, samples, take, rows } = await open(t)
  const describe = (minute: number, visitor: number, text_length: number, first_line: string, pathname = '/') => {
    const document = { text_length, links: 2, headings: 1, first_line }
    const page = { site: 1, hostname: 'a.example', pathname, visitor_id: BigInt(visitor) }
    samples.describe({ ...page, at: START + minute * MINUTE, document })
  }
  const living = async (): Promise<unknown[]> => {
    await rows()
    const of = 'living_text_length, living_headings, living_links, living_line, living_seen'
    const all = await store.query(sql`select ${raw(of)} from page_samples where replaced_at is null`)
    return all.map((row) => [
      ...[row.living_text_length, row.living_headings, row.living_links, row.living_line],
      row.living_seen instanceof Date ? (row.living_seen.getTime() - START) / MINUTE : row.living_seen,
    ])
  }
  describe(0, 1, 500, 'Hello')
  await take(1, '<div id=app>')
  t.same(await living(), [[null, null, null, null, null]], 'nothing of a page before its first sample')
  describe(2, 1, 500, 'Hello Ann')
  t.same(await living(), [[500, 1, 2, null, 2]], 'a line of one visitor is not kept')
  describe(3, 1, 600, 'Hello Ann')
  t.same(
    await living(),
    [[500, 1, 2, null, 2]],
    'nor if the same visitor sees it again; the rest is taken each 10 minutes',
  )
  describe(4, 2, 500, 'Hello Bob')
  describe(5, 3, 510, 'Hello Bob')
  t.same(await living(), [[510, 1, 2, 'Hello Bob', 5]], 'two visitors saw the same line')
  describe(15, 4, 700, 'Hello Eve')
  t.same(await living(), [[700, 1, 2, 'Hello Bob', 15]], 'later lines of one visitor change nothing')
  describe(16, 4, 9, 'x', '/other')
  await take(20, '<div id=app>other')
  t.same(await living(), [[null, null, null, null, null]], 'another edition is not described yet')
})

t.test('editions and pages are bounded', async (t) => {
  const { take, rows, at } = await open(t)
  for (let n = 0; n < 30; n++) for (const again of [0, 1]) await take(n * 20 + again * 10, `text ${n}`)
  const kept = await rows()
  t.equal(kept.length, 10, 'of a page')
  t.match(kept.at(-1), ['/', 580, 590, 570, null, 'text 29', 2, false])
  for (let n = 0; n < 2_000; n++) await take(600, 'x', `/${n}`)
  const pages = async () => new Set((await rows()).map(([path]) => path))
  t.equal((await pages()).size, 2_000, 'of a site')
  t.notOk((await pages()).has('/1999'), 'the last one had no place')
  at(0)
  await take(600 + 31 * 1_440, 'x', '/late')
  t.ok((await pages()).has('/late'), 'until one was not sampled for a month')
  t.notOk((await pages()).has('/'), 'which leaves with all its editions')
})

t.test('samples are stored from time to time', async (t) => {
  const { store, samples, take, at } = await open(t)
  const count = async () => (await store.query(sql`select sum(samples) as n from page_samples`))[0]?.n
  const steps: [minute: number, text: string | undefined, expected: number | null, why: string][] = [
    [0, 'one', 1, 'the first at once'],
    [1, 'one', 1, 'an equal one waits'],
    [10, undefined, 3, 'for ten minutes'],
    [10.1, 'two', 3, 'a change waits for a minute'],
    [11.1, undefined, 5, 'at most'],
  ]
  for (const [minute, text, expected, why] of steps) {
    await take(minute, text)
    at(minute)
    await samples.tick()
    t.equal(await count(), expected, why)
  }
})

t.test('a fault of the store loses nothing', async (t) => {
  const store = await openStore(t)
  let isBroken = true
  const warnings: string[] = []
  const samples = createPageSamples({
    store: {
      ...store,
      lookUp: store.lookUp,
      writePageEditions: (changes) => (isBroken ? Promise.reject(new Error('full')) : store.writePageEditions(changes)),
    },
    siteOf: () => SITE,
    obstacle: () => undefined,
    now: () => START,
    log: (_, message) => warnings.push(message),
  })
  const page = { hostname: 'a.example', pathname: '/', content_type: 'text/html', coding: '' }
  await samples.take({ ...page, at: START, body: Buffer.from('one') })
  await samples.close()
  t.equal(warnings.length, 1)
  isBroken = false
  await samples.take({ ...page, at: START + 1, body: Buffer.from('two') })
  await samples.close()
  t.equal((await store.query(sql`select count(*) as n from page_samples`))[0]?.n, 2)
  await t.rejects(samples.take({ ...page, at: START, body: 'text' }), 'what is no sample is refused')
})
