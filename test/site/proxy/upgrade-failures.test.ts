// The attack: upgrades take a connection out of Node's HTTP server, together with its timeouts and error listeners. An
// attacker, or a broken origin, uses the moments when nothing watches the socket:
// - a reset before the 101 is an uncaught 'error' event, which ends the whole process;
// - a client that leaves while the origin is silent keeps a socket to the origin open for ever;
// - a 101 to a protocol that the client did not request (h2c) opens a tunnel through which requests pass unseen;
// - a refusal whose body stalls, or ends early, holds both sockets, or passes for a complete response.
// Each case must end both connections, leave no count, and give exactly one record with the status that the client
// saw. The last test mixes all of them at random, with a fixed seed.
import { once } from 'node:events'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { portOf, waitFor } from './fixtures/sockets.js'
import { hasEnded, openRawClient, SWITCHING, startFront, startRawOrigin, UPGRADE_REQUEST } from './fixtures/upgrades.js'

t.test('handles resets before and after the 101, from either side', async (t) => {
  const rows: [who: 'client' | 'origin', when: 'before' | 'after', status: number][] = [
    ['client', 'before', 499],
    ['origin', 'before', 502],
    ['client', 'after', 101],
    ['origin', 'after', 101],
  ]
  for (const [who, when, status] of rows) {
    const name = `${who} resets ${when} the 101`
    const origin = await startRawOrigin(t, (socket) => {
      if (when === 'after') socket.write(SWITCHING)
      socket.resume()
      if (who === 'origin') setTimeout(() => socket.resetAndDestroy(), 30)
    })
    const { port, records, upgrader } = await startFront(t, origin.port)
    const client = openRawClient(t, port, UPGRADE_REQUEST)
    await waitFor('the request', () => origin.heads.length === 1)
    if (when === 'after') await waitFor('101', () => client.text() === SWITCHING)
    if (who === 'client') client.socket.resetAndDestroy()
    await waitFor(`${name}: observed`, () => records.length === 1)
    t.equal(records[0]?.status, status, name)
    if (who === 'origin' && when === 'before') await client.over()
    if (who === 'origin' && when === 'before')
      t.match(client.text(), /^HTTP\/1\.1 502 Bad Gateway\r\n[\s\S]*\r\n\r\n502 Bad Gateway\n$/)
    if (who === 'origin' && when === 'after') {
      await waitFor('the cut', () => client.state.closed)
      t.ok(client.state.failed, 'a reset stays a reset')
    }
    await waitFor(`${name}: the origin learns it`, () => origin.sockets.every(hasEnded))
    t.match(upgrader.stats(), { open: 0, waiting: 0 })
  }
})

t.test('records 499 for a client that leaves with a FIN before the 101', async (t) => {
  for (const early of ['', 'early bytes']) {
    const origin = await startRawOrigin(t, (socket) => socket.resume())
    const { port, records } = await startFront(t, origin.port)
    const client = openRawClient(t, port, UPGRADE_REQUEST)
    await waitFor('the request', () => origin.heads.length === 1)
    client.socket.end(early)
    await waitFor('observed', () => records.length === 1)
    t.equal(records[0]?.status, 499)
    await waitFor('the origin learns it', () => origin.sockets.every(hasEnded))
  }
})

t.test('responds 502 or 504 for an origin that is down, silent, broken, or switches to another protocol', async (t) => {
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const downPort = portOf(closed)
  closed.close()
  const down = await startFront(t, downPort)
  const client = openRawClient(t, down.port, UPGRADE_REQUEST)
  await client.over()
  t.match(client.text(), /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  client.socket.end()
  await waitFor('observed', () => down.records.length === 1)
  t.match(down.records[0], { status: 502, bytes: 16, content_type: 'text/plain; charset=utf-8' })
  t.same(down.errors, ['unreachable'])

  const rows: [bytes: string, status: number, error: string, why: string][] = [
    ['', 504, 'timeout', 'is silent'],
    ['HTTP/1.1 1', 504, 'timeout', 'stops in the status line'],
    ['SSH-2.0-OpenSSH\r\n', 502, 'invalid', 'is not an HTTP server'],
    ['HTTP/1.1 101 Switching\r\n\r\n', 502, 'invalid', '101 without an Upgrade'],
    [SWITCHING.replace('websocket', 'h2c'), 502, 'invalid', '101 to another protocol'],
    ['HTTP/1.1 403 a\x01b\r\nContent-Length: 0\r\n\r\n', 502, 'invalid', 'a control character in the reason'],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`, 502, 'invalid', 'a head beyond 64 KB'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 502, 'invalid', 'two framings'],
  ]
  for (const [bytes, status, error, why] of rows) {
    const origin = await startRawOrigin(t, (socket) => {
      socket.write(bytes, 'latin1')
      socket.resume()
    })
    const { port, records, errors, upgrader } = await startFront(t, origin.port, { headersTimeout: 150 })
    const client = openRawClient(t, port, UPGRADE_REQUEST)
    await client.over()
    t.match(client.text(), new RegExp(`^HTTP/1.1 ${status} `), why)
    client.socket.end()
    await waitFor('observed', () => records.length === 1)
    t.equal(records[0]?.status, status, `${why}: observed`)
    t.same(errors, [error], `${why}: ${error}`)
    await waitFor(`${why}: the origin learns it`, () => origin.sockets.every(hasEnded))
    t.match(upgrader.stats(), { waiting: 0, open: 0, failed: 1 })
  }
})

t.test('300 failing exchanges of every kind leave no connection and no count', async (t) => {
  // A fixed seed gives the same mix in each run.
  let seed = 42
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const acts: ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    (socket) => socket.write(SWITCHING),
    (socket) => socket.end(`${SWITCHING}bye`),
    (socket) => socket.write('HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nno'),
    (socket) => socket.write('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n'),
    (socket) => socket.write('rubbish\r\n\r\n'),
    (socket) => socket.write(Buffer.alloc(100_000)),
    () => {},
  ]
  const act = (socket: Socket) => {
    if (!socket.destroyed && !socket.writableEnded) acts[random(acts.length)]?.(socket)
  }
  const origin = await startRawOrigin(t, (socket) => {
    socket.resume()
    act(socket)
    for (const wait of [10, 30]) setTimeout(() => act(socket), random(wait))
  })
  const { port, records, upgrader } = await startFront(t, origin.port, { headersTimeout: 200, idleTimeout: 200 })
  const total = 300
  const one = async () => {
    const { socket } = openRawClient(t, port, UPGRADE_REQUEST)
    for (let i = 0; i < 3; i++) {
      await sleep(random(20))
      if (!socket.destroyed && !socket.writableEnded) acts[random(4) === 3 ? 8 : random(3)]?.(socket)
    }
    await sleep(random(300))
    socket.destroy()
  }
  const lane = async () => {
    for (let i = 0; i < total / 20; i++) await one()
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  await waitFor('all to be over', () => upgrader.stats().waiting + upgrader.stats().open === 0)
  await waitFor('the origin to learn it', () => origin.sockets.every(hasEnded))
  const { switched, refused, failed } = upgrader.stats()
  t.ok(switched > 0 && refused > 0 && failed > 0, `${switched} switched, ${refused} refused, ${failed} failed`)
  t.ok(
    records.length <= total && records.length >= origin.heads.length,
    `${records.length} observations of ${origin.heads.length} requests that arrived`,
  )
  t.ok(
    records.every(
      ({ status, bytes, duration_ms }) => [101, 403, 499, 502, 504].includes(status) && bytes >= 0 && duration_ms >= 0,
    ),
  )
})
