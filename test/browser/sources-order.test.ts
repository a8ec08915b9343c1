import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { shows, texts } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventRow } from '../fixtures/rows.js'

/** Six visits of two people came directly, four of four from a search engine, one from an assistant: eleven. */
const AT = Date.parse('2026-10-29T10:00:00Z')
const visit = (person: number, hour: number, channel: string, source?: string) =>
  eventRow({
    timestamp: new Date(AT + hour * 3_600_000),
    visitor_id: BigInt(9_000_000 + person),
    session_id: BigInt(9_000_000 + person * 100 + hour),
    hostname: 'one.example',
    pathname: '/order',
    channel,
    ...(source === undefined ? {} : { source }),
  })
const visits = [
  ...[1, 2].flatMap((person) => [0, 1, 2].map((hour) => visit(person, hour, 'Direct'))),
  ...[3, 4, 5, 6].map((person) => visit(person, 0, 'Organic Search', 'Google')),
  visit(7, 0, 'AI Assistants', 'ChatGPT'),
]

t.test('channels have the order of the number shown, and the sentence the share of assistants', async (t) => {
  const app = await startDashboard(t, { people: 40, agents: 40, visits })
  const { page, trouble } = await signIn(await openBrowser(t), app)
  const filters = encodeURIComponent(JSON.stringify([{ dimension: 'pathname', op: 'is', value: '/order' }]))
  await page.goto(`${app.admin}/sites/1/sources?range=30d&filters=${filters}`)
  await page.waitForSelector('main .measures tbody tr')
  const channels = `main section.cell:has(.measures):nth-of-type(1) tbody tr th`
  await shows(t, page, texts(channels), ['Direct', 'Organic Search', 'AI Assistants'], 'by visits, not by people')
  t.match(await page.textContent('main .sentence'), 'the largest channel was Direct with 54.5%')
  t.match(await page.textContent('main .sentence'), 'AI assistants brought 1 visit (9.1%), first ChatGPT.')
  t.same(trouble.lines, [])
})
