import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { z } from 'zod'
import { refusalOf } from '../../../src/rules/refusal.js'
import { DecidingRule } from '../../../src/rules/rule.js'
import { openBrowser } from '../../fixtures/browser.js'
import { shows, texts } from '../../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../../fixtures/dashboard-service.js'
import { COUNT_SHIFTS, SETTLED, SHIFTS, UNREADABLE } from '../../fixtures/page-layout.js'
import { agentRow } from '../../fixtures/rows.js'

/** The views of rules in a browser, over two months of rows in which Bytespider took 600 pages. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const LAST = Date.parse('2026-11-01T12:00:00Z')
const fetches = Array.from({ length: 600 }, (_, i) =>
  agentRow({
    ...{ agent_id: 'bytespider', operator: 'ByteDance', user_agent: 'Bytespider', verification: 'unverifiable' },
    ...{
      timestamp: new Date(LAST - i * 60 * 60_000),
      hostname: 'one.example',
      pathname: `/p/${i % 240}`,
      bytes: 20_000,
    },
  }),
)
const app = await startDashboard(t, { people: 800, agents: 800, fetches })
const browser = await openBrowser(t)
const Rule = z.object({
  ...{ id: z.int(), name: z.string(), state: z.string(), action: z.string(), position: z.int(), version: z.int() },
  ...{ agents: z.array(z.string()), except: z.array(z.string()), refuse_search_engines: z.boolean() },
})
const rules = async (page: Page) =>
  z
    .array(Rule)
    .parse(await page.evaluate(`fetch('/api/rules?site=1').then((answer) => answer.json()).then(({ data }) => data)`))
const NAMES = texts('main .rule-name a')
const isShown = (selector: string) => `document.querySelector(${JSON.stringify(selector)}) !== null`
const DESKTOP = { viewport: { width: 1440, height: 900 } }

/** Opens an address and waits until its answers are drawn. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${app.admin}/sites/1/${path}`)
  await page.waitForSelector('main h1', { state: 'attached' })
  await shows(t, page, SETTLED, true, `${path} has its answers`)
}

/** Creates a rule as the page's reader. */
const create = (page: Page, rule: object): Promise<number> =>
  page.evaluate(`fetch('/api/rules', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify({ site: 1, ...rule }))},
  }).then(({ status }) => status)`)

t.test('four clicks lead from an agent to a rule that was rehearsed and is on', async (t) => {
  const { page, context, trouble } = await signIn(browser, app, DESKTOP)
  await open(page, 'agents/bytespider')
  await page.click('main a:text-is("Act")')
  await shows(t, page, SETTLED, true, 'the new rule is rehearsed')
  t.match(await page.inputValue('.rule-form input'), 'Bytespider', 'the name is filled in')
  t.equal(await page.getAttribute('.states button:has-text("Rehearse")', 'aria-pressed'), 'true', 'in rehearsal')
  await page.click('.rule-form label:has-text("Refuse")')
  await shows(t, page, SETTLED, true, 'the edit is rehearsed')
  t.match(
    await page.textContent('main .sentence'),
    /would have refused \d+ fetches of 1 agent\..*People touched: none\./,
  )
  await page.click('.states button:has-text("On")')
  await page.click('dialog .button:text-is("On")')
  await page.waitForURL(/\/rules\/\d+/)
  t.match(await rules(page), [
    { name: 'Bytespider', agents: ['bytespider'], action: 'block', state: 'on', position: 1 },
  ])
  await open(page, 'agents/bytespider')
  await shows(t, page, texts('.title-line a.tag'), ['Rule Bytespider: On'], 'the page of the agent names the rule')
  t.same(trouble.lines, [])
  await context.close()
})

t.test('a full stop pauses all rules at once, and resuming asks', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  await open(page, 'rules')
  await shows(t, page, texts('.bar .pause > span'), ['1 rule on'], 'the bar counts the rules')
  await page.keyboard.press('.')
  await shows(t, page, texts('.bar .pause > span'), ['Rules are paused'], 'paused')
  await shows(
    t,
    page,
    `${texts('main .paused b')}.map((text) => text.replace(/since .*, by/, 'since, by'))`,
    ['Rules are paused since, by owner@localhost.'],
    'who and since when',
  )
  await page.keyboard.press('.')
  await page.click('dialog .button:text-is("Resume")')
  await shows(t, page, texts('.bar .pause > span'), ['1 rule on'], 'resumed')
  await context.close()
})

t.test('a rule that was switched on before it had a name is stored as the form shows it', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  await open(page, 'rules/new?agents=gptbot')
  await page.click('.states button:has-text("On")')
  await page.click('dialog .button:text-is("On")')
  await page.click('.states button:has-text("Rehearse")')
  await page.fill('.rule-form input', 'Named later')
  await page.click('.rule-form .button:text-is("Save")')
  await page.waitForURL(/\/rules\/\d+/)
  const [stored] = (await rules(page)).filter(({ name }) => name === 'Named later')
  t.equal(stored?.state, 'rehearse')
  await page.evaluate(`fetch('/api/rules/${stored?.id}', { method: 'DELETE' })`)
  await context.close()
})

