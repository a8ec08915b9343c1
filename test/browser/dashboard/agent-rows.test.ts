import t from 'tap'
import { openBrowser } from '../../fixtures/browser.js'
import { signIn, startDashboard } from '../../fixtures/dashboard-service.js'
import { eventually } from '../../fixtures/instance.js'
import { agentRow } from '../../fixtures/rows.js'

/**
 * Rows about agents in a real browser: one row per agent and deciding line, names in quotes where they are only claimed, and
 * on a phone rows of two lines that keep all of it. GPTBot has spoofed fetches alone here, so its name may nowhere stand plain.
 */
const END = Date.parse('2026-11-01T13:00:00Z')

type Fetch = Partial<Parameters<typeof agentRow>[0]>
const GPTBOT = { agent_id: 'gptbot', operator: 'OpenAI', verified: false, verification: 'spoofed' } satisfies Fetch
const GOOGLEBOT = { agent_id: 'googlebot', operator: 'Google', verified: true, verification: 'ranges' } satisfies Fetch
const disallowed = (pathname: string, robots_rule: string, robots_line: number) => ({
  ...{ pathname, robots_rule, robots_line, robots_allowed: false, robots_grace: false },
})
/** `[fetches, who, which]` */
const FETCHES: readonly (readonly [number, Fetch, Fetch])[] = [
  [5, GOOGLEBOT, disallowed('/proofs', '/proofs', 10)],
  [3, GOOGLEBOT, disallowed('/pricing', '/pricing', 12)],
  [2, GOOGLEBOT, { pathname: '/' }],
  [4, GPTBOT, disallowed('/pricing', '/pricing', 12)],
  [1, GPTBOT, { pathname: '/' }],
]
const fetches = FETCHES.flatMap(([n, who, which], kind) =>
  Array.from({ length: n }, (_, i) =>
    agentRow({ hostname: 'one.example', ...who, ...which, timestamp: new Date(END - (kind * 10 + i + 1) * 60_000) }),
  ),
)

const SETTLED = `!document.querySelector('[aria-busy="true"], .skeleton')`
/** The rows of the first table, each as its visible texts. */
const ROWS = `[...document.querySelectorAll('table.two-lines tbody tr')].map((row) => row.innerText.replace(/\\s+/g, ' ').trim())`
/** The lines of each row, by where its visible cells stand, from left to right. */
const LINES = `[...document.querySelectorAll('table.two-lines tbody tr')].map((row) => {
  const cells = [...row.cells].filter((cell) => cell.checkVisibility())
    .map((cell) => ({ text: cell.innerText.replace(/\\s+/g, ' ').trim(), box: cell.getBoundingClientRect() }))
    .filter(({ text }) => text !== '').sort((a, b) => a.box.left - b.box.left)
  const end = cells[0].box.bottom
  return [true, false].map((isFirst) =>
    cells.filter(({ box }) => (box.top + box.bottom) / 2 < end === isFirst).map(({ text }) => text).join(' | '))
})`
/** The texts with GPTBot's name outside of quotes. */
const PLAIN_NAMES = `document.body.innerText.split('\\n').filter((line) => /(?<![“„\\w-])gptbot(?!\\w)/i.test(line))`

const vital = (p75: number, rating: string) => ({ p50: p75, p75, p95: p75, samples: 7, rating })
const VITALS = {
  lcp: vital(2_500, 'good'),
  inp: vital(300, 'needs-improvement'),
  cls: vital(0.3, 'poor'),
  fcp: vital(900, 'good'),
  ttfb: vital(90, 'good'),
}

const app = await startDashboard(t, { people: 400, agents: 0, fetches })
const browser = await openBrowser(t)

t.test('one row per agent and deciding line', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await page.goto(`${app.admin}/sites/1/violations?range=30d`)
  await page.waitForSelector('table.two-lines tbody tr')
  const rows: string[] = await page.evaluate(ROWS)
  const expected: [RegExp, string][] = [
    [/^Googlebot Google Breach 1 10 Disallow: \/proofs 5\b/, 'five of /proofs under its own line'],
    [/^Googlebot Google Breach 1 12 Disallow: \/pricing 3\b/, 'three of /pricing under another'],
    [/^“GPTBot” Unverified 1 12 Disallow: \/pricing 4\b/, 'in quotes, and its operator is not named'],
  ]
  t.equal(rows.length, expected.length)
  for (const [i, [pattern, why]] of expected.entries()) t.match(rows[i], pattern, why)
  await page.goto(`${app.admin}/sites/1/?range=30d`)
  await page.waitForSelector('.violations li')
  const list: string[] = await page.evaluate(
    `[...document.querySelectorAll('.violations li')].map((row) => row.innerText.replace(/\\s+/g, ' ').trim())`,
  )
  t.strictSame(list, [
    'Googlebot Google New 5 10 Disallow: /proofs Breach',
    'Googlebot Google New 3 12 Disallow: /pricing Breach',
    '“GPTBot” New 4 12 Disallow: /pricing Unverified',
  ])
  await context.close()
})

