import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { RuleSet } from '../../src/rules/rule-set.js'
import { command } from '../fixtures/command.js'
import { dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../fixtures/instance.js'

/*
 * The attack: the worker, which stores the records, is killed before, during and after a rule is switched. The attack succeeds
 * if the site decides by anything but the last rule, if the site and the records differ afterwards, or if a switch or a fetch
 * is lost or recorded twice.
 */

const RULE = { name: 'No GPTBot', agents: ['gptbot'], paths: ['/docs/**'], action: 'block', state: 'on' }
const Status = z.object({ store: z.object({ state: z.string(), worker: z.object({ pid: z.int() }) }) })
const Rules = z.array(z.object({ id: z.int(), state: z.string() }))
const Audit = z.array(z.object({ action: z.string(), object: z.string() }))

t.test('a worker that dies while a rule is switched loses and doubles nothing', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const instance = await startInstance(origin.url, data)
  t.teardown(() => instance.stop())
  let fetches = 0
  const status = async () => {
    fetches += 1
    return (await fetch(`${instance.site}/docs/${fetches}`, { headers: { 'user-agent': GPTBOT } })).status
  }
  const json = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await command(...args, '--json', '--data', data)
    return JSON.parse(stdout)
  }
  const worker = async () => Status.parse(await json('status')).store.worker.pid
  const file = join(data, 'new-rules.json')
  writeFileSync(file, JSON.stringify([RULE]))
  t.equal((await command('rules', 'add', file, '--data', data)).code, 0)
  t.equal(await status(), 403)

  /** The worker dies before the switch is asked for, at the same time, and while its response is awaited. */
  let switches = 0
  for (const moment of ['before', 'with', 'after']) {
    const [state, before, next] = switches % 2 === 0 ? ['off', 403, 200] : ['on', 200, 403]
    const pid = await worker()
    const kill = () => void process.kill(pid, 'SIGKILL')
    if (moment === 'before') {
      kill()
      t.equal(await status(), before, 'the last rule decides without a worker')
    }
    const change = () => command('rules', 'state', '1', `${state}`, '--data', data)
    const first = change()
    if (moment === 'with') kill()
    if (moment === 'after') setImmediate(kill)
    t.ok([before, next].includes(await status()), 'the site responds meanwhile')
    // An operator whose command failed gives it again.
    if ((await first).code !== 0) await eventually('the switch', async () => (await change()).code === 0)
    switches += 1
    t.equal(await status(), next, `${state}, killed ${moment} the switch: decides at once`)
    t.match(Rules.parse(await json('rules', 'list')), [{ id: 1, state }], 'as the records say')
    const rules = RuleSet.parse(JSON.parse(readFileSync(join(data, 'rules.json'), 'utf8'))).sites.flatMap(
      (site) => site.rules,
    )
    t.equal(rules.length, state === 'on' ? 1 : 0, 'and the file')
    await eventually('another worker', async () => (await worker()) !== pid)
  }
  const audit = Audit.parse(await json('audit', '-n', '1000')).filter(({ object }) => object === 'rule')
  t.same(
    audit.map(({ action }) => action),
    ['create', 'change', 'change', 'change'],
  )
  await eventually('every fetch', async () => (await instance.fetches()) >= fetches)
  t.equal(await instance.fetches(), fetches, 'is recorded once')
})
