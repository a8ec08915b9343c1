import { get } from 'node:http'
import t from 'tap'
import { z } from 'zod'
import { startSite } from '../../examples/site/server.js'
import { openBrowser } from '../fixtures/browser.js'
import { CHROME, createRecord, dataDir, eventually, startInstance } from '../fixtures/instance.js'

/**
 * The sample site through a real proxy: a scripted ChatGPT-User reads a page live, and a real browser comes from ChatGPT to
 * the same page and reaches a goal.
 */
const PAGE = '/articles/two-bulges'
const CHATGPT =
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot'

const Answers = z.array(
  z.object({
    ...{ pathname: z.string(), fetches: z.int(), followed: z.int(), arrivals: z.int(), same_page: z.int() },
    ...{ goals: z.int(), delay: z.number().optional(), stay: z.number().optional() },
    delays: z.array(z.number()).optional(),
  }),
)

t.test('a live fetch is followed by readers, some of whom reach a goal', async (t) => {
  const site = await startSite({ port: 0 })
  t.teardown(() => site.close())
  const instance = await startInstance(site.url, dataDir(t), '--inject')
  t.teardown(() => instance.stop())
  const match = { op: 'is', value: '/thank-you' }
  await createRecord(instance.data, '/api/goals', { site: 1, name: 'Subscribed', type: 'page', match })
  const read = async () => Answers.parse((await instance.ask('/api/answers?site=1&range=24h&compare=none')).data)

  const began = Date.now()
  const status = await new Promise((resolve, reject) => {
    get(instance.site + PAGE, { headers: { 'user-agent': CHATGPT } }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode))
    }).on('error', reject)
  })
  t.equal(status, 200)
  await eventually('the fetch', async () => (await instance.fetches()) > 0)
  t.match(await read(), [{ pathname: PAGE, fetches: 1, followed: 0, arrivals: 0, goals: 0 }], 'no reader yet')

  const browser = await openBrowser(t)
  /** Comes from ChatGPT as another visitor, who reads a second page. */
  const visit = async (n: number, second: string) => {
    const context = await browser.newContext({ userAgent: CHROME.replace(/Chrome\/\d+/, `Chrome/${130 + n}`) })
    const tab = await context.newPage()
    await tab.goto(instance.site + PAGE, { referer: 'https://chatgpt.com/' })
    await tab.goto(instance.site + second)
    await context.close()
  }
  const follows = (n: number) => eventually(`reader ${n}`, async () => (await read())[0]?.arrivals === n)
  await visit(1, '/thank-you')
  await follows(1)
  await eventually('the goal', async () => (await read())[0]?.goals === 1)
  const [first] = await read()
  t.match(first, { pathname: PAGE, fetches: 1, followed: 1, same_page: 1, delay: undefined, stay: undefined })
  const [delay = -1] = first?.delays ?? []
  t.ok(delay > 0 && delay * 1000 <= Date.now() - began, `${delay} s lie between the fetch and the arrival`)

  for (const n of [2, 3, 4, 5]) await visit(n, '/articles')
  await follows(5)
  await eventually('the second pages', async () => Number((await read())[0]?.stay) > 0)
  const all = await read()
  t.match(all, [{ fetches: 1, followed: 1, arrivals: 5, same_page: 5, goals: 1, delays: undefined }], 'one row')
  t.equal(all.length, 1)
  const passed = (Date.now() - began) / 1000
  t.ok(Number(all[0]?.delay) >= delay && Number(all[0]?.delay) < passed, 'five have a median')
  t.ok(Number(all[0]?.stay) < passed, 'and a median stay')
})
