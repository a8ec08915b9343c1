import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { receiver } from '../fixtures/receiver.js'

const app = await startDashboard(t, { fetches: [], flags: ['--private-webhooks'] })
const {
  page,
  trouble: { lines: trouble },
} = await signIn(await openBrowser(t), app)
const open = (path: string) => page.goto(`${app.admin}/sites/1/${path}`)

const Budgets = z.object({
  data: z.array(z.looseObject({ name: z.string(), kind: z.string(), value: z.number() })),
})

t.test('a budget is filled in from the bill, and an edited one keeps the filters of others', async (t) => {
  const hook = await receiver(t, (_, res) => res.end())
  const budgets = async () =>
    Budgets.parse(await page.evaluate(`fetch('/api/alerts?site=1').then((response) => response.json())`)).data
  await open('bill/OpenAI')
  await page.click('main a:has-text("Alert on a budget")')
  await page.waitForSelector('dialog')
  const values = await page
    .locator('dialog :is(input:not([type=checkbox]), select)')
    .evaluateAll((all) => all.map((field) => `${Reflect.get(field, 'name')} ${Reflect.get(field, 'value')}`))
  t.same(values, [
    'name Agents cost more than a budget',
    'kind budget',
    'operator OpenAI',
    'metric cost',
    'op gt',
    'value ',
    'window_minutes 1440',
  ])
  t.ok(await page.isVisible('dialog label:has-text("Value (EUR)")'))
  await page.fill('dialog input[name=value]', '5')
  await page.fill('dialog textarea[name=channels]', hook.url)
  await page.click('dialog button[type=submit]')
  await page.waitForSelector('main td:text-is("OpenAI, Cost at your prices: more than €5.00 in a day")')
  const made = (await budgets()).find(({ kind }) => kind === 'budget')
  t.match(made, {
    metric: 'cost',
    value: 5,
    window_minutes: 1_440,
    filters: [{ dimension: 'operator', value: 'OpenAI' }],
  })

  const filters = [{ dimension: 'agent_id', op: 'is', value: ['gptbot', 'claudebot'] }]
  const body = { ...{ kind: 'budget', metric: 'bytes', value: 2.5e9, op: 'gt', window_minutes: 43_200, filters } }
  const channels = [{ type: 'webhook', target: hook.url }]
  await page.evaluate(`fetch('/api/alerts', { method: 'POST', headers: { 'content-type': 'application/json' },
    body: '${JSON.stringify({ site: 1, name: 'By hand', channels, ...body })}' })`)
  await open('settings/alerts')
  await page.click('button[aria-label="Edit: By hand"]')
  t.equal(await page.inputValue('dialog input[name=value]'), '2.5', 'in gigabytes')
  t.equal(await page.locator('dialog input[name=operator]').count(), 0, 'a filter that the form cannot show')
  await page.fill('dialog input[name=value]', '3.5')
  await page.click('dialog button[type=submit]')
  await page.waitForSelector('main td:text-matches("^Sent: more than 3.5.GB in 30 days$")')
  const stored = (await budgets()).find(({ name }) => name === 'By hand')
  t.match(stored, { ...body, value: 3.5e9 }, 'nothing else has changed')
  t.same(trouble, [])
})
