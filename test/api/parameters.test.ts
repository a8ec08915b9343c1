import t, { type Test } from 'tap'
import { z } from 'zod'
import type { ENVELOPE_SHAPE, PAGING_SHAPE } from '../../src/analytics/query/envelope.js'
import { documented } from '../fixtures/document.js'
import { resolve } from '../fixtures/examples.js'
import { fillPathIds } from '../fixtures/sample.js'

const SLOW = { timeout: 110_000 }
const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }) })

/** A good value of each parameter that reads share. */
const GOOD: Record<keyof typeof ENVELOPE_SHAPE | keyof typeof PAGING_SHAPE, string> = {
  site: '1',
  start: '2026-11-14',
  end: '2026-11-20',
  range: '7d',
  compare: 'previous',
  tz: 'Europe/Berlin',
  granularity: 'day',
  filters: '[{"dimension":"pathname","op":"is","value":"/"}]',
  segment: '1',
  audience: 'all',
  suspected: 'exclude',
  limit: '5',
  page: '1',
}
/** Addresses that mails, pages and probes use as they are, and tracking endpoints, which drop what they do not know. */
const OPEN =
  /^\/(?:sign-in|register|reset-password|confirm-email|invitation|healthz|readyz|metrics|api\/track.*|.*badge\.svg)$/

async function open(t: Test) {
  const service = await documented(t)
  const origin = { 'sec-fetch-site': 'same-origin' }
  const made = await service.visitor('/api/auth/register', {
    method: 'POST',
    headers: { ...origin, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Ada',
      organisation: 'Tides',
      email: 'ada@slackwater.example',
      password: 'nine tides under a bridge',
    }),
  })
  const cookie = made.headers.get('set-cookie')?.split(';')[0] ?? ''
  const person = (path: string, init: RequestInit) =>
    service.visitor(path, { ...init, headers: { ...origin, cookie, 'content-type': 'application/json' } })
  return { ...service, person }
}

t.test('each endpoint takes the parameters of its document, and refuses every other by its name', SLOW, async (t) => {
  const { document, operations, operator, person } = await open(t)
  const names = [...Object.keys(GOOD), 'dimension', 'metric', 'utm_source', 'x_unrelated']
  let refused = 0
  for (const { name, path, method, operation } of operations) {
    if (OPEN.test(path)) continue
    const known = (operation.parameters ?? []).map((one) => resolve(document, one)).filter((one) => one.in === 'query')
    const wrong: string[] = []
    const ask = async (query: URLSearchParams) => {
      const address = `${fillPathIds(path)}?${query}`
      const init = { method: method.toUpperCase(), ...(method === 'get' ? {} : { body: '{}' }) }
      const response = await operator(address, init)
      return response.status === 403 ? person(address, init) : response
    }
    for (const parameter of names) {
      if (known.some((one) => one.name === parameter)) continue
      // The same for every site.
      if (parameter === 'site' && path === '/api/stats/dimensions') continue
      const response = await ask(new URLSearchParams({ [parameter]: '1' }))
      const text = response.status === 422 ? await response.text() : '{}'
      await response.body?.cancel().catch(() => {})
      if (ErrorBody.safeParse(JSON.parse(text)).data?.error.field !== parameter)
        wrong.push(`${parameter}: ${response.status} ${text}`)
      refused += 1
    }
    // Documented ones are sent all at once, and where a call changes nothing.
    const taken = Object.entries(GOOD).filter(([parameter]) => known.some((one) => one.name === parameter))
    if (method === 'get' && taken.length > 0) {
      const query = new URLSearchParams(taken)
      if (path.includes('/export.')) query.set('report', 'pages')
      const response = await ask(query)
      const text = response.status === 422 ? await response.text() : '{}'
      await response.body?.cancel().catch(() => {})
      const field = ErrorBody.safeParse(JSON.parse(text)).data?.error.field
      if (field !== undefined && field in GOOD) wrong.push(`${field}: ${text}`)
    }
    t.same(wrong, [], name)
  }
  t.ok(refused > 1_000, `${refused} parameters refused`)
})

