import t from 'tap'
import { createLog } from '../../../src/app/cli/log.js'
import { CHROME, dataDir, eventually, type Instance, startInstance, startOrigin } from '../../fixtures/instance.js'

const LEVELS = ['error', 'warn', 'info', 'debug'] as const

t.test('a level has the lines of itself and of those before it', async (t) => {
  for (const [n, level] of LEVELS.entries()) {
    let out = ''
    const log = createLog(
      {
        out(text) {
          out += text
        },
        colour: false,
      },
      level,
    )
    for (const each of LEVELS) log[each]?.({}, each)
    const messages = out.split('\n').filter(Boolean)
    t.same(
      messages.map((line) => JSON.parse(line).msg),
      LEVELS.slice(0, n + 1),
      level,
    )
  }
})

const linesOf = (app: Instance) => app.output().split('\n').filter(Boolean)

t.test('processes of the site and the worker log at the level of the instance', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const visit = async (level: string) => {
    const app = await startInstance(origin.url, dataDir(t), '--workers', '2', '--offline', '--log-level', level)
    t.teardown(() => app.stop('SIGKILL'))
    await fetch(`${app.site}/page`, { headers: { 'user-agent': CHROME } })
    await eventually('the row', async () => (await app.pageviews()) === 1)
    return app
  }
  const quiet = await visit('error')
  t.equal(await quiet.stop(), 0)
  t.same(linesOf(quiet), [])

  const loud = await visit('debug')
  await eventually('a commit in the log', () => loud.output().includes('rows are stored'))
  await loud.stop()
  const levels = new Set(linesOf(loud).map((line) => JSON.parse(line).level))
  t.ok(levels.has(20) && levels.has(30), [...levels].join())
})
