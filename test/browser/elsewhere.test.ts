import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { listenAdmin } from '../../src/api/server.js'
import { openBrowser } from '../fixtures/browser.js'
import { sampleService } from '../fixtures/sample.js'

/** Describes the API reference as the browser shows it, with everything unfolded. */
const LOOK = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)]
  for (const details of all('details')) details.open = true
  const ids = all('[id]').map(({ id }) => id)
  const { color, backgroundColor } = getComputedStyle(document.body)
  return {
    dead: all('a[href^="#"]').map((link) => link.getAttribute('href').slice(1)).filter((id) => !ids.includes(id)),
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    levels: all('main :is(h1, h2, h3, h4)').map(({ tagName }) => Number(tagName[1])),
    wide: document.documentElement.scrollWidth - innerWidth,
    operations: all('article h3 a').length,
    colours: [color, backgroundColor],
  }
})()`
const Page = z.object({
  dead: z.array(z.string()),
  twice: z.array(z.string()),
  levels: z.array(z.number()),
  wide: z.number(),
  operations: z.number(),
  colours: z.tuple([z.string(), z.string()]),
})

/** The example's page on an origin of its own, in a browser, before a service that allows these origins. */
async function open(t: Test, allowed: (own: string) => string[]) {
  const page = createServer((req, res) => {
    // As `npm install readership` leaves them in the example's folder; this checkout is the package `readership`.
    const [, file] = /^\/(node_modules\/.+)/.exec(req.url ?? '') ?? []
    const path = file?.replace(/^node_modules\/readership\//, '') ?? 'examples/dashboard-elsewhere/index.html'
    res.setHeader('content-type', file ? 'text/javascript' : 'text/html; charset=utf-8')
    res.end(readFileSync(path))
  }).listen(0, '127.0.0.1')
  await once(page, 'listening')
  t.teardown(() => {
    page.close()
    page.closeAllConnections()
  })
  const address = page.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const service = await sampleService(t, { cors_origins: allowed(origin) })
  const admin = await listenAdmin((request, peer) => service.instance.fetch(request, peer), '127.0.0.1', 0)
  t.teardown(() => admin.close())
  const tab = await (await openBrowser(t)).newPage()
  const asked: string[] = []
  const broken: string[] = []
  tab.on('request', (request) => asked.push(request.url()))
  tab.on('pageerror', (error) => broken.push(error.message))
  await tab.goto(origin)
  const secret = service.key.authorization.replace('Bearer ', '')
  const show = async (key: string) => {
    await tab.fill('[name=service]', admin.at)
    await tab.fill('[name=key]', key)
    const before = await tab.textContent('[role=status]')
    await tab.click('button')
    await tab.waitForFunction(`document.querySelector('[role=status]').textContent !== ${JSON.stringify(before)}`)
    return (await tab.textContent('[role=status]')) ?? ''
  }
  return { tab, show, secret, asked, broken, origin, ask: service.ask }
}

t.test('a page of another origin plots both readerships', async (t) => {
  const { tab, show, secret, asked, broken, origin, ask } = await open(t, (own) => [own])
  const status = await show(secret)
  t.ok(asked.includes(`${origin}/node_modules/readership/dist/src/client.js`), 'by the published client')
  const totals = async (path: string, name: string) =>
    Object(Object(Object((await ask(`${path}?site=1&range=30d`)).body).data))[name]
  const people = await totals('/api/stats/overview', 'pageviews')
  const agents = await totals('/api/agents/overview', 'fetches')
  t.ok(people > 0 && agents > 0)
  t.equal(status, `${people} by people, ${agents} by agents`, 'as the overviews have it')
  for (const name of ['people', 'agents']) {
    const points = ((await tab.getAttribute(`polyline.${name}`, 'points')) ?? '').split(' ')
    t.equal(points.length, 30, `${name}: a point a day`)
    t.ok(new Set(points.map((point) => point.split(',')[1])).size > 1, `${name}: no flat line`)
    t.notMatch(points.join(' '), /NaN|undefined/)
  }
  t.ok((await tab.locator('svg').boundingBox())?.width ?? 0 > 100, 'it can be seen')
  t.equal(asked.filter((url) => url.includes(secret)).length, 0, 'the key is in no URL')
  t.same(broken, [])
  t.match(await show('svcg_00000000_wrong'), /key|credential/i, 'a failure can be read')
  const buckets = [{}, {}, { value: 3 }, { value: 5 }, {}]
  const headers = { 'access-control-allow-origin': '*' }
  await tab.route(/timeseries/, (route) => route.fulfill({ headers, json: { data: { buckets } } }))
  await tab.reload()
  t.equal(await show(secret), '8 by people, 8 by agents', 'days that were not recorded count nothing')
  t.equal(await tab.getAttribute('polyline.people', 'points'), '50,40 75,0', 'and have no point')
})

t.test('an origin that is not listed sees nothing, and is told why', async (t) => {
  const { tab, show, secret, origin } = await open(t, () => ['https://dash.example'])
  t.equal(await show(secret), `No answer. Is ${origin} among the service's cors_origins?`)
  t.equal(await tab.locator('polyline').count(), 0)
})

t.test('the docs: every link leads somewhere, nothing is loaded, nothing overflows', async (t) => {
  const service = await sampleService(t)
  const admin = await listenAdmin((request, peer) => service.instance.fetch(request, peer), '127.0.0.1', 0)
  t.teardown(() => admin.close())
  const browser = await openBrowser(t)
  const url = `${admin.at}/api/docs`
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [360, 'light'],
  ] as const) {
    const tab = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
    const said: string[] = []
    tab.on('console', (message) => said.push(message.text()))
    tab.on('request', (request) => request.url() !== url && said.push(request.url()))
    await tab.goto(url)
    const found = Page.parse(await tab.evaluate(LOOK))
    t.same(said, [], `${width} ${colorScheme}: nothing is loaded, nothing is refused`)
    t.same(found.dead, [], 'no dead link')
    t.same(found.twice, [], 'no id twice')
    t.ok(found.wide <= 0, `${width}: no sideways scrolling, ${found.wide} px`)
    t.ok(found.operations >= 20, 'each operation has its link')
    t.equal(found.levels.filter((level) => level === 1).length, 1, 'one title')
    const main = found.levels.slice(found.levels.indexOf(1))
    t.same(
      main.filter((level, i) => i > 0 && level > (main[i - 1] ?? 0) + 1),
      [],
      'no level is left out',
    )
    t.not(found.colours[0], found.colours[1])
    await tab.close()
  }
})
