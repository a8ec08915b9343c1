import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Fault, startCollector } from '../../fixtures/collector.js'
import { directory } from '../../fixtures/files.js'
import { eventually } from '../../fixtures/instance.js'
import { agentObservation } from '../../fixtures/observations.js'
import { seeded } from '../../fixtures/random.js'
import { fetches, KEY, ship } from '../../fixtures/shipping.js'

/** The promises of the spool when the shipping process is killed. */

const start = (spool: string, url: string, from: number) => {
  const child = spawn(process.execPath, ['dist/test/fixtures/shipping-child.js', spool, url, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  /** Resolves with the number of rows that the process had recorded. */
  const said: { at: number; count: number }[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    const count = Number(chunk.toString().trim().split('\n').at(-1))
    said.push({ at: performance.now(), count })
  })
  return { child, said }
}

t.test(
  'kill -9 in the middle of a stream, again and again: what is a second old arrives, and nothing twice',
  async (t) => {
    const random = seeded(20261121)
    const faults: Fault = ({ res, commit }) => {
      const dice = random()
      if (dice < 0.7) return undefined
      if (dice < 0.85) commit()
      if (dice < 0.95) res.destroy()
      else res.writeHead(500).end()
      return true
    }
    const collector = await startCollector({ key: KEY, fault: faults })
    const spool = directory(t)
    const sure: [from: number, to: number][] = []
    let from = 0
    for (let round = 0; round < 2; round++) {
      const { child, said } = start(spool, collector.url, from)
      await eventually('it records', () => said.length > 0)
      await sleep(1_300 + random() * 400)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const at = performance.now()
      const old = said.filter((one) => one.at < at - 1_000).at(-1)
      if (old) sure.push([from, old.count])
      from = (said.at(-1)?.count ?? from) + 1_000
    }
    collector.setFault(undefined)
    const { child, said } = start(spool, collector.url, from)
    await eventually('it records', () => said.length > 0)
    child.kill('SIGTERM')
    await once(child, 'exit')
    sure.push([from, said.at(-1)?.count ?? 0])

    const got = collector.paths()
    t.equal(new Set(got).size, got.length, 'no row twice')
    const there = new Set(got)
    t.equal(sure.length, 3)
    for (const [first, end] of sure) {
      t.ok(end > first)
      const missing = Array.from({ length: end - first }, (_, n) => `/${first + n}`).filter((path) => !there.has(path))
      t.same(missing, [], `rows ${first} to ${end}`)
    }
    await collector.stop()
  },
)

t.test('a copied spool, as of a cloned machine, reuses no number of the original', async (t) => {
  const collector = await startCollector({ key: KEY })
  const [one, other] = [join(directory(t), 'one'), join(directory(t), 'other')]
  const first = await ship(one, collector.url)
  for (const row of fetches(30, '/first/')) first.record(row)
  await first.close()
  cpSync(join(one, 'progress'), join(other, 'progress'))
  const both = [await ship(one, collector.url), await ship(other, collector.url)]
  for (const [n, shipper] of both.entries()) for (const row of fetches(30, `/${n}/`)) shipper.record(row)
  for (const shipper of both) await shipper.close()
  t.equal(collector.paths().length, 90)
  await collector.stop()
})

t.test(
  'committed, the answer lost and the process gone: the next one sends the same again, and new rows apart',
  async (t) => {
    const collector = await startCollector({
      key: KEY,
      fault: ({ res, commit }) => {
        commit()
        res.destroy()
        return true
      },
    })
    const spool = directory(t)
    const first = await ship(spool, collector.url)
    for (const row of fetches(10)) first.record(row)
    await eventually('committed', () => collector.deliveries.length === 1)
    for (const row of fetches(10, '/later/')) first.record(row)
    await eventually('the trouble', () => first.stats().trouble !== undefined)
    await first.close()
    collector.setFault(undefined)
    const second = await ship(spool, collector.url)
    second.record(agentObservation({ pathname: '/new' }))
    await eventually('all', () => second.stats().waiting === 0 && collector.paths().length === 21)
    await second.close()
    const bodies = collector.attempts.map(({ body }) => body)
    const [sent = ''] = bodies
    t.equal(bodies.filter((body) => body === sent).length >= 2, true, 'byte for byte the same')
    t.equal(new Set(collector.paths()).size, 21)
    await collector.stop()
  },
)
