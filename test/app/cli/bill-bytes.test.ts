import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'
import { cli, dataDir, eventually, GPTBOT, startInstance } from '../../fixtures/instance.js'
import { portOf } from '../../site/proxy/fixtures/sockets.js'

/** The bill of a scripted agent's traffic through a real proxy, beside the bytes that the agent counted itself. */
const BODY = `<!doctype html><title>Größe</title>${'<p>Text</p>'.repeat(700)}`
const origin = createServer((req, res) => {
  const html = { 'content-type': 'text/html; charset=utf-8' }
  if (req.url === '/gzip') res.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(gzipSync(BODY))
  else if (req.url === '/chunks') {
    res.writeHead(200, html)
    for (const part of BODY.split(/(?<=<\/p>)/)) res.write(part)
    res.end()
  } else if (req.url === '/part') res.writeHead(206, { 'content-range': 'bytes 0-9/99' }).end('0123456789')
  else if (req.url === '/same') res.writeHead(304).end()
  else res.writeHead(req.url === '/' ? 200 : 404, html).end(BODY)
}).listen(0, '127.0.0.1')
await once(origin, 'listening')
t.teardown(() => origin.close())

const Bill = z.object({
  ...{ fetches: z.number(), bytes: z.number(), cost: z.number(), origin_seconds: z.number() },
  lines: z.array(
    z.object({ operator: z.string().optional(), fetches: z.number(), bytes: z.number(), cost: z.number() }),
  ),
})

t.test('the bill adds up to the byte', async (t) => {
  const data = dataDir(t)
  const { site, ask, stop } = await startInstance(`http://127.0.0.1:${portOf(origin)}`, data)
  t.teardown(() => stop())
  /** Returns the bytes of a response's body as they came over the wire, without framing. */
  const take = async (path: string, method: string, agent: string): Promise<number> => {
    const [response] = await once(request(site + path, { method, headers: { 'user-agent': agent } }).end(), 'response')
    let bytes = 0
    for await (const chunk of response) bytes += chunk.length
    return bytes
  }
  // A thousandth for each byte, so that no digit is lost.
  const set = await cli('sites', 'update', '1', '--price-per-gigabyte', '1000000', '--data', data)
  t.equal(set.code, 0, set.stderr)
  const taken = { OpenAI: 0, Anthropic: 0 }
  let fetches = 0
  for (const [operator, agent] of [['OpenAI', GPTBOT] as const, ['Anthropic', 'ClaudeBot/1.0'] as const])
    for (const path of ['/', '/gzip', '/chunks', '/part', '/same', '/none'])
      for (const method of ['GET', 'HEAD', 'GET']) {
        if (operator === 'Anthropic' && path === '/gzip') continue
        taken[operator] += await take(path, method, agent)
        fetches++
      }
  const read = async () => Bill.parse((await ask('/api/bill?site=1&range=24h')).data)
  await eventually(
    'all fetches',
    async () => (await ask('/api/agents/overview?site=1&range=24h')).data.fetches === fetches,
  )
  const bill = await read()
  t.equal(bill.bytes, taken.OpenAI + taken.Anthropic)
  t.equal(bill.cost, (taken.OpenAI + taken.Anthropic) / 1000)
  for (const [operator, bytes] of Object.entries(taken))
    t.match(
      bill.lines.find((line) => line.operator === operator),
      { bytes, cost: bytes / 1000 },
      operator,
    )
})
