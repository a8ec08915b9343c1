import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { CHROME, cli, dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../fixtures/instance.js'

/** Titles of columns, which are the lines or parts of lines in capitals. */
const titlesOf = (text: string) =>
  text.match(/^ *[A-Z]{4,}(?: +[A-Z]{3,})* *$/gm)?.map((line) => line.trim().replace(/ +/g, ' '))
/** Names of the lines of `status`. */
const namesOf = (text: string) => [...text.matchAll(/^[^ ]? +([A-Z][\w.]*(?: [a-z]+)?) {2,}/gm)].map(([, name]) => name)

t.test('the screens of the terminal in examples/screenshots are those of today', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  const data = dataDir(t)
  const proxy = await startInstance(origin.url, data)
  t.teardown(async () => {
    await proxy.stop()
    await origin.close()
  })
  for (const agent of [CHROME, GPTBOT])
    await fetch(`${proxy.site}/`, { headers: { 'user-agent': agent, accept: 'text/html' } })
  await eventually('both are stored', async () => {
    const { stdout } = await cli('stats', '--json', '--data', data)
    return /"pageviews": ?1/.test(stdout) && /"fetches": ?1/.test(stdout)
  })
  const folder = t.testdir()
  await promisify(execFile)(process.execPath, ['dist/examples/terminal-screens.js', data, folder])
  const again = 'make them again: npm start, and node dist/examples/terminal-screens.js readership-demo'
  for (const columns of [80, 160]) {
    const both = (name: string): [now: string, committed: string] => {
      const file = `${name}-${columns}.txt`
      return [readFileSync(join(folder, file), 'utf8'), readFileSync(join('examples/screenshots', file), 'utf8')]
    }
    t.equal(...both('report'), `report at ${columns}: ${again}`)
    const [stats, committedStats] = both('stats')
    t.same(titlesOf(stats), titlesOf(committedStats), `stats at ${columns}: ${again}`)
    t.ok((titlesOf(stats) ?? []).length >= 4, 'the titles are found')
    const [tail, committedTail] = both('tail')
    t.equal(tail.split('\n')[0], committedTail.split('\n')[0], `tail at ${columns}: ${again}`)
    const [status, committedStatus] = both('status')
    const known = namesOf(committedStatus)
    t.same(
      namesOf(status).filter((name) => !known.includes(name)),
      [],
      `status at ${columns}: ${again}`,
    )
    t.ok(known.length >= 10, 'the names are found')
  }
})
