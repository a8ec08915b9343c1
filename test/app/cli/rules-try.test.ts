import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { z } from 'zod'
import { Rehearsed } from '../../../src/api/rehearsal/shape.js'
import { socketPath } from '../../../src/api/server.js'
import { cli, dataDir, eventually, startInstance, startOrigin } from '../../fixtures/instance.js'

/** Rules in their order, with the status by which each of them shows. */
const RULES = [
  { status: 403, name: 'Block', agents: ['gptbot'], paths: ['/docs/**'], action: 'block' },
  {
    status: 429,
    name: 'Limit',
    ...{ agents: ['other'], action: 'limit' },
    budget: { limit: 5, unit: 'fetches', per: 'day', by: 'address' },
  },
  {
    status: 402,
    name: 'Bytes',
    ...{ agents: ['claudebot'], action: 'pay' },
    budget: { limit: 1, unit: 'bytes', per: 'day', by: 'operator' },
  },
  {
    status: 410,
    name: 'Identity',
    ...{ agents: ['bytespider'], action: 'gone' },
    identity: ['unverifiable'],
    methods: ['GET'],
  },
]
const AGENTS = { gptbot: 'GPTBot/1.2', other: 'strange-bot/0.1', claudebot: 'ClaudeBot/1.0', bytespider: 'Bytespider' }
const PATHS = ['/', '/docs/a', '/docs/b/c', '/robots.txt', '/blog']
const ROUNDS = 6

t.test('a rehearsal equals what the rules do when the same traffic comes again', { timeout: 180_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const { site, stop, fetches } = await startInstance(origin.url, data)
  t.teardown(() => stop())
  /** Calls the API as the operator. */
  const call = async (method: string, path: string, body: object): Promise<unknown> => {
    const sent = request({
      ...{ socketPath: socketPath(data), method, path, host: 'readership' },
      headers: { 'content-type': 'application/json' },
    })
    sent.end(JSON.stringify(body))
    const [answer] = await once(sent, 'response')
    const said = await text(answer)
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${said}`)
    return z.object({ data: z.unknown() }).parse(JSON.parse(said)).data
  }
  const rehearse = async () => Rehearsed.parse(await call('POST', '/api/rules/rehearsal', { site: 1, range: '24h' }))
  /** Fetches one page after the other; returns how many each rule refused, by agent. */
  const replay = async () => {
    const refused: Record<string, number> = {}
    for (let round = 0; round < ROUNDS; round++)
      for (const path of PATHS)
        for (const [agent, user_agent] of Object.entries(AGENTS))
          for (const method of ['GET', 'HEAD']) {
            const response = await fetch(site + path, { method, headers: { 'user-agent': user_agent } })
            await response.text()
            const rule = RULES.find(({ status }) => status === response.status)
            if (rule) refused[`${rule.name} ${agent}`] = (refused[`${rule.name} ${agent}`] ?? 0) + 1
          }
    return refused
  }
  const wouldOf = ({ rules }: Rehearsed) =>
    Object.fromEntries(
      rules.flatMap(({ name, agents }) => agents.map(({ agent_id, would }) => [`${name} ${agent_id}`, would])),
    )
  const ids: number[] = []
  for (const { status: _, ...rule } of RULES)
    ids.push(z.object({ id: z.int() }).parse(await call('POST', '/api/rules', { site: 1, ...rule })).id)
  // The address becomes known before: the first fetch of an agent passes a rule that asks for its identity.
  await (await fetch(site, { headers: { 'user-agent': AGENTS.bytespider } })).text()
  await eventually('the first row', async () => (await fetches()) === 1)
  t.same(await replay(), {}, 'in rehearsal nothing is refused')
  const each = ROUNDS * PATHS.length * Object.keys(AGENTS).length * 2
  await eventually('the rows of the recorded traffic', async () => (await fetches()) === 1 + each)
  const rehearsed = await rehearse()
  const by_hand = {
    'Block gptbot': ROUNDS * 2 * 2,
    'Limit other': ROUNDS * 4 * 2 - 5,
    'Bytes claudebot': ROUNDS * 4 * 2 - 1,
    'Identity bytespider': ROUNDS * 4,
  }
  t.same(wouldOf(rehearsed), by_hand)
  for (const id of ids) await call('PATCH', `/api/rules/${id}`, { state: 'on' })
  t.same(await replay(), wouldOf(rehearsed), 'live, the same fetches are refused')
  await eventually('the rows of the second time', async () => (await fetches()) === 1 + 2 * each)
  const after = await rehearse()
  t.same(
    after.rules.map(({ name, refused }) => [name, refused.fetches]),
    rehearsed.rules.map(({ name, would }) => [name, would.fetches]),
    'the rows name the rules',
  )

  const file = join(data, 'rules.yaml')
  writeFileSync(file, 'name: Nothing for GPTBot\nagents: [gptbot]\naction: block\n')
  const { code, stdout } = await cli('rules', 'try', file, '--range', '24h', '--data', data)
  t.equal(code, 0)
  t.match(stdout, /^Of 481 fetches these rules would refuse 96\.$/m)
  t.match(stdout, /Nothing for GPTBot: block$/m)
  writeFileSync(file, '[{ action: block }]')
  const refused = await cli('rules', 'try', file, '--data', data)
  t.equal(refused.code, 2)
  t.match(refused.stderr, /This would refuse every agent everywhere/)
})