t.test('a rule that names search engines stays locked until its owner decides', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  await open(page, 'rules/new?name=Google&operators=Google')
  t.match(await page.textContent('.engines h2'), /^This rule would refuse \d+ search engines?\.$/)
  await page.click('.states button:has-text("On")')
  t.equal(await page.evaluate('document.activeElement.id'), 'engines', 'On leads to the band')
  await page.fill('.engines input', 'Googlebo')
  t.ok(await page.isDisabled('.engines .button:text-is("Refuse them as well")'), 'another name does not do')
  await page.fill('.engines input', 'googlebot')
  await page.click('.engines .button:text-is("Refuse them as well")')
  await shows(t, page, isShown('.engines'), false, 'the name of the search engine does')
  await page.click('.rule-form label:has-text("Search engines are refused on purpose")')
  await shows(t, page, isShown('.engines'), true, 'the owner takes it back')
  await page.click('.engines .button:text-is("Leave search engines out")')
  await shows(t, page, isShown('.engines'), false, 'or they are left out')
  await page.click('.rule-form .button:text-is("Save")')
  await page.waitForURL(/\/rules\/\d+/)
  const [, made] = await rules(page)
  t.ok(made?.except.includes('googlebot'), 'the record leaves Googlebot out')
  t.equal(made?.refuse_search_engines, false)
  await open(page, 'rules/new?name=Everything')
  t.equal(await page.textContent('main .sentence'), 'This rule cannot be stored yet: the form says why.')
  t.match(await page.textContent('.rule-form .wrong'), /every agent everywhere/, 'the field says why before it is sent')
  await page.click('.rule-form .button:text-is("Save")')
  await page.waitForSelector('.rule-form [role=alert]')
  t.equal((await rules(page)).length, 2, 'a rule about everything is not stored')
  await context.close()
})

t.test('the form shows the text that an agent reads where its owner has written nothing', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  await open(page, 'rules/new?name=GPTBot&agents=gptbot')
  for (const [word, action] of [
    ['Pay', 'pay'],
    ['Limit', 'limit'],
    ['Gone', 'gone'],
    ['Refuse', 'block'],
  ]) {
    await page.click(`.rule-form .action:has-text("${word}")`)
    const { body } = refusalOf(DecidingRule.parse({ id: 1, name: 'a', action, state: 'on' }), undefined, 0) ?? {}
    await shows(t, page, "document.querySelector('textarea[aria-label=Text]').placeholder", body?.trim(), word ?? '')
  }
  await context.close()
})

t.test('an edit in a second window loses nothing', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  const [{ id = 0 } = {}] = await rules(page)
  await open(page, `rules/${id}`)
  const other = await context.newPage()
  await open(other, `rules/${id}`)
  for (const [where, name] of [
    [other, 'Theirs'],
    [page, 'Mine'],
  ] as const) {
    await where.fill('.rule-form input >> nth=0', name)
    await where.keyboard.press('Control+s')
    if (where === other) await shows(t, other, texts('.toast span'), ['The rule is on.'], 'the first is stored')
  }
  await page.waitForSelector('.newer')
  t.match(await page.textContent('.newer'), /Another member changed this.*Theirs: Theirs/)
  await page.click('.newer .button:text-is("Keep mine")')
  const stored = `fetch('/api/rules/${id}').then((answer) => answer.json()).then(({ data }) => [data.name, data.state])`
  await shows(t, page, stored, ['Mine', 'on'], 'the own input is stored over theirs')
  await context.close()
})

t.test('rules move by keyboard, and a state is changed by its menu', async (t) => {
  const { page, context } = await signIn(browser, app, DESKTOP)
  t.equal(await create(page, { name: 'Third', paths: ['/p/**'], action: 'gone', state: 'off' }), 201)
  await open(page, 'rules')
  await shows(t, page, NAMES, ['Mine', 'Google', 'Third'], 'in order')
  await page.focus('.rule-name a >> nth=2')
  await page.keyboard.press('Alt+ArrowUp')
  await shows(t, page, NAMES, ['Mine', 'Third', 'Google'], 'moved up')
  await shows(t, page, 'document.activeElement.textContent', 'Third', 'the focus stays on the rule')
  await page.keyboard.press('Alt+ArrowUp')
  await shows(t, page, NAMES, ['Third', 'Mine', 'Google'], 'and again')
  await page.selectOption('main td select >> nth=0', 'rehearse')
  await shows(
    t,
    page,
    "document.querySelectorAll('main td .gate [stroke-dasharray]').length",
    2,
    'its barrier is dashed',
  )
  await page.selectOption('main td select >> nth=0', 'moveDown')
  await shows(t, page, NAMES, ['Mine', 'Third', 'Google'], 'moved down by the list of its state')
  await page.selectOption('main td select >> nth=1', 'moveUp')
  await shows(t, page, NAMES, ['Third', 'Mine', 'Google'], 'and up')
  t.match(await rules(page), [{ name: 'Third', state: 'rehearse' }, {}, {}])
  await context.close()
})

t.test('the views hold still, fit the screen, and have no fault that axe finds', async (t) => {
  const { page, context, trouble } = await signIn(browser, app, DESKTOP)
  await page.addInitScript(COUNT_SHIFTS)
  const [{ id = 0 } = {}] = await rules(page)
  for (const path of ['rules', `rules/${id}`, 'rules/new?name=Google&operators=Google'])
    for (const [width, height] of [
      [1440, 900],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height })
      await open(page, path)
      const shifts: { value: number }[] = await page.evaluate(SHIFTS)
      const sum = shifts.reduce((all, { value }) => all + value, 0)
      t.ok(sum < 0.02, `${path} at ${width} shifts by ${sum.toFixed(3)}`, { shifts: shifts.slice(0, 3) })
      t.same(await page.evaluate(UNREADABLE), [], `${path} at ${width}: each text can be read`)
      await page.evaluate(`window.axe === undefined && (() => { ${AXE} })()`)
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme })
        const faults = await page.evaluate(
          `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))`,
        )
        t.same(faults, [], `${path} at ${width}, ${colorScheme}: axe`)
      }
    }
  t.same(trouble.lines, [])
  await context.close()
})
