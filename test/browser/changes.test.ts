import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { count, shows, texts } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { agentRow } from '../fixtures/rows.js'

/** The view What changed over two months of rows: a fifth of the reads of the last week are one agent's, of one page, on one day. */
const ON = Date.parse('2026-10-29T10:00:00Z')
const WAVE = 2_500
const fetches = Array.from({ length: WAVE }, (_, i) =>
  agentRow({ timestamp: new Date(ON + i * 1_000), agent_id: 'ccbot', pathname: '/wave', country: 'US' }),
)
const app = await startDashboard(t, { people: 1_500, agents: 1_500, fetches })
const browser = await openBrowser(t)
const RANGE = 'range=7d'
const Answer = z.object({ data: z.object({ difference: z.int(), cause: z.looseObject({ difference: z.int() }) }) })

const signed = (n: number) => (n > 0 ? `+${count(n)}` : n < 0 ? `−${count(-n)}` : '0')
/** The differences in the chain of a readership, the total last. */
const differences = (of: string) => `[...document.querySelectorAll('main .chain.${of} .amount b')]
  .map(({ textContent }) => Number(textContent.replaceAll(',', '').replace('−', '-')))`

/**
 * The pixels between the end of each bar of a chain and the beginning of the next, less than 2.5 as no bar is narrower
 * than two: a bar that fell runs to the left.
 */
const gapsIn = (of: string) => `[...document.querySelectorAll('main .chain.${of} tr:has(.run)')]
  .filter((row) => row.className !== 'total')
  .map((row) => {
    const { left, right } = row.querySelector('.run').getBoundingClientRect()
    const fell = row.querySelector('.amount b').textContent.startsWith('−')
    return fell ? { from: right, to: left } : { from: left, to: right }
  })
  .map(({ from }, i, bars) => from - (i > 0 ? bars[i - 1].to : from))`

t.test('a chain of contributions adds up, and the sentence names the cause', async (t) => {
  const { page, trouble } = await signIn(browser, app, { viewport: { width: 1440, height: 1000 } })
  await page.goto(`${app.admin}/sites/1/changes?${RANGE}`)
  await page.waitForSelector('main .chain')
  const { data } = Answer.parse(await app.ask(`/api/stats/changes?site=1&audience=agent&${RANGE}`))
  t.match(data.cause, { dimension: 'agent_id', value: 'ccbot', page: { value: '/wave', difference: WAVE } })
  t.equal(data.cause.difference, WAVE, 'as many as were stored')
  await shows(
    t,
    page,
    texts('main .change-total b').replace('.map', '.slice(1).map'),
    [signed(data.difference)],
    'the total',
  )
  const sentence = String(await page.textContent('main .sentence'))
  t.match(sentence, `Agents made ${count(data.difference)} reads more than in the 7 days before; CCBot made `)
  t.match(sentence, /nearly all of them at \/wave on \d+ \w+/)
  for (const of of ['human', 'agent']) {
    const all = z.array(z.int()).parse(await page.evaluate(differences(of)))
    const total = all.pop()
    t.equal(
      all.reduce((sum, n) => sum + n, 0),
      total,
      `${of}: the rows of the list make its last row`,
    )
  }
  for (const of of ['human', 'agent']) {
    const gaps = z.array(z.number()).parse(await page.evaluate(gapsIn(of)))
    t.ok(
      gaps.length > 3 && gaps.every((gap) => Math.abs(gap) < 2.5),
      `${of}: each bar begins where the last one ends`,
      {
        gaps,
      },
    )
  }
  const rows = await page.locator('main .chain.agent tr.up').first().textContent()
  t.match(rows, /^CCBot.*\+2,/)

  await page.locator('[role=tab][aria-selected=true]').focus()
  const chosen = texts('[role=tab][aria-selected=true] > span:first-child')
  for (const tab of ['Sections', 'Pages']) {
    await page.keyboard.press('ArrowLeft')
    await shows(t, page, chosen, [tab], 'arrows move the tabs')
  }
  t.match(page.url(), /by=pages/, 'the tab is in the address')
  t.equal(await page.evaluate('document.activeElement.id'), 'by-pages', 'and have the focus')
  const wave = page.locator('main .chain.agent tr.up th button').first()
  t.equal(await wave.textContent(), '/wave', 'the page of the wave')
  await wave.click()
  await eventually('a name filters', async () => /filters=/.test(page.url()))
  await page.goto(`${app.admin}/sites/1/changes?${RANGE}&by=campaigns`)
  await page.waitForSelector('main .absent')
  t.match(await page.textContent('main .cell:has(#changes-agent)'), 'Agents follow no campaign')
  await page.keyboard.press('t')
  await page.waitForSelector('main table[aria-label="When"], main .scroll table')
  t.same(trouble.lines, [])
})

t.test('nothing to compare with is said once; the overview has the panel', async (t) => {
  const { page, trouble } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  await page.goto(`${app.admin}/sites/1/changes?range=90d`)
  const readSentence = async () => String(await page.textContent('main .sentence'))
  await eventually('the reason is said', async () => /so there is no change/.test(await readSentence()))
  t.equal((await readSentence()).match(/no change/g)?.length, 1)
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
    true,
    'nothing is cut off sideways',
  )
  const shorter = page.locator('main .sentence a')
  t.equal(await shorter.textContent(), 'Last 30 days', 'the longest time that can be compared is offered')
  await shorter.click()
  await page.waitForSelector('main .chain')
  t.match(await readSentence(), 'than in the 30 days before', 'and it has a change')
  await page.goto(`${app.admin}/sites/1/?${RANGE}`)
  await page.waitForSelector('main .change-sides .chain.agent')
  t.equal(await page.locator('main .change-sides .chain.agent :is(.up, .down)').count(), 3, 'the top three rows')
  t.match(await page.textContent('main .change-words'), 'CCBot made')
  t.same(trouble.lines, [])
})

t.test('in German', async (t) => {
  const { page } = await signIn(browser, app, { locale: 'de-DE', viewport: { width: 1440, height: 1000 } })
  await page.goto(`${app.admin}/sites/1/changes?${RANGE}`)
  await page.waitForSelector('main .chain')
  const sentence = await page.textContent('main .sentence')
  t.match(sentence, /Agenten kamen auf [\d.]+ Lesezugriffe mehr als in den 7 Tagen davor/)
  t.notMatch(sentence, /\.\./, 'a day that ends with a point ends the sentence')

  const days = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
  await page.goto(`${app.admin}/sites/1/changes?start=${days(55)}&end=${days(1)}`)
  const shorter = page.locator('main .sentence a')
  await shorter.waitFor()
  t.match(await shorter.getAttribute('href'), `start=${days(30)}&end=${days(1)}`, 'thirty of them')
  t.notMatch(await page.textContent('main .sentence'), /\.\./)

  await page.goto(`${app.admin}/sites/1/?start=${days(45)}&end=${days(1)}`)
  await page.waitForSelector('main svg.chart')
  const main = async () => String(await page.textContent('main'))
  await eventually('the chart says when recording began', async () => /wurde nichts erfasst/.test(await main()))
  t.match(
    await main(),
    /Vor \p{Lu}\p{Ll}\., \d+\. \S+ \d{4}, \d\d:\d\d wurde nichts erfasst\./u,
    'as a reader writes a time',
  )
  t.notMatch(await main(), /\d{4}-\d\d-\d\dT/, 'not as a program does')
})