t.test('the message says why, and what to write', SLOW, async (t) => {
  const { operator } = await documented(t)
  const rows: [path: string, field: string, message: RegExp][] = [
    [
      'stats/overview?site=1&page=/pricing',
      'page',
      /^page does not apply here: only lists have pages\. The parameters are site, /,
    ],
    ['stats/overview?site=1&limit=abc', 'limit', /^limit does not apply here/],
    ['stats/timeseries?site=1&limit=5', 'limit', /does not apply/],
    ['stats/realtime?site=1&page=2', 'page', /only lists have pages/],
    ['stats/journeys?site=1&page=2', 'page', /only lists have pages/],
    ['stats/retention?site=1&limit=2', 'limit', /does not apply/],
    ['stats/sources?site=1&page=2', 'page', /only lists have pages.* limit/],
    ['agents/overview?site=1&limit=2', 'limit', /does not apply/],
    ['agents/timeseries?site=1&page=2', 'page', /only lists have pages/],
    ['citation-gap/summary?site=1&limit=2', 'limit', /does not apply/],
    ['policy?site=1&page=2', 'page', /only lists have pages/],
    ['stats/dimensions?compare=previous', 'compare', /does not apply here/],
    ['stats/dimensions?tz=Mars', 'tz', /does not apply here/],
    ['stats/export.csv?site=1&limit=2', 'limit', /does not apply here/],
    ['stats/export.csv?site=1&report=pages&metric=visitors', 'metric', /^Unknown parameter "metric"/],
    ['stats/export.pdf?site=1&report=retention&page=2', 'page', /only lists have pages/],
    ['stats/pages?site=1&url=/pricing', 'url', /filters=\[\{"dimension":"pathname","op":"is","value":"\/pricing"\}\]/],
    ['stats/pages?site=1&country=DE', 'country', /filters=\[\{"dimension":"country","op":"is","value":"DE"\}\]/],
    ['stats/pages?site=1&startAt=1763632800000', 'startAt', /write start, such as start=2026-11-01/],
    ['stats/pages?site=1&offset=50', 'offset', /write page, which counts from 1/],
    ['goals?site=1&limit=5', 'limit', /does not apply here/],
  ]
  for (const [path, field, message] of rows) {
    const response = await operator(`/api/${path}`)
    t.equal(response.status, 422, path)
    const { error } = ErrorBody.parse(await response.json())
    t.equal(error.field, field, path)
    t.match(error.message, message, path)
  }
  for (const path of [
    'stats/export.csv?site=1&report=pages&limit=2&page=1',
    'stats/export.csv?site=1&report=timeseries&metric=sessions',
    'stats/export.csv?site=1&metric=sessions',
    'stats/dimensions?site=1',
  ]) {
    const response = await operator(`/api/${path}`)
    t.equal(response.status, 200, path)
    await response.text()
  }
})

t.test('a read that fixes its window, comparison or audience says so', SLOW, async (t) => {
  const { operator, document } = await documented(t)
  const Answer = z.object({ meta: z.object({ warnings: z.array(z.object({ code: z.string() })).optional() }) })
  const rows: [path: string, code: string | undefined][] = [
    ['stats/realtime?site=1&range=7d', 'window_fixed'],
    ['stats/realtime?site=1', undefined],
    ['stats/sessions?site=1&compare=previous', 'comparison_fixed'],
    ['stats/sessions?site=1&compare=none', undefined],
    ['content/decay?site=1&compare=year', 'comparison_fixed'],
    ['agents/overview?site=1&audience=human', 'audience_fixed'],
  ]
  const fixed = /_fixed$/
  for (const [path, code] of rows) {
    const { meta } = Answer.parse(await (await operator(`/api/${path}`)).json())
    t.equal(meta.warnings?.find((one) => fixed.test(one.code))?.code, code, path)
  }
  const described = (path: string) =>
    (document.paths[path]?.get?.parameters ?? [])
      .map((one) => resolve(document, one))
      .find(({ name }) => name === 'audience')
  t.match(described('/api/stats/realtime/stream')?.description, /`all` \(default\)/, 'the stream sends both')
  t.match(described('/api/stats/realtime')?.description, /`all` \(default\)/)
  t.match(described('/api/stats/pages')?.description, /`human` \(default\)/)
  t.match(described('/api/agents/overview')?.description, /^Always `agent`/)
})
