import { writeFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t, { type Test } from 'tap'
import { loadExamples } from '../../src/http/examples.js'
import type { Document, Operation } from '../../src/http/openapi.js'
import { recordAccounts } from '../fixtures/account-examples.js'
import { recordExamples, resolve, slugOf } from '../fixtures/examples.js'
import { NOW, sampleService } from '../fixtures/sample.js'

async function open(t: Test) {
  const service = await sampleService(t)
  const text = await (await service.operator('/api/openapi.json')).text()
  const document: Document = JSON.parse(text)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation, name: `${method} ${path}` })),
  )
  const visitor = (path: string, init?: RequestInit) =>
    service.instance.fetch(new Request(`http://localhost${path}`, init), { ip: '203.0.113.7' })
  /** One call of every route, by whom it is for. */
  const record = async () =>
    new Map([
      ...(await recordExamples(document, service.operator)),
      ...(await recordAccounts(visitor, service.operator, NOW)),
    ])
  return { ...service, text, document, operations, record }
}

/** The document with every object closed: what it does not name is not there. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => [name, name === 'example' ? one : closed(one)])
  const made: Record<string, unknown> = Object.fromEntries(entries)
  if (made.type === 'object' && made.properties && made.additionalProperties === undefined)
    made.additionalProperties = false
  return made
}

/** Checks values against places of the document. */
function validator(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ $id: 'doc', ...Object(closed(document)) })
  const pointer = (path: string[]) => path.map((word) => word.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
  const compiled = new Map<string, ValidateFunction>()
  return (path: string[], value: unknown): string[] => {
    const at = `doc#/${encodeURI(pointer(path))}`
    const check = compiled.get(at) ?? ajv.compile({ $ref: at })
    compiled.set(at, check)
    return check(value)
      ? []
      : (check.errors ?? []).map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`)
  }
}
const answerOf = ({ responses }: Operation) => {
  const [status, reply] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  return { status: status ?? '', content: reply && 'content' in reply ? (reply.content ?? {}) : {} }
}

// As long as the whole file may take: each asks hundreds of reads.
const SLOW = { timeout: 110_000 }

if (process.argv.includes('--write'))
  t.test('the examples are recorded', async (t) => {
    const { record } = await open(t)
    const text = `${JSON.stringify(Object.fromEntries(await record()), null, 1)}\n`
    for (const folder of ['src', 'dist/src']) writeFileSync(`${folder}/http/examples.json`, text)
  })
else {
  const opened = await open(t)
  t.test('the linter finds nothing', async (t) => {
    const { text } = opened
    const config = await createConfig({
      extends: ['recommended-strict'],
      // What is open to anyone fails in no way of its own.
      rules: { 'operation-4xx-response': 'off' },
    })
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
    t.same(
      problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      [],
    )
    const broken = text
      .replace('"operationId":"get_api_sites"', '"operationId":"get_stats_overview"')
      .replace('get_sites', 'get_stats_overview')
    t.not((await lintFromString({ source: broken, absoluteRef: '/openapi.json', config })).length, 0, 'it can')
  })

  t.test('everything is described and has an example', async (t) => {
    const { text, document, operations } = opened
    for (const { name, path, operation } of operations) {
      for (const reference of operation.parameters ?? []) {
        const one = resolve(document, reference)
        const example = one.content?.['application/json']?.example ?? one.example
        t.ok(one.description, `${name}: ${one.name} is described`)
        t.not(example, undefined, `${name}: ${one.name} has an example`)
      }
      const { status, content } = answerOf(operation)
      for (const [type, { example }] of Object.entries(content))
        if (type === 'application/json') t.not(example, undefined, `${name}: the answer has an example`)
      t.ok(status === '204' || Object.keys(content).length > 0, `${name}: an answer`)
      const body = operation.requestBody?.content['application/json']
      if (operation.requestBody) t.not(body?.example, undefined, `${name}: the body has an example`)
      const codes = Object.keys(operation.responses)
      if (operation.security.length > 0)
        for (const code of ['401', '403', '429', '500', '503']) t.ok(codes.includes(code), `${name}: ${code}`)
      // The image is answered whatever was asked (contract 6).
      if ((operation.parameters ?? []).length > 0 && path !== '/api/track/pixel.gif')
        t.ok(codes.includes('422') || codes.includes('404'), `${name}: 422`)
    }
    for (const [name, { content }] of Object.entries(document.components.responses))
      t.not(content?.['application/json']?.example, undefined, `${name} has an example`)
    for (const tag of document.tags) t.not(tag.description, tag.name, `${tag.name} is described`)
    t.comment(`${operations.length} operations in ${Math.round(text.length / 1024)} KB`)
    t.ok(text.length < operations.length * 4_000, 'what is said once is written once')
  })

  t.test('examples are true', SLOW, async (t) => {
    const { document, operations, record } = opened
    const recorded = await record()
    const shipped = loadExamples()
    for (const [name, example] of recorded)
      t.same(shipped.get(name), example, `${name}: else \`node dist/test/http/openapi.test.js --write\``)
    for (const name of shipped.keys()) t.ok(recorded.has(name), `${name} is a route`)
    const check = validator(document)
    for (const { name, path, method, operation } of operations) {
      const { status, content } = answerOf(operation)
      const json = content['application/json']
      if (json) {
        const at = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema']
        t.same(check(at, json.example), [], `${name}: the answer is as its schema says`)
      }
      const body = operation.requestBody?.content['application/json']
      const at = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
      if (body) t.same(check(at, body.example), [], `${name}: the body is as its schema says`)
    }
    for (const [name, { content }] of Object.entries(document.components.responses))
      t.same(check(['components', 'schemas', 'Error'], content?.['application/json']?.example), [], name)
  })

  // The examples deleted what they made.
  const kept = await open(t)
  await recordExamples(kept.document, kept.operator, true)

  t.test('each parameter takes its example, alone', SLOW, async (t) => {
    const { document, operations, operator } = kept
    for (const [i, { name, path, method, operation }] of operations.entries()) {
      if (method !== 'get') continue
      const parameters = (operation.parameters ?? []).map((one) => resolve(document, one))
      const textOf = ({ example, content }: (typeof parameters)[number]) => {
        const json = content?.['application/json']?.example
        return encodeURIComponent(json === undefined ? String(example) : JSON.stringify(json))
      }
      const words = parameters.filter((one) => one.in === 'path')
      // Links have another slug each time.
      const slug = path.includes('{slug}') ? await slugOf(operator) : undefined
      const url = words.reduce((url, one) => url.replace(`{${one.name}}`, slug ?? textOf(one)), path)
      const needed = parameters.filter((one) => one.in === 'query' && one.required)
      for (const [j, one] of parameters.entries()) {
        // One that many have is asked of a third of them.
        if (one.in !== 'query' || ('$ref' in (operation.parameters?.[j] ?? {}) && (i + j) % 3 > 0)) continue
        const query = [...new Set([...needed, one])].map((each) => `${each.name}=${textOf(each)}`).join('&')
        const { status } = await operator(`${url}?${query}`, { method })
        t.ok(status === 200 || (one.name === 'segment' && status === 404), `${name}: ${query} ${status}`)
      }
    }
  })

  t.test('every read answers as the document says, whoever is asked about', SLOW, async (t) => {
    const { document, operations, operator } = kept
    const check = validator(document)
    const MORE = ['&compare=year', '&range=24h', '&range=all', '&limit=1000']
    for (const [i, { name, path, method, operation }] of operations.entries()) {
      const request = loadExamples().get(name)?.request
      const names = (operation.parameters ?? []).map((one) => resolve(document, one).name)
      if (method !== 'get' || !names.includes('site') || request === undefined) continue
      const { content } = answerOf(operation)
      if (!content['application/json']) continue
      const at = ['paths', path, method, 'responses', '200', 'content', 'application/json', 'schema']
      let answered = 0
      for (const [j, audience] of ['human', 'agent', 'all'].entries())
        for (const more of ['', MORE[(i + j) % MORE.length], MORE[(i + j + 1) % MORE.length]]) {
          const given = new URL(`http://x${request}`)
          for (const [key, value] of new URLSearchParams(`audience=${audience}${more}`))
            given.searchParams.set(key, value)
          const response = await operator(`${given.pathname}${given.search}`)
          // An audience that it cannot tell of.
          if (response.status === 422 || response.status === 404) continue
          answered++
          t.equal(response.status, 200, `${name} ${given.search}`)
          t.same(check(at, await response.json()), [], `${name} ${given.search}`)
        }
      t.ok(answered > 0, `${name} answers`)
    }
  })

  t.test('failures are as documented', async (t) => {
    const { document, operator, instance, key } = kept
    const ask = (path: string, init: RequestInit = {}) =>
      instance.fetch(new Request(`http://x${path}`, init), { ip: '' })
    const post = (path: string, body: string) => operator(path, { method: 'POST', body })
    const goal = '{"site":1,"name":"a","type":"page","match":{"op":"is","value":"/"}}'
    await post('/api/goals', goal)
    const rows: [string, () => Promise<Response>][] = [
      ['Conflict', () => post('/api/goals', goal)],
      ['Unauthorized', () => ask('/api/stats/overview?site=1')],
      ['NotFound', () => ask('/api/stats/overview?site=3', { headers: key })],
      ['Invalid', () => ask('/api/stats/overview', { headers: key })],
      ['BadRequest', () => operator('/api/keys', { method: 'POST', body: '{' })],
      ['TooLarge', () => operator('/api/keys', { method: 'POST', body: 'x'.repeat(70_000) })],
    ]
    for (const [name, call] of rows) {
      const reply = document.components.responses[name]
      const response = await call()
      t.same(await response.json(), reply?.content?.['application/json']?.example, name)
      for (const header of Object.keys(reply?.headers ?? {})) t.ok(response.headers.has(header), `${name}: ${header}`)
    }
  })
}
