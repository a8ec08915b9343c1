// People's traffic, with fifty rules active and without: byte for byte the same, also from broken and hostile origins.
import t from 'tap'
import { HOSTILE } from '../proxy/fixtures/hostile-rows.js'
import { exchangeBytes, startProxy, startRawServer, waitUntil } from '../proxy/fixtures/sockets.js'
import { manyRules, PERSON, startRules } from './fixtures/fifty-rules.js'

const get = (user_agent: string) =>
  `GET /x HTTP/1.1\r\nHost: s\r\nUser-Agent: ${user_agent}\r\nConnection: close\r\n\r\n`
const withoutDate = (text: string) => text.replace(/^date: .*\r\n/gim, '')

t.test('a person sees the same of each hostile origin with fifty rules active', async (t) => {
  let serve = HOSTILE[0]?.[1]
  const origin = await startRawServer((socket) => {
    socket.on('data', () => serve?.(socket))
  })
  const limits = { headersTimeout: 1_000, bodyIdleTimeout: 1_000 }
  const plain = await startProxy(origin.port, limits)
  const ruled = await startProxy(origin.port, { ...limits, rules: startRules(manyRules(50)) })
  let compared = 0
  for (const [name, hostile, outcome] of HOSTILE) {
    // Waits for a timeout, where all others respond at once.
    if (outcome === 504) continue
    serve = hostile
    const [expected, seen] = await Promise.all([
      exchangeBytes(plain.port, [get(PERSON)]),
      exchangeBytes(ruled.port, [get(PERSON)]),
    ])
    compared += 1
    if (withoutDate(seen.text) !== withoutDate(expected.text) || seen.end !== expected.end)
      t.same([withoutDate(seen.text), seen.end], [withoutDate(expected.text), expected.end], name)
    for (const socket of origin.sockets) socket.destroy()
    await waitUntil(() => origin.sockets.size === 0)
  }
  t.ok(compared >= 50, `${compared} origins`)
  t.ok(ruled.records.every(({ decided }) => decided === undefined))
  const agent = await exchangeBytes(ruled.port, [get('GPTBot/1.2')])
  t.match(agent.text, /^HTTP\/1\.1 403 /, 'the same rules refuse an agent')
  await Promise.all([plain.proxy.close(0), ruled.proxy.close(0)])
  await origin.close()
})
