import t from 'tap'
import { openTenants } from '../fixtures/tenants.js'

/** Tests `/api/redirects` over real files. `access-matrix.ts` has who may call the routes. */

t.test('a redirect counts from the moment at which its path was redirected', async (t) => {
  const { operator, clock } = await openTenants(t)
  const created = await operator('POST', '/api/redirects', { site: 1, from: '/a', to: '/new' })
  t.match(created.data, { from: '/a', to: '/new', status: 301, created_at: '2026-11-21T10:00:00.000Z' })
  const rows: [change: object, at: string, expected: object, why: string][] = [
    [{ to: '/newer' }, '2026-11-22T10:00:00Z', { created_at: '2026-11-21T10:00:00.000Z' }, 'another target'],
    [{ from: '/%61' }, '2026-11-23T10:00:00Z', { created_at: '2026-11-21T10:00:00.000Z' }, 'the same path'],
    [{ from: '/b' }, '2026-11-24T10:00:00Z', { from: '/b', created_at: '2026-11-24T10:00:00.000Z' }, 'another path'],
  ]
  for (const [change, at, expected, why] of rows) {
    clock.now = new Date(at)
    t.match((await operator('PATCH', '/api/redirects/1', change)).data, expected, why)
  }
  const loop = await operator('POST', '/api/redirects', { site: 1, from: '/newer', to: '/b' })
  t.match(loop.error, { field: 'to', message: 'Other redirects lead from this target back to the path.' })
})
