import { readFileSync, writeFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import t, { type Test } from 'tap'
import { loadExamples } from '../../src/api/examples.js'
import { recordAccountExamples } from '../fixtures/account-examples.js'
import { clientTypes } from '../fixtures/client-types.js'
import { answerOf, documented, validator } from '../fixtures/document.js'
import { recordExamples, resolve } from '../fixtures/examples.js'
import { NOW } from '../fixtures/sample.js'

/** The types of `readership/client`. */
const CLIENT_TYPES = 'src/browser/dashboard/client/schema.ts'

async function open(t: Test) {
  const service = await documented(t)
  const { document, operator, visitor } = service
  /** Records one call of every route, with the credential that it needs. */
  const record = async () =>
    new Map([...(await recordExamples(document, operator)), ...(await recordAccountExamples(visitor, operator, NOW))])
  return { ...service, record }
}

// The test calls every route.
const SLOW = { timeout: 110_000 }

if (process.argv.includes('--write'))
  t.test('records the examples and the types of the client', SLOW, async (t) => {
    const { record, document } = await open(t)
    const text = `${JSON.stringify(Object.fromEntries(await record()), null, 1)}\n`
    for (const file of ['test/api/api-examples.json', 'dist/data/api-examples.json']) writeFileSync(file, text)
    writeFileSync(CLIENT_TYPES, await clientTypes(document))
  })
else {
  const opened = await open(t)
  t.test('the document has no lint', async (t) => {
    const { text } = opened
    const config = await createConfig({
      extends: ['recommended-strict'],
      // Open routes have no errors of their own.
      rules: { 'operation-4xx-response': 'off' },
    })
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
    t.same(
      problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      [],
    )
    const broken = text
      .replace('"operationId":"get_api_sites"', '"operationId":"get_stats_overview"')
      .replace('"get_sites"', '"get_stats_overview"')
    t.not((await lintFromString({ source: broken, absoluteRef: '/openapi.json', config })).length, 0, 'it can')
  })

  t.test('the types of the client follow the document', async (t) => {
    const isCurrent = (await clientTypes(opened.document)) === readFileSync(CLIENT_TYPES, 'utf8')
    t.ok(isCurrent, 'run `npm run client`')
  })

  t.test('everything has a description and an example', async (t) => {
    const { text, document, operations } = opened
    for (const { name, path, operation } of operations) {
      t.notMatch(operation.summary, /\ba [aeio]/i, `${name}: an article before a vowel`)
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
      const [body] = Object.values(operation.requestBody?.content ?? {})
      if (operation.requestBody) t.not(body?.example, undefined, `${name}: the body has an example`)
      const codes = Object.keys(operation.responses)
      if (operation.security.length > 0)
        for (const code of ['401', '403', '429', '500', '503']) t.ok(codes.includes(code), `${name}: ${code}`)
      // The pixel is returned whatever the request contains.
      if ((operation.parameters ?? []).length > 0 && path !== '/api/track/pixel.gif')
        t.ok(codes.includes('422') || codes.includes('404'), `${name}: 422`)
    }
    const pages: [path: string, parameters: string[]][] = [
      ['/sign-in', ['lang', 'token', 'next']],
      ['/register', ['lang']],
      ['/reset-password', ['lang', 'token']],
      ['/confirm-email', ['lang', 'token']],
      ['/invitation', ['token', 'lang']],
    ]
    for (const [path, parameters] of pages)
      t.same(
        (document.paths[path]?.get?.parameters ?? []).map((one) => resolve(document, one).name),
        parameters,
        `${path} says what its address takes`,
      )
    for (const [name, { content }] of Object.entries(document.components.responses))
      t.not(content?.['application/json']?.example, undefined, `${name} has an example`)
    for (const tag of document.tags) t.not(tag.description, tag.name, `${tag.name} is described`)
    t.comment(`${operations.length} operations in ${Math.round(text.length / 1024)} KB`)
    t.ok(text.length < operations.length * 4_000, 'what is said once is written once')
  })

  t.test('examples equal recorded calls and match their schemas', SLOW, async (t) => {
    const { document, operations, record } = opened
    const recorded = await record()
    const shipped = loadExamples()
    for (const [name, example] of recorded)
      t.same(shipped.get(name), example, `${name}: else \`node dist/test/api/openapi.test.js --write\``)
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

  t.test('errors are as documented', async (t) => {
    const { document, operator, instance, key } = await open(t)
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
