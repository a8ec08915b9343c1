import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { sql } from '../../../src/storage/sql.js'
import { createLateJudgements, findUnjudgedHostnames } from '../../../src/worker/late-judgements.js'
import { openStore } from '../../fixtures/open-store.js'
import { fileResponse, START, setUpMonitor, statusResponse } from '../../fixtures/policy-monitor.js'
import { agentRow } from '../../fixtures/rows.js'

/** Tests which fetches are judged when robots.txt becomes known late: the machine is busy, or the origin starts after us. */

const ROBOTS = 'User-agent: *\nDisallow: /private\n'
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const catalog = loadCatalog()

t.test('a request from before the first response is judged by it, also if its row arrives after it', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(ROBOTS))
  const { monitor } = await open()
  const allowed = (at: number) => monitor.judge.judge('example.com', undefined, '/private', at).robots_allowed
  clock.at = START + 20_000
  await monitor.tick()
  for (const [at, expected, why] of [
    [clock.at, false, 'at the response'],
    [clock.at - 1, false, 'just before it'],
    [clock.at - 20_000, false, 'the machine was busy'],
    [clock.at - HOUR, false, 'an hour before'],
    [clock.at - HOUR - 1, null, 'earlier: who knows what robots.txt said'],
  ] as const)
    t.equal(allowed(at), expected, why)

  // From here on the file is known, so that an outage is one.
  table.set('example.com/robots.txt', statusResponse(503))
  clock.at = START + HOUR
  await monitor.tick()
  clock.at = START + HOUR + 10 * MINUTE
  table.set('example.com/robots.txt', fileResponse(ROBOTS))
  await monitor.tick()
  t.equal(allowed(START + HOUR + 1), null, 'the origin could not be reached')
  t.equal(allowed(START + HOUR - 1), false, 'before that')
  t.equal(allowed(clock.at), false, 'after it')
})

t.test('so is a request after a long pause, by the file as it is then', async (t) => {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /old\n'))
  const first = await open()
  await first.monitor.tick()
  await first.end()
  table.set('example.com/robots.txt', fileResponse(ROBOTS))
  clock.at = START + 3 * DAY
  const { monitor } = await open()
  await monitor.tick()
  for (const [at, target, expected, why] of [
    [clock.at - 20_000, '/private', false, 'the file of today'],
    [clock.at - 20_000, '/old', true, 'and not of three days ago'],
    [START + HOUR, '/old', false, 'then, the file of then'],
    [START + 2 * DAY, '/old', null, 'in between nothing is known'],
  ] as const)
    t.equal(monitor.judge.judge('example.com', undefined, target, at).robots_allowed, expected, why)
})

/** A store with so many fetches of the two minutes before the response, and who judges them on a busy machine. */
async function setUpLate(t: Parameters<typeof openStore>[0], count: number, msPerRow: number) {
  const { table, clock, open } = await setUpMonitor(t)
  table.set('example.com/robots.txt', fileResponse(ROBOTS))
  const store = await openStore(t)
  const at = (n: number) => new Date(START - 2 * MINUTE + Math.floor((n * 2 * MINUTE) / count))
  await store.append({
    events: [],
    agent_events: Array.from({ length: count }, (_, n) =>
      agentRow({
        ...{ timestamp: at(n), hostname: 'example.com', pathname: n % 2 ? '/private/x' : '/a', agent_id: 'gptbot' },
        ...{ robots_allowed: null, robots_rule: null, robots_line: null, robots_grace: null, llms_listed: null },
      }),
    ),
  })
  const { monitor } = await open()
  const lines: string[] = []
  let [elapsed, failures, steps] = [0, 0, 0]
  const late = createLateJudgements({
    store: {
      judgeFetches: async (...given) => {
        steps++
        if (failures-- > 0) throw new Error('the store is busy')
        await store.judgeFetches(...given)
      },
    },
    writer: { runExclusive: (work) => work() },
    policies: monitor,
    catalog,
    clock: () => (elapsed += msPerRow),
    log: (_, message) => lines.push(message),
  })
  const judged = async () => {
    const rows = await store.query(sql`select robots_allowed, count(*) as n from agent_events
      group by robots_allowed order by robots_allowed`)
    return rows.map(({ robots_allowed, n }) => [robots_allowed, Number(n)])
  }
  const fail = (times: number) => {
    failures = times
  }
  return { monitor, store, clock, late, lines, judged, fail, steps: () => steps }
}

t.test('every stored fetch is judged, however slowly, and although the store failed at first', async (t) => {
  // A busy machine: 246 rows at 20 ms each are five seconds.
  const { monitor, late, lines, judged, fail, steps } = await setUpLate(t, 246, 20)
  await late.flush()
  t.same(await judged(), [[null, 246]], 'robots.txt is not known')
  await monitor.tick()
  fail(2)
  await late.flush()
  await late.flush()
  t.same(await judged(), [[null, 246]], 'the store fails')
  t.equal(lines.length, 1, 'one message, however often it fails')
  await late.flush()
  t.same(await judged(), [
    [false, 123],
    [true, 123],
  ])
  t.ok(steps() > 4, `in steps: ${steps()}`)
})

t.test('more fetches than a step takes are judged, although some have no judgement', async (t) => {
  const { monitor, late, judged } = await setUpLate(t, 25_000, 0)
  await monitor.tick()
  await late.flush()
  t.same(await judged(), [
    [false, 12_500],
    [true, 12_500],
  ])
})

t.test('the hostnames of stored fetches without a judgement are found', async (t) => {
  const { store, monitor } = await setUpLate(t, 10, 0)
  t.same(await findUnjudgedHostnames(store, START), ['example.com'])
  t.same(await findUnjudgedHostnames(store, START + 2 * HOUR), [], 'too old for what may become known')
  await store.append({ events: [], agent_events: [agentRow({ timestamp: new Date(START), robots_allowed: true })] })
  monitor.addStored(['other.example'])
  t.ok(monitor.hostnames().includes('other.example'))
})

t.test('an application’s files are not fetched before its first request', async (t) => {
  const { table, requests, lines, open } = await setUpMonitor(t, { deps: { startsWithRequest: true } })
  table.set('example.com/robots.txt', fileResponse(ROBOTS))
  const { monitor } = await open()
  monitor.addStored(['example.com'])
  await monitor.tick()
  t.same([requests, lines], [[], []], 'it may not listen yet')
  monitor.judge.observe('example.com')
  await monitor.tick()
  t.same(
    requests.map(({ key }) => key),
    ['example.com/robots.txt', 'example.com/llms.txt'],
  )
})
