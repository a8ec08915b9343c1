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

async function open(t: Test, store?: Awaited<ReturnType<typeof openStore>>, maxPagesInMemory = 100) {
  const opened = store ?? (await openStore(t))
  let now = START
  const reads: unknown[] = []
  const samples = createPageSamples({
    maxPagesInMemory,
    store: {
      writePageEditions: (changes) => opened.writePageEditions(changes),
      lookUp: (asked) => {
        reads.push(asked.values[0])
        return opened.lookUp(asked)
      },
    },
    siteOf: (hostname) => {
      const id = /^site-(\d+)\.example$/.exec(hostname)?.[1]
      return id ? { ...SITE, id: Number(id) } : hostname.endsWith('a.example') ? SITE : undefined
    },
    obstacle: () => undefined,
    now: () => now,
    log: (_, message, error) => t.fail(message, { error }),
  })
  const take = async (
    minute: number,
    text: string | undefined,
    pathname = '/',
    { hostname = 'a.example', is_agent = false, validator = '"1"' } = {},
  ) => {
    now = START + minute * MINUTE
    const body = text === undefined ? {} : { body: Buffer.from(text) }
    await samples.take({
      hostname,
      pathname,
      at: now,
      is_agent,
      content_type: 'text/html',
      coding: '',
      validator,
      ...body,
    })
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
  return { store: opened, samples, take, rows, reads, at: (at: number) => (now = START + at * MINUTE) }
}

t.test('a text that changes begins an edition', async (t) => {
  const { store, take, rows } = await open(t)
  await take(0, '<p>one')
  await take(10, '<b>one</b>')
  await take(20, undefined)
  await take(22, undefined, '/', { validator: '"2"' })
  await take(25, 'two')
  await take(24, 'one')
  await take(40, undefined, '/never')
  await take(41, 'x', '/private/a')
  await take(42, 'x', '/', { hostname: 'other.example' })
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

t.test('memory keeps pages of the sites that were sampled last, and of those that are not stored yet', async (t) => {
  const { samples, take, rows, reads } = await open(t, undefined, 4)
  const site = (id: number) => ({ hostname: `site-${id}.example` })
  for (const id of [1, 2, 3]) for (const page of ['/a', '/b']) await take(0, 'one', page, site(id))
  await take(10, 'one', '/a', site(1))
  t.same(reads, [1, 2, 3], 'nothing is stored, so all stays')
  await samples.close()
  await take(20, 'two', '/a', site(1))
  t.same(reads.splice(0), [1, 2, 3], 'the site itself stays')
  await samples.close()
  await take(30, 'two', '/a', site(3))
  await take(40, 'two', '/a', site(1))
  t.same(reads.splice(0), [], 'and so do two of two pages each')
  await take(50, 'two', '/a', site(2))
  t.same(reads.splice(0), [2], 'the one that was sampled longest ago was forgotten')
  const expected = [1, 2, 3].flatMap((id) => [
    ['/a', 0, [10, 0, 0][id - 1], null, [20, 50, 30][id - 1], 'one', id === 1 ? 2 : 1, false],
    ['/a', [20, 50, 30][id - 1], [40, 50, 30][id - 1], [10, 0, 0][id - 1], null, 'two', id === 1 ? 2 : 1, false],
    ['/b', 0, 0, null, null, 'one', 1, false],
  ])
  t.same(await rows(), expected, 'and goes on from the store')
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

t.test('a text that agents alone get stands beside the edition of people', async (t) => {
  /** Samples each ten minutes, `p` of people and `a` of agents, `-` with the validator of before, `|` after a restart. */
  const CASES: [samples: string, editions: unknown[][], why: string][] = [
    ['pA aB pA aB pA aB', [[0, 40, null, null, 'A', 3, 'people', 'B', 3]], 'three times in turn'],
    ['aB pA aB', [[0, 10, null, null, 'A', 1, 'people', 'B', 1]], 'agents came first'],
    ['pA aB p- a-', [[0, 20, null, null, 'A', 2, 'people', 'B', 2]], 'each has its validator'],
    ['pA aB | pA', [[0, 20, null, null, 'A', 2, 'people', 'B', 1]], 'over a restart'],
    ['pA aB aC pA', [[0, 30, null, null, 'A', 2, 'people', 'C', 1]], 'agents got two'],
    ['pA aB pA aC pA aD', [[0, 40, null, null, 'A', 3, 'people', 'D', 1]], 'agents get another one each time'],
    ['pA aB pA aC aC aC', [[0, 20, null, null, 'A', 2, 'people', 'C', 1]], 'it may have changed for people too'],
    ['pA aB pA aA', [[0, 30, null, null, 'A', 3, 'both', null, null]], 'agents get the same again'],
    [
      'pA aB aB pB',
      [
        [0, 0, null, 10, 'A', 1, 'people', null, null],
        [10, 30, 0, null, 'B', 3, 'both', null, null],
      ],
      'a change for all that agents got first',
    ],
    [
      'pA aB pA pB',
      [
        [0, 20, null, 30, 'A', 2, 'people', 'B', 1],
        [30, 30, 20, null, 'B', 1, 'both', null, null],
      ],
      'people get what agents had',
    ],
    [
      'pA aB pA pC aB',
      [
        [0, 20, null, 30, 'A', 2, 'people', 'B', 1],
        [30, 30, 20, null, 'C', 1, 'people', 'B', 2],
      ],
      'a change for people',
    ],
    [
      'pA pB aA pB aA',
      [
        [0, 0, null, 10, 'A', 1, 'people', null, null],
        [10, 30, 0, null, 'B', 2, 'people', 'A', 2],
      ],
      'agents get the text of before',
    ],
    ['pA pB pA pB pA aB aB aB', [[0, 70, null, null, 'B', 6, 'agents', null, null]], 'a page that varies'],
  ]
  const store = await openStore(t)
  for (const [n, [steps, expected, why]] of CASES.entries()) {
    let { take, rows } = await open(t, store)
    let minute = 0
    for (const step of steps.split(' ')) {
      if (step === '|') {
        await rows()
        ;({ take, rows } = await open(t, store))
        continue
      }
      await take(minute, step[1] === '-' ? undefined : step.slice(1), `/${n}`, { is_agent: step[0] === 'a' })
      minute += 10
    }
    await rows()
    const found = await store.query(sql`select * from page_samples where pathname = ${`/${n}`} order by first_seen`)
    const minutes = (at: unknown) => (at instanceof Date ? (at.getTime() - START) / MINUTE : at)
    t.same(
      found.map((row) => [
        ...[row.first_seen, row.last_seen, row.prior_seen, row.replaced_at].map(minutes),
        ...[row.first_line, row.samples, row.served_to, row.agent_line, row.agent_samples],
      ]),
      expected,
      why,
    )
  }
})

t.test('a page with two texts at a time varies, and a text that was taken back does not make it so', async (t) => {
  const A = Array.from('aaaa')
  const CASES: [texts: string[], varies: boolean, why: string][] = [
    [[...A, 'b', ...A], false, 'one change that was taken back'],
    [[...A, 'b', ...A, 'b'], true, 'one of five requests gets another text'],
    [[...A, 'b', ...A, 'c', ...A, 'd', ...A], true, 'one of five gets another text each time'],
    [['a', 'b', 'a', 'a', 'c', 'c', 'd', 'd', 'c'], false, 'two that were taken back, with new texts between'],
    [[...A, 'b', 'b', 'c', 'c', 'd', 'd', 'e'], false, 'new texts'],
    [[...A, 'b', ...A, 'b', ...A, 'b', 'a'], true, 'again, after it had none for a while'],
  ]
  for (const [n, [texts, varies, why]] of CASES.entries()) {
    const { take, rows } = await open(t)
    for (const [i, text] of texts.entries()) await take(i * 10, text, `/${n}`)
    t.equal(
      (await rows()).some((row) => row.at(-1) === true),
      varies,
      why,
    )
  }
})

t.test('what browsers show is kept with the present edition, a first line from the fifth visitor on', async (t) => {
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
  for (const visitor of [2, 3, 4, 5]) describe(4, visitor, 500, 'Hello Bob')
  t.same(await living(), [[500, 1, 2, null, 2]], 'four visitors: a person may have several devices and networks')
  describe(5, 6, 510, 'Hello Bob')
  t.same(await living(), [[510, 1, 2, 'Hello Bob', 5]], 'five visitors saw the same line')
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
  await take(600 + 1_439, 'x', '/late')
  t.notOk((await pages()).has('/late'), 'within a day')
  await take(600 + 1_440, 'x', '/late')
  t.ok((await pages()).has('/late') && !(await pages()).has('/0'), 'a page with one sample leaves after a day')
  for (let n = 1; n < 1_999; n++) await take(700 + 1_440, 'x', `/${n}`)
  await take(710 + 1_440, 'x', '/late')
  await take(580 + 30 * 1_440, 'x', '/later')
  t.ok((await pages()).has('/'), 'others stay')
  await take(600 + 31 * 1_440, 'x', '/later')
  t.ok((await pages()).has('/later'), 'until one was not sampled for a month')
  t.notOk((await pages()).has('/'), 'which leaves with all its editions')
})

t.test('samples are stored from time to time', async (t) => {
  const { store, samples, take, at } = await open(t)
  const count = async () => (await store.query(sql`select sum(samples) as n from page_samples`))[0]?.n
  const STEPS: [second: number, text: string | undefined, pathname: string, expected: number, why: string][] = [
    [0, 'one', '/', 1, 'the first at once'],
    [60, 'one', '/', 1, 'an equal one waits'],
    [600, undefined, '/', 3, 'for ten minutes'],
    ...Array.from({ length: 9 }, (_, n): (typeof STEPS)[number] => [600 + n, 'new', `/${n}`, 4 + n, 'ten in a row']),
    [609, 'new', '/next', 12, 'another one waits'],
    [660, 'new', '/then', 14, 'for a minute'],
    [661, 'new', '/last', 14, 'each'],
    [720, undefined, '/last', 16, 'each'],
  ]
  for (const [second, text, pathname, expected, why] of STEPS) {
    await take(second / 60, text, pathname)
    at(second / 60)
    await samples.tick()
    t.equal(await count(), expected, `${why}: ${second}`)
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
  const page = { hostname: 'a.example', pathname: '/', is_agent: false, content_type: 'text/html', coding: '' }
  await samples.take({ ...page, at: START, body: Buffer.from('one') })
  await samples.close()
  t.equal(warnings.length, 1)
  isBroken = false
  await samples.take({ ...page, at: START + 1, body: Buffer.from('two') })
  await samples.close()
  t.equal((await store.query(sql`select count(*) as n from page_samples`))[0]?.n, 2)
  await t.rejects(samples.take({ ...page, at: START, body: 'text' }), 'what is no sample is refused')
})
