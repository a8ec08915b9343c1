import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { CHROME, dataDir, eventually, GPTBOT, startInstance } from '../fixtures/instance.js'
import { portOf } from '../site/proxy/fixtures/sockets.js'

/** Pages that are blank to machines, found by a real proxy, a real browser and a scripted agent. */
const ARTICLE = `<h1>Oak tables</h1><p>${'Oak is a hard wood. '.repeat(20)}</p>`
const PAGES: Record<string, string> = {
  '/shell': `<div id="app"></div><script>document.querySelector('#app').innerHTML = ${JSON.stringify(ARTICLE)}</script>`,
  '/soft': '<title>Shop</title><h1>Page not found</h1><p>Try the search.</p>',
  '/text': ARTICLE,
  '/closed': ARTICLE,
}
const origin = createServer((req, res) => {
  const body = PAGES[req.url ?? '']
  const isAgent = /GPTBot/.test(req.headers['user-agent'] ?? '')
  res.writeHead(body === undefined ? 404 : isAgent && req.url === '/closed' ? 403 : 200, {
    'content-type': 'text/html',
  })
  res.end(`<!doctype html><html lang="en"><head></head><body>${body ?? 'no'}</body></html>`)
}).listen(0, '127.0.0.1')
await once(origin, 'listening')
t.teardown(() => origin.close())

const Pages = z.array(
  z.object({
    pathname: z.string(),
    problems: z.array(z.string()),
    readers: z.int(),
    refused: z.array(z.object({ agent_id: z.string(), refusals: z.int() })),
    served: z
      .object({ text_length: z.int(), first_line: z.string().optional(), lang: z.string().optional() })
      .optional(),
    living: z.object({ text_length: z.int(), headings: z.int(), first_line: z.string().optional() }).optional(),
  }),
)

const instance = await startInstance(`http://127.0.0.1:${portOf(origin)}`, dataDir(t), '--inject')
t.teardown(() => instance.stop())
const read = async () => Pages.parse((await instance.ask('/api/blank-pages?site=1&range=24h')).data)
const pageOf = async (pathname: string) => (await read()).find((page) => page.pathname === pathname)

/** Another visitor than the one of the browser below. */
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

/** Asks for a page as a browser does that opens it, or as an agent. */
const fetchPage = (path: string, agent = FIREFOX) =>
  new Promise<number | undefined>((resolve, reject) => {
    get(instance.site + path, { headers: { 'user-agent': agent } }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode))
    }).on('error', reject)
  })

t.test(
  'an empty shell, a soft 404 and a page that is closed to agents are found; a page with its text is not',
  async (t) => {
    await eventually('samples of the pages', async () => {
      for (const path of Object.keys(PAGES)) await fetchPage(path)
      const found = await read()
      return ['/shell', '/soft'].every((path) => found.some(({ pathname, served }) => pathname === path && served))
    })
    t.equal(await fetchPage('/closed', GPTBOT), 403)
    const browser = await openBrowser(t, ['--disable-back-forward-cache'], [`--user-agent=${CHROME}`])
    const tab = await (await browser.newContext()).newPage()
    await tab.goto(`${instance.site}/shell`, { referer: 'https://www.google.com/' })
    await tab.waitForLoadState('load')
    await tab.goto(`${instance.site}/text`)
    await eventually('the living document', async () => (await pageOf('/shell'))?.living !== undefined)
    await eventually('the refusal', async () => (await pageOf('/closed')) !== undefined)

    // 9 characters of the heading, and 20 times 15 of the sentence.
    t.match(
      await pageOf('/shell'),
      {
        problems: ['empty_shell'],
        readers: 1,
        served: { text_length: 0, lang: 'en' },
        living: { text_length: 309, headings: 1 },
      },
      'an empty shell',
    )
    t.equal((await pageOf('/shell'))?.living?.first_line, undefined, 'one visitor alone saw the first line')
    t.match(await pageOf('/soft'), { problems: ['not_found'], served: { first_line: 'Page not found' } }, 'a soft 404')
    t.match(await pageOf('/closed'), { problems: ['agents_refused'], refused: [{ agent_id: 'gptbot', refusals: 1 }] })
    t.equal(await pageOf('/text'), undefined, 'a page with its text')
  },
)

t.test('the tracker describes a document of up to 3,000 elements', async (t) => {
  const browser = await openBrowser(t)
  const tab = await (await browser.newContext()).newPage()
  const source = readFileSync('dist/src/browser/tracker/document-text.js', 'utf8')
  /** Describes a document with so many elements: paragraphs with a link each, beside `html`, `head` and `body`. */
  const describe = async (elements: number) => {
    const row = '<p>Oak is a hard <a href="/oak">wood</a>.</p>'
    await tab.setContent(`<html><head></head><body>${row.repeat((elements - 3) / 2)}</body></html>`)
    const code = `${source.replace('export const', 'const')}
      ;(() => { const began = performance.now(); const found = describeDocument(); return [performance.now() - began, found] })()`
    return z
      .tuple([z.number(), z.tuple([z.int(), z.int(), z.int(), z.string()]).optional()])
      .parse(await tab.evaluate(code))
  }
  const times: number[] = []
  for (let n = 0; n < 5; n++) {
    const [ms, found] = await describe(2_999)
    // 1,498 times the 15 characters of `Oakisahardwood.`
    t.match(found, [1_498 * 15, 1_498, 0, 'Oak is a hard wood. Oak'], 'the whole document')
    times.push(ms)
  }
  t.comment(`3,000 elements: ${times.map((ms) => ms.toFixed(1)).join(', ')} ms`)
  t.equal((await describe(3_001))[1], undefined, 'a larger one is not read')
})
