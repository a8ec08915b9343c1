import t from 'tap'
import { mcpService } from '../../fixtures/mcp-service.js'
import { QUESTIONS } from './questions.js'

t.test('sixty questions of owners are answered, each in at most two calls', async (t) => {
  const { createKey, connect, makeRecords, logged } = await mcpService(t)
  await makeRecords()
  const { callText } = await connect(await createKey(['stats:read', 'manage:read']))
  t.equal(QUESTIONS.length, 60)
  t.equal(new Set(QUESTIONS.map(([question]) => question)).size, 60)
  for (const [question, field, ...calls] of QUESTIONS) {
    t.ok(calls.length > 0 && calls.length <= 2, question)
    const answers = []
    for (const [tool, args] of calls) answers.push(await callText(tool, { site: 1, ...args }))
    t.notOk(
      answers.some(({ isError }) => isError),
      `${question} ${answers.map(({ text }) => text.slice(0, 300))}`,
    )
    const last = answers.map(({ text }) => text).join('\n')
    t.match(last, new RegExp(`"[a-z_]*${field}[a-z_]*":`), `${question} ${field}: ${last.slice(0, 500)}`)
  }
  t.same(logged, [])
})
