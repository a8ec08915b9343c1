import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { createIdentify } from '../../src/agents/identify.js'
import { KNOWN_AI_AGENTS } from '../fixtures/known-ai-agents.js'
import { browsers, crawlers, recall, recallTable } from '../fixtures/recall.js'

const identify = createIdentify(loadCatalog())

t.test('the committed table matches what is recognised', async (t) => {
  t.equal(
    recallTable(),
    readFileSync('test/agents/recall.txt', 'utf8'),
    'npm run --silent bench -- identify --recall > test/agents/recall.txt',
  )
})

t.test('recognition does not get worse', async (t) => {
  const { lines, missed } = recall()
  const total = lines.reduce((sum, line) => sum + line.instances, 0)
  t.equal(
    total,
    crawlers.reduce((sum, { instances }) => sum + instances.length, 0),
    'every instance once',
  )
  t.ok(missed.length * 100 < total, `${missed.length} of ${total} missed: under 1 %`)
  for (const operator of [
    'OpenAI',
    'Anthropic',
    'Google',
    'Microsoft',
    'Apple',
    'Perplexity',
    'Amazon',
    'Meta',
    'Yandex',
  ]) {
    const line = lines.find((one) => one.operator === operator)
    t.ok(line && line.named > 0, `${operator} is named`)
    t.equal(line?.missed, 0, `no agent of ${operator} is taken for a person`)
  }
})

t.test('takes no browser for an agent', async (t) => {
  for (const [list, userAgents] of Object.entries(browsers())) {
    t.ok(userAgents.length >= 100, `${list}: ${userAgents.length} user agents`)
    t.strictSame(
      userAgents.filter((userAgent) => identify(userAgent) !== undefined),
      [],
      list,
    )
  }
})

t.test('names the operators of known AI agents', async (t) => {
  const wrong = KNOWN_AI_AGENTS.filter(([name, operator]) => {
    const sent = /[/;]/.test(name) ? name : `Mozilla/5.0 (compatible; ${name}/1.0)`
    return identify(sent)?.agent?.operator.toLowerCase().startsWith(operator.toLowerCase()) !== true
  })
  // "Code" and "Cursor" are editors that people use, "Operator" and "Nava" are words, "ExaBot" was Exalead's before Exa.
  t.strictSame(
    wrong.map(([name]) => name),
    ['Code', 'ExaBot', 'Cursor', 'Operator', 'Nava/'],
  )
})
