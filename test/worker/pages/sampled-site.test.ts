import { createServer } from 'node:http'
import t from 'tap'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import editions from '../../../src/analytics/reads/editions.js'
import { packBatch } from '../../../src/capture/packed-batch.js'
import { startTestEngine } from '../../fixtures/worker-client.js'
import { exchangeBytes, portOf, startProxy, waitUntil } from '../../site/proxy/fixtures/sockets.js'

const MINUTE = 60_000

t.test('a page is changed behind the proxy, and its editions are seen', async (t) => {
  let text = 'The price is 10.'
  const origin = createServer((_, res) =>
    res.writeHead(200, { 'content-type': 'text/html' }).end(`<p nonce="${Math.random()}">${text}</p>`),
  )
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  t.teardown(() => origin.close())
  const { engine, data } = await startTestEngine(t)
  const start = Date.now() - 120 * MINUTE
  let clock = 0
  const calls: Promise<unknown>[] = []
  const { proxy, port, records } = await startProxy(portOf(origin), {
    monotonic: () => clock,
    now: () => start + clock,
    onSampledPage: (page) => calls.push(engine.call('page_sampled', page)),
  })
  t.teardown(() => proxy.close(0))
  const read = async (minute: number, agent: string) => {
    clock = minute * MINUTE
    const before = records.length
    const head = `GET /price HTTP/1.1\r\nHost: a.example\r\nUser-Agent: ${agent}\r\nConnection: close\r\n\r\n`
    await exchangeBytes(port, [head])
    await waitUntil(() => records.length > before)
  }
  await read(0, 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)')
  await read(15, 'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)')
  text = 'The price is 12.'
  await read(30, 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)')
  await Promise.all(calls)
  t.equal(calls.length, 3)
  await engine.record(packBatch(records))
  await engine.close()

  const { engine: next } = await startTestEngine(t, { data })
  const { data: found } = await runRead(editions, new URLSearchParams('site=1&range=24h&audience=all'), {
    ...{ store: next.events, catalog: [], blockedUrls: async () => undefined, now: () => new Date(), assistants: [] },
    site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'month', owns: () => true }),
    segment: async () => undefined,
  })
  const at = (minute: number) => new Date(start + minute * MINUTE).toISOString()
  t.match(found, [
    {
      ...{ hostname: 'a.example', pathname: '/price', changed_at: at(30), sampled_at: at(30) },
      agents: [
        { agent_id: 'gptbot', state: 'current', last_read: at(30) },
        { agent_id: 'claudebot', state: 'old', last_read: at(15) },
      ],
    },
  ])
})
