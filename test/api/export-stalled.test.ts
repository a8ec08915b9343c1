// The attack: clients ask for large CSV files and take nothing of them, so that each holds a place and a statement until its
// socket dies. Share links are public, so an attacker could hold those of a whole organisation.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { listenAdmin } from '../../src/api/server.js'
import type { ResultRow } from '../../src/storage/store.js'
import { exportService } from '../fixtures/export-service.js'
import { eventually } from '../fixtures/instance.js'

const SHARE = 's'.repeat(24)
const PARTS = 200

/** Serves a file of 45 MB: more than the kernel takes for a client that does not read. */
async function serveExports(t: Test, stall_timeout_ms: number) {
  const statements = { open: 0 }
  async function* stream(): AsyncGenerator<ResultRow[]> {
    statements.open++
    try {
      for (let n = 0; n < PARTS; n++)
        yield Array.from({ length: 1_000 }, (_, i) => ({
          ...{ value: `/${'long/'.repeat(40)}${n}/${i}`, visitors: 1, pageviews: 1 },
        }))
    } finally {
      statements.open--
    }
  }
  const options = { share: SHARE, stall_timeout_ms }
  const { app, logged } = await exportService(t, undefined, undefined, stream, options)
  const listener = await listenAdmin(
    (request, { ip }) => app(request, { ip, operator: !request.url.includes('share=') }),
    '127.0.0.1',
    0,
  )
  t.teardown(() => listener.close())
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  /** Asks for the file, reads the status, and nothing more. */
  const ask = async (more = '') => {
    const socket = connect(listener.port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    const path = `/api/stats/export.csv?site=1&report=breakdown&dimension=pathname${more}`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    const [head]: Buffer[] = await once(socket, 'data')
    socket.pause()
    return { socket, status: Number(String(head).slice(9, 12)) }
  }
  return { ask, statements, logged }
}

t.test('a client that takes nothing loses its place and its statement', async (t) => {
  const { ask, statements, logged } = await serveExports(t, 400)
  const stalled = await Promise.all(Array.from({ length: 4 }, () => ask()))
  t.same(
    stalled.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  await eventually('no statement is open', () => statements.open === 0)
  const [first] = stalled
  let text = ''
  first?.socket.on('data', (part) => {
    text += part
  })
  first?.socket.resume()
  if (first) await once(first.socket, 'close')
  t.notMatch(text, `/${PARTS - 1}/999,`, 'the file is not whole')
  t.notMatch(text, /\r\n0\r\n\r\n$/, 'and does not look it')
  t.same(logged, [], 'a client that stalls is no fault of ours')
  const { socket, status } = await ask()
  t.equal(status, 200, 'the place is free')
  socket.destroy()
})

t.test('a client that goes on reading gets the whole file', async (t) => {
  const { ask } = await serveExports(t, 400)
  const { socket } = await ask()
  let end = ''
  socket.on('data', (part) => {
    end = (end + String(part)).slice(-300)
  })
  socket.resume()
  await once(socket, 'close')
  t.match(end, `/${PARTS - 1}/999,1,`)
  t.match(end, /\r\n0\r\n\r\n$/)
})

t.test('share links have places of their own', async (t) => {
  const { ask } = await serveExports(t, 60_000)
  const byLink = await Promise.all(Array.from({ length: 3 }, () => ask(`&share=${SHARE}`)))
  t.same(byLink.map(({ status }) => status).sort(), [200, 200, 429])
  const byMember = await Promise.all(Array.from({ length: 5 }, () => ask()))
  t.same(byMember.map(({ status }) => status).sort(), [200, 200, 200, 200, 429], 'as many as without any link')
})
