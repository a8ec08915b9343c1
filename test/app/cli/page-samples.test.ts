import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { createPublicListener, parseTrustedProxies } from '../../../src/app/cli/public-listener.js'
import { loadConfig } from '../../../src/app/config.js'
import { portOf } from '../../site/proxy/fixtures/sockets.js'

t.test('pages are sampled where their editions are stored, unless the setting says no', async (t) => {
  const origin = createServer((_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<p>text'))
  await once(origin.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => origin.close())
  const url = `http://127.0.0.1:${portOf(origin)}`
  const rows: [flags: Record<string, string>, samples: number, why: string][] = [
    [{}, 1, 'by default'],
    [{ page_samples: 'off' }, 0, 'off'],
    [{ collector: 'https://stats.example', ingest_key: 'k' }, 0, 'rows go to a collector, which takes no samples'],
  ]
  for (const [flags, expected, why] of rows) {
    const config = loadConfig({ flags: { origin: url, ...flags }, env: {}, read: () => undefined })
    const sampled: string[] = []
    const front = createPublicListener(config, {
      origin: new URL(url),
      trust: parseTrustedProxies(config),
      certificate: undefined,
      instance: {
        ...{ record() {}, siteOf: () => 1, policySeen() {} },
        pageSampled: ({ pathname }) => void sampled.push(pathname),
      },
      serve: (_, res) => void res.end(),
      log: { error() {}, warn() {}, info() {}, debug() {} },
    })
    const port = await front.listen('127.0.0.1', 0)
    const response = await fetch(`http://127.0.0.1:${port}/price`, { headers: { connection: 'close' } })
    t.equal(await response.text(), '<p>text')
    await front.close(1_000)
    t.same(
      sampled,
      Array.from({ length: expected }, () => '/price'),
      why,
    )
  }
})
