import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { contentDisposition } from '../../src/analytics/export/filename.js'
import { listenAdmin } from '../../src/api/server.js'
import type { ResultRow } from '../../src/storage/store.js'
import { exportService } from '../fixtures/export-service.js'
import { WORLD } from '../fixtures/world.js'

t.test('an invalid query fails before the first line', async (t) => {
  const { ask } = await exportService(t)
  const rows: [string, number, string | undefined, string][] = [
    ['site=1&report=nothing', 422, 'report', 'an unknown report'],
    ['site=1&report=', 422, 'report', 'an empty report'],
    ['site=1&report=pages&report=pages', 422, 'report', 'report given twice'],
    ['site=1&report=dimensions', 422, 'report', 'a read that is the same for every site'],
    ['site=1&report=../keys', 422, 'report', 'a path outside the reads'],
    ['site=1&report=breakdown', 422, 'dimension', 'a parameter that the read requires'],
    ['site=1&report=breakdown&dimension=x', 422, 'dimension', 'a value that the read refuses'],
    ['site=1&report=pages&limit=0', 422, 'limit', 'a limit of 0'],
    ['site=1&metric=nothing', 422, 'metric', 'an unknown metric'],
    ['report=pages', 422, 'site', 'no site'],
    ['site=9', 404, 'site', 'an unknown site'],
    ['site=1&range=soon', 422, 'range', 'an unknown range'],
    ['site=1&filters=[', 422, 'filters', 'malformed JSON'],
  ]
  for (const ending of ['csv', 'pdf'])
    for (const [query, status, field, why] of rows) {
      const response = await ask(`stats/export.${ending}?${query}`)
      t.equal(response.status, status, `${ending}: ${why}`)
      t.equal(JSON.parse(await response.text()).error.field, field, `${ending}: ${why}`)
    }
  const none = await ask('stats/export.csv?site=1&table=nothing')
  t.equal(none.status, 422)
  t.match(JSON.parse(await none.text()).error, { field: 'table', message: /overview, buckets/ })
  const alone = await ask('stats/export.csv?site=1&range=yesterday&table=overview')
  t.equal(
    await alone.text(),
    'visitors,sessions,pageviews,bounce,duration,views_per_session,events\r\n3,2,4,0.5,480,1.5,0\r\n',
    'one table alone has its own columns (counted by hand in reads.test)',
  )
  t.match(
    await (await ask('stats/export.csv?site=1&report=/api/stats/pages')).text(),
    /^pathname,/,
    'a report named by its path',
  )
})

t.test('file names are safe in ASCII and UTF-8', async (t) => {
  const window = { start: new Date('2026-10-24T22:00:00Z'), end: new Date('2026-10-25T23:00:00Z') }
  const rows: [name: string, ascii: string, full: string, why: string][] = [
    ['Berlin Zoo', 'Berlin-Zoo', 'Berlin-Zoo', 'plain'],
    ['Café Ünïcode', 'Cafe-Unicode', 'Caf%C3%A9-%C3%9Cn%C3%AFcode', 'accents'],
    ['Зоопарк', 'site-1', '%D0%97%D0%BE%D0%BE%D0%BF%D0%B0%D1%80%D0%BA', 'no Latin letter'],
    ['../../etc/passwd', 'etc-passwd', 'etc-passwd', 'a path'],
    ['a"; filename="evil.exe', 'a-filename-evil-exe', 'a-filename-evil-exe', 'a quote'],
    ['a\r\nSet-Cookie: x=1', 'a-Set-Cookie-x-1', 'a-Set-Cookie-x-1', 'a line break'],
    ['\u202efdp.exe\u0000', 'fdp-exe', 'fdp-exe', 'right-to-left override'],
    ['🦊', 'site-1', 'site-1', 'no letter at all'],
    ['', 'site-1', 'site-1', 'no name'],
    ['\ud800x', 'x', 'x', 'an unpaired surrogate'],
    ['x'.repeat(500), 'x'.repeat(60), 'x'.repeat(60), 'a long name is cut'],
  ]
  for (const [name, ascii, full, why] of rows) {
    const day = 'pages-2026-10-25-2026-10-25.csv'
    t.equal(
      contentDisposition({ site: { id: 1, name }, report: 'pages', window, tz: 'Europe/Berlin' }, 'csv'),
      `attachment; filename="${ascii}-${day}"; filename*=UTF-8''${full}-${day}`,
      why,
    )
  }
  const { ask } = await exportService(t, WORLD, 'a"\r\nb')
  const { headers } = await ask('stats/export.csv?site=1&report=agents/coverage&range=yesterday')
  t.match(headers.get('content-disposition'), /^attachment; filename="a-b-agents-coverage-2026-10-25-2026-10-25\.csv"/)
  t.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
  t.equal(headers.get('cache-control'), 'no-store')
})

t.test('a stream keeps the reader’s pace, breaks off on failure and stops when the reader leaves', async (t) => {
  const rows = (n: number): ResultRow[] =>
    Array.from({ length: 2_000 }, (_, i) => ({ value: `/${'long/'.repeat(20)}${n}/${i}`, visitors: 1, pageviews: 1 }))
  const seen = { given: 0, aborted: false, ended: false }
  let failsAt = Infinity
  const { app, logged } = await exportService(t, WORLD, 'x', async function* (_, signal) {
    signal?.addEventListener('abort', () => {
      seen.aborted = true
    })
    try {
      for (let n = 0; n < 500; n++) {
        if (n === failsAt) throw new Error('the disk is gone')
        seen.given++
        yield rows(n)
      }
    } finally {
      seen.ended = true
    }
  })
  const listener = await listenAdmin((request, peer) => app(request, { ...peer, operator: true }), '127.0.0.1', 0)
  t.teardown(() => listener.close())
  const url = `${listener.at}/api/stats/export.csv?site=1&report=breakdown&dimension=pathname`

  failsAt = 3
  const broken = await fetch(url)
  t.equal(broken.status, 200)
  await t.rejects(broken.text(), 'an interrupted file does not look complete')
  t.match(logged, [{ message: 'the disk is gone' }], 'the failure is logged')
  t.ok(seen.ended)
  failsAt = 0
  t.equal((await fetch(url)).status, 500, 'a failure before the first line is a 500')

  failsAt = Infinity
  Object.assign(seen, { given: 0, aborted: false, ended: false })
  const left = new AbortController()
  const slow = await fetch(url, { signal: left.signal })
  const body = slow.body?.getReader()
  await body?.read()
  await sleep(500)
  t.ok(seen.given < 250, `${seen.given} of 500 parts were read while the client did not read`)
  left.abort()
  for (let i = 0; i < 200 && !seen.ended; i++) await sleep(10)
  t.ok(seen.aborted && seen.ended, 'the statement is stopped')
  t.equal(logged.length, 2, 'a client that leaves is not logged')

  seen.ended = false
  const unread = await app(new Request(url), { ip: '', operator: true })
  await unread.body?.cancel()
  t.ok(seen.ended, 'the statement also stops if no line was read, as for HEAD')
})
