import t from 'tap'
import { z } from 'zod'
import { createApp } from '../../src/api/app.js'
import { batchRoute } from '../../src/api/batch.js'
import { jsonResponse, routeMaker } from '../../src/api/route.js'
import { passToWriter } from '../../src/api/to-writer.js'
import { openShareService } from '../fixtures/share-service.js'

const Part = z.object({ part: z.int(), status: z.int(), body: z.looseObject({}) })
const partsOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => Part.parse(JSON.parse(line)))
    .toSorted((a, b) => a.part - b.part)

t.test('each part is answered as the single request is, whatever the others are', async (t) => {
  const { ask, visit, send } = await openShareService(t)
  const { data: share } = await ask('POST', '/api/shares', { site: 1, name: 'Press', scopes: ['pages'] })
  const q = 'site=1&range=7d'
  const rows: [request: string, status: number, why: string][] = [
    [`/api/stats/pages?${q}&share=${share.slug}`, 200, 'the link opens it'],
    [`/api/stats/sources?${q}&share=${share.slug}`, 403, 'the link does not'],
    [`/api/stats/pages?${q}&share=AAAAAAAAAAAAAAAAAAAAAAAA`, 401, 'an unknown link'],
    [`/api/stats/pages?${q}`, 401, 'no credential'],
    [`/api/stats/pages?${q}&share=${share.slug}&limit=x`, 422, 'a wrong value'],
    [`/api/stats/pages?${q}&share=${share.slug}&lmit=1`, 422, 'an unknown parameter'],
    [`/api/stats/pages?site=2&range=7d&share=${share.slug}`, 404, 'another site'],
  ]
  const { status, text, headers } = await send('/api/batch', { requests: rows.map(([request]) => request) })
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/x-ndjson')
  const parts = partsOf(text)
  t.equal(parts.length, rows.length)
  for (const [i, [request, expected, why]] of rows.entries()) {
    t.equal(parts[i]?.status, expected, why)
    const single = await visit(request)
    t.equal(single.status, expected, `${why}, alone`)
    if (expected !== 200) t.same(parts[i]?.body, { error: single.error }, `${why}: the same error`)
    else t.same(parts[i]?.body.data, single.data)
  }
})

t.test('a batch takes only requests that return JSON to a credential', async (t) => {
  const { ask, logged } = await openShareService(t)
  const rows: [requests: unknown, field: string, why: string][] = [
    [[], 'requests', 'no part'],
    [Array(33).fill('/api/stats/pages?site=1'), 'requests', 'too many'],
    [[7], 'requests[0]', 'no text'],
    [['/api/stats/pages?site=1', '/api/stats/export.csv?site=1'], 'requests[1]', 'a file'],
    [['/api/share/x'], 'requests[0]', 'open to everybody'],
    [['/control/sql?read=/api/stats/pages'], 'requests[0]', 'the operator’s'],
    [['/api/batch'], 'requests[0]', 'a batch'],
    [['http://localhost/api/stats/pages?site=1'], 'requests[0]', 'a whole address'],
    [['//elsewhere.example/api/stats/pages'], 'requests[0]', 'another host'],
    [['/api/stats/../../control/sql'], 'requests[0]', 'a way out'],
    [['/api/stats/pages?site=1', '//'], 'requests[1]', 'no address at all'],
    [['/\\'], 'requests[0]', 'the same, as browsers read it'],
  ]
  for (const [requests, field, why] of rows) {
    const { status, error } = await ask('POST', '/api/batch', { requests })
    t.same([status, error?.code, error?.field], [422, 'validation_error', field], why)
  }
  t.equal((await ask('POST', '/api/batch', 'no JSON')).status, 400)
  t.same(logged, [])
})

t.test('a slow part holds up none of the others, and a process that only reads answers itself', async (t) => {
  let finish: (() => void) | undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const route = routeMaker('stats')
  const data = z.string()
  const routes = [
    route('get', '/api/slow', 'stats:read', {
      ...{ summary: '', data },
      run: async () => {
        await finished
        return jsonResponse('slow')
      },
    }),
    route('get', '/api/fails', 'stats:read', {
      ...{ summary: '', data },
      run: async () => {
        throw new Error('disk')
      },
    }),
    route('get', '/api/fast', 'stats:read', { summary: '', data, run: async () => jsonResponse('fast') }),
  ]
  const logged: unknown[] = []
  const app = createApp({
    routes: [...routes, batchRoute(routes)],
    credentials: {
      keys: {
        authenticate: () => Promise.reject(new Error('the operator needs no key')),
        isActive: async () => false,
      },
    },
    version: '0',
    log: (error) => logged.push(error),
  })
  const reader = passToWriter(app, { isWriter: () => false, writerAddress: () => undefined, log: () => {} })
  const body = JSON.stringify({ requests: ['/api/slow', '/api/fails', '/api/fast'] })
  const request = new Request('http://localhost/api/batch', { method: 'POST', body })
  const response = await reader(request, { ip: '', operator: true })
  const lines = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.split('\n').length < 3) text += (await lines?.read())?.value ?? ''
  t.same(
    partsOf(text).map(({ part, status }) => [part, status]),
    [
      [1, 500],
      [2, 200],
    ],
    'while the first is under way',
  )
  finish?.()
  t.same(partsOf(`${(await lines?.read())?.value}`), [{ part: 0, status: 200, body: { data: 'slow' } }])
  t.equal((await lines?.read())?.done, true)
  t.equal(logged.length, 1)
})
