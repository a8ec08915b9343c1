import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { openTrackServer, send } from '../fixtures/track-server.js'

const PAYLOAD_BYTES = 65_536
/** A payload of exactly this many bytes. */
const sized = (bytes: number, u = 'https://a.com/x'): string => {
  const text = `{"s":1,"u":"${u}","p":{"x":""}}`
  return text.replace('""}', `"${'y'.repeat(bytes - text.length)}"}`)
}
const HIT = '{"s":1,"u":"https://a.com/x"}'

t.test('a batch may have 200 payloads of 64 KB each', async (t) => {
  const { clients, since, state } = await openTrackServer(t)
  t.equal(sized(PAYLOAD_BYTES).length, PAYLOAD_BYTES)
  const full = `[${Array(200).fill(sized(PAYLOAD_BYTES)).join(',')}]`
  for (const client of clients) {
    const post = async (body: string) => {
      state.now += 60_000
      const { status, headers } = await send(client, 'POST', '/api/track/batch', { body })
      const { hits, drops } = since()
      return [status, hits.length, drops, headers['readership-refused']]
    }
    t.strictSame(await post(full), [204, 200, {}, undefined], `${client.name}: 13 MB`)
    const large = sized(PAYLOAD_BYTES + 1)
    t.strictSame(
      await post(`[${HIT},${large},${HIT}]`),
      [204, 2, { '- track too_large': 1 }, '1=too_large'],
      `${client.name}: a byte more costs that payload only`,
    )
    t.strictSame(
      await post(`[${sized(40_000, 'https://a.com/ä')},{"s":1,},${sized(40_000)},nonsense]`),
      [204, 2, { '- track malformed': 2 }, '1=malformed, 3=malformed'],
      `${client.name}: what is not JSON, in a large batch`,
    )
    t.strictSame(
      await post(`[${HIT},{"s":1,},${HIT}]`),
      [204, 2, { '- track malformed': 1 }, '1=malformed'],
      `${client.name}: and in a small one`,
    )
    t.strictSame(
      await post(
        `[${HIT},{"s":9,"u":"https://a.com/"},{"s":1,"u":"https://b.com/"},{"s":1,"u":"https://a.com/private/x"}]`,
      ),
      [
        ...[204, 1, { '- track unknown_site': 1, '1 track foreign_host': 1, '1 track excluded_path': 1 }],
        '1=unknown_site, 2=foreign_host',
      ],
      `${client.name}: the response does not tell what a site excludes`,
    )
    const many = Array(2_000).fill(sized(100)).join(',')
    const [status, hits, drops, named] = await post(`[${many}]`)
    t.strictSame([status, hits, drops], [204, 200, { '- track over_batch': 1_000 }], `${client.name}: 2,000 payloads`)
    t.equal(String(named).split(', ').length, 200, 'the header is bounded')
    t.strictSame(await post(`[${','.repeat(5_000_000)}]`).then(([code]) => code), 204, `${client.name}: only commas`)
  }
})

t.test('large batches that are sent at once share a budget, and one sender has no more than its part', async (t) => {
  const { clients, since } = await openTrackServer(t)
  for (const { name, port, base } of clients) {
    const open = async (bytes: number) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`POST ${base}/api/track/batch HTTP/1.1\r\nHost: a.com\r\nContent-Length: ${bytes + 2}\r\n\r\n[`)
      socket.write(' '.repeat(bytes))
      return socket
    }
    const statusOf = async (socket: Awaited<ReturnType<typeof open>>) => {
      const [head] = await once(socket, 'data')
      socket.destroy()
      return Number(String(head).split(' ')[1])
    }
    const first = await open(12_000_000)
    const second = await open(12_000_000)
    t.equal(await Promise.race([statusOf(first), statusOf(second)]), 503, `${name}: two from one address are too many`)
    first.destroy()
    second.destroy()
    since()
    const small = await send({ port, base }, 'POST', '/api/track/batch', { body: `[${HIT}]` })
    t.equal(small.status, 204, `${name}: small batches need no budget`)
    for (let tries = 0; ; tries++) {
      const again = await send({ port, base }, 'POST', '/api/track/batch', {
        body: `[${sized(60_000)},${sized(60_000)}]`,
      })
      if (again.status === 204 || tries === 100) {
        t.equal(again.status, 204, `${name}: a disconnect gives its part back`)
        break
      }
    }
  }
})
