import { createServer } from 'node:http'
import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { portOf } from '../site/proxy/fixtures/sockets.js'
import { PAGES, SRC } from '../site/proxy/inject/pages.js'

/** Checks with a real parser that the tag of every page is in the head and nothing else is different. */
t.test('a browser finds the tag in the head, and without it the page as it was', async (t) => {
  const rows = PAGES.filter(({ changed, target }) => changed && target.policies.length === 0)
  const server = createServer((req, res) => {
    const [, kind, number] = /^\/(in|out)\/(\d+)$/.exec(req.url ?? '') ?? []
    const row = rows[Number(number)]
    if (row === undefined) return void res.writeHead(204).end()
    res.writeHead(200, { 'Content-Type': 'text/html; charset=windows-1252' })
    res.end(kind === 'in' ? row.input : row.output)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const browser = await openBrowser(t)
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${portOf(server)}/in/0`)
  // As text: it runs there, not here.
  const seen: unknown = await page.evaluate(`(async () => {
    const look = (path) => new Promise((resolve) => {
      const frame = document.createElement('iframe')
      frame.onload = () => {
        const page = frame.contentDocument
        const tags = [...page.scripts].filter((one) => one.getAttribute('src') === ${JSON.stringify(SRC)})
        const where = tags.map((one) => one.parentNode.nodeName.toLowerCase()).join()
        for (const tag of tags) tag.remove()
        page.documentElement.normalize()
        resolve({ where, tree: page.compatMode + new XMLSerializer().serializeToString(page) })
        frame.remove()
      }
      frame.src = path
      document.body.append(frame)
    })
    const seen = []
    for (let i = 0; i < ${rows.length}; i++) {
      const [before, after] = await Promise.all([look('/in/' + i), look('/out/' + i)])
      seen.push([before.where, after.where, before.tree === after.tree])
    }
    return seen
  })()`)
  const expected = rows.map(({ why }) => [why, '', 'head', true])
  t.same(Array.isArray(seen) ? seen.map((one, i) => [rows[i]?.why, ...one]) : seen, expected)
  t.ok(rows.length > 70)
})