t.test('a spoofed name stands in quotes in every view', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  // Views that name it, and views that may.
  const naming = ['', 'agents', 'agents/gptbot', 'violations', 'violations?by=all', 'pages/%2Fpricing']
  const others = ['live', 'violations?by=pages', 'pages', 'coverage', 'citation-gap', 'decay', 'sources', 'places']
  for (const view of [...naming, ...others]) {
    await page.goto(`${app.admin}/sites/1/${view}${view.includes('?') ? '&' : '?'}range=30d`)
    await page.waitForSelector('main h1, main h2')
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
    await eventually(`${view} has its answers`, async () => (await page.evaluate(SETTLED)) === true)
    if (naming.includes(view)) await page.waitForSelector('text=/[“]gptbot”/i')
    t.strictSame(await page.evaluate(PLAIN_NAMES), [], view)
  }
  await context.close()
})

t.test('rows have two lines on a phone', async (t) => {
  const { context, page } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  const expected: [view: string, lines: string[][]][] = [
    [
      'violations',
      [
        ['Googlebot | Breach | 5', '10 Disallow: /proofs'],
        ['Googlebot | Breach | 3', '12 Disallow: /pricing'],
        ['“GPTBot” | Unverified | 4', '12 Disallow: /pricing'],
      ],
    ],
    [
      'agents',
      [
        ['Googlebot | 8 breaches | 10', '✓ 100% verified'],
        ['“GPTBot” | 4 unverified | 5', '✓ 0% verified ✕ 5 spoofed'],
      ],
    ],
  ]
  for (const [view, rows] of expected) {
    await page.goto(`${app.admin}/sites/1/${view}?range=30d`)
    await page.waitForSelector('table.two-lines .at-beside .tag')
    const lines: string[][] = await page.evaluate(LINES)
    for (const [i, [first, second = '']] of rows.entries()) {
      t.equal(lines[i]?.[0], first, `${view}: name, verdict and number`)
      t.match(lines[i]?.[1], second, `${view}: rule or identity`)
    }
  }
  await page.waitForSelector('table.two-lines .at-trend svg')
  for (const view of ['sources', 'devices']) {
    await page.goto(`${app.admin}/sites/1/${view}?range=30d`)
    await page.waitForSelector('table.two-lines tbody tr')
    t.ok(await page.isVisible('.two-lines td.at-below > svg'), `${view}: bars`)
  }
  await page.route(/api\/stats\/performance/, async (route) => {
    const answer = await route.fetch()
    const vitals = { ...VITALS, comparison: { lcp: { ...VITALS.lcp, p75: 1_250 } } }
    await route.fulfill({ json: { ...(await answer.json()), data: { ...vitals, rows: [{ value: '/', ...VITALS }] } } })
  })
  await page.goto(`${app.admin}/sites/1/performance?range=30d`)
  await page.waitForSelector('table.two-lines tbody tr')
  const [vitals]: string[][] = await page.evaluate(LINES)
  t.strictSame(
    vitals,
    ['/ | 7', 'LCP 2.5 s ○ good INP 300 ms ◐ needs improvement CLS 0.3 ● poor FCP 900 ms ○ good TTFB 90 ms ○ good'],
    'all five vitals, the poor one the heaviest',
  )
  t.match(await page.textContent('.vital-value'), /2\.5\ss.*▲ 100% from 1\.25\ss/, 'the change of a vital')
  for (const view of [
    'performance',
    'violations',
    'violations?by=all',
    'violations?by=pages',
    'agents',
    'sources',
    'devices',
  ]) {
    await page.goto(`${app.admin}/sites/1/${view}${view.includes('?') ? '&' : '?'}range=30d`)
    await page.waitForSelector('table.two-lines tbody tr')
    const wide: string[] = await page.evaluate(
      `[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent.slice(0, 80))`,
    )
    t.strictSame(wide, [], `${view}: nothing is cut off sideways`)
  }
  await context.close()
})
