import t from 'tap'
import { loadExamples } from '../../src/api/examples.js'
import { answerOf, documented, validator } from '../fixtures/document.js'
import { recordExamples, resolve, slugOf } from '../fixtures/examples.js'

// The test asks hundreds of reads.
const SLOW = { timeout: 110_000 }

const kept = await documented(t)
// Creates one of everything that can be read.
await recordExamples(kept.document, kept.operator, true)
const LINE = '203.0.113.7 - - [01/Oct/2026:00:00:04 +0000] "GET /tides HTTP/1.1" 200 5120 "-" "ClaudeBot/1.0"\n'
await kept.operator('/api/imports?site=1', { method: 'POST', body: LINE })

t.test('every parameter accepts its example alone', SLOW, async (t) => {
  const { document, operations, operator } = kept
  for (const [i, { name, path, method, operation }] of operations.entries()) {
    if (method !== 'get') continue
    const parameters = (operation.parameters ?? []).map((one) => resolve(document, one))
    const textOf = ({ example, content }: (typeof parameters)[number]) => {
      const json = content?.['application/json']?.example
      return encodeURIComponent(json === undefined ? String(example) : JSON.stringify(json))
    }
    const words = parameters.filter((one) => one.in === 'path')
    // A link has another slug each time.
    const slug = path.includes('{slug}') ? await slugOf(operator) : undefined
    const url = words.reduce((url, one) => url.replace(`{${one.name}}`, slug ?? textOf(one)), path)
    const needed = parameters.filter((one) => one.in === 'query' && one.required)
    for (const [j, one] of parameters.entries()) {
      // A parameter that many reads share is tested with a sixth of them.
      if (one.in !== 'query' || ('$ref' in (operation.parameters?.[j] ?? {}) && (i + j) % 6 > 0)) continue
      const own = [...new Set([...needed, one])].map((each) => `${each.name}=${textOf(each)}`)
      // A parameter of some reports is documented with their names.
      const report =
        /^For ([\w/{}-]+)/.exec(one.description ?? '')?.[1]?.replace('{id}', '1') ??
        (['limit', 'page', 'order'].includes(one.name) ? 'pages' : undefined)
      const query = [...own, ...(path.includes('/export.') && report ? [`report=${report}`] : [])].join('&')
      const { status, body } = await operator(`${url}?${query}`, { method })
      await body?.cancel()
      // Nothing has the name of the example, and without a token there is no invitation.
      const isNamed = ['segment', 'hostname', 'token'].includes(one.name) || path === '/invitation'
      const isUnknown = status === 404 && isNamed
      t.ok(status === 200 || isUnknown, `${name}: ${query} ${status}`)
    }
  }
})

t.test('every read responds as documented, for every audience', SLOW, async (t) => {
  const { document, operations, operator } = kept
  const check = validator(document)
  const MORE = ['', '&compare=year', '&range=24h', '&range=all', '&limit=1000']
  for (const [i, { name, path, method, operation }] of operations.entries()) {
    const request = loadExamples().get(name)?.request
    const names = (operation.parameters ?? []).map((one) => resolve(document, one).name)
    if (method !== 'get' || !names.includes('site') || request === undefined) continue
    const { content } = answerOf(operation)
    if (!content['application/json']) continue
    const at = ['paths', path, method, 'responses', '200', 'content', 'application/json', 'schema']
    let answered = 0
    for (const [j, audience] of ['human', 'agent', 'all'].entries()) {
      const more = MORE[(i + j) % MORE.length]
      const given = new URL(`http://x${request}`)
      for (const [key, value] of new URLSearchParams(`audience=${audience}${more}`))
        if (names.includes(key)) given.searchParams.set(key, value)
      const response = await operator(`${given.pathname}${given.search}`)
      // The read does not support this audience.
      if (response.status === 422 || response.status === 404) continue
      answered++
      t.equal(response.status, 200, `${name} ${given.search}`)
      t.same(check(at, await response.json()), [], `${name} ${given.search}`)
    }
    t.ok(answered > 0, `${name} answers`)
  }
})
