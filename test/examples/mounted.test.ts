import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../fixtures/instance.js'

const PROGRAM = resolve('dist/bin/readership.js')

for (const name of ['express', 'hono']) {
  t.test(`examples/${name}.ts: the site answers, its readers are counted, the terminal reaches it`, async (t) => {
    const cwd = mkdtempSync(join(tmpdir(), `${name}-`))
    t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
    const port = await freePort()
    const env = { ...process.env, PORT: String(port) }
    const child = spawn(process.execPath, [resolve(`dist/examples/${name}.js`)], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    await Promise.race([once(child.stdout, 'data'), ended])

    const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'user-agent': 'GPTBot/1.2' } })
    t.match(await page.text(), '<h1>Hello from ')
    const made = spawnSync(process.execPath, [PROGRAM, 'keys', 'create', '--name', 'test', '--json'], {
      cwd,
      encoding: 'utf8',
    })
    const { secret }: { secret: string } = JSON.parse(made.stdout)
    const headers = { authorization: `Bearer ${secret}` }
    const asked = `http://127.0.0.1:${port}/_readership/api/agents/overview?site=1&range=today`
    const counted = async (): Promise<unknown> => (await fetch(asked, { headers })).json()
    let answer = await counted()
    for (let tries = 0; tries < 1_000 && !JSON.stringify(answer).includes('"fetches":1,'); tries++) {
      await new Promise((done) => setTimeout(done, 50))
      answer = await counted()
    }
    t.match(answer, { data: { fetches: 1, agents: 1, operators: [{ operator: 'OpenAI', fetches: 1 }] } })

    const live = await fetch(`http://127.0.0.1:${port}/_readership/api/stats/realtime/stream?site=1`, { headers })
    t.equal(live.status, 200)
    child.kill('SIGTERM')
    t.same(
      await Promise.race([ended, sleep(120_000, undefined, { ref: false })]),
      [0, null],
      'and it ends well, also with an open live view',
    )
  })
}
