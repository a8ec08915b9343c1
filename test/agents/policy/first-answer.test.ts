import t, { type Test } from 'tap'
import { z } from 'zod'
import { packBatch } from '../../../src/capture/packed-batch.js'
import { sql } from '../../../src/storage/sql.js'
import { agentObservation, observation } from '../../fixtures/observations.js'
import { fileResponse, startOrigin } from '../../fixtures/policy-monitor.js'
import { startTestEngine, waitFor } from '../../fixtures/worker-client.js'

const ROBOTS = 'User-agent: GPTBot\nDisallow: /private\nDisallow: /*?s=\n\nUser-agent: *\nDisallow: /closed\n'
const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const CLAUDEBOT = 'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)'

/** Starts a worker before an origin whose files are held back until `release`, and reads the verdicts of stored rows. */
async function startBeforeOrigin(t: Test) {
  const origin = await startOrigin(t)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const file = (text: string): Parameters<typeof origin.table.set>[1] => {
    const respond = fileResponse(text)
    return (req, res) => void held.then(() => respond(req, res))
  }
  origin.table.set('shop.example/robots.txt', file(ROBOTS))
  origin.table.set('shop.example/llms.txt', file('# Shop\n\n## Docs\n\n- [A](/a): a\n'))
  const { engine } = await startTestEngine(t, { origin: origin.url.origin })
  const fetch = async (user_agent: string, pathname: string, query?: string) =>
    await engine.record(
      packBatch([
        agentObservation({
          ...{ hostname: 'shop.example', user_agent, pathname, timestamp: new Date().toISOString() },
          ...(query === undefined ? {} : { query }),
        }),
      ]),
    )
  const verdicts = async () => {
    const rows = await engine.events.query(sql`select pathname, agent_id, robots_allowed, robots_rule, robots_line,
      robots_grace, llms_listed from agent_events order by timestamp, pathname`)
    return rows.map((row) => [
      ...[row.agent_id, row.pathname, row.robots_allowed, row.robots_rule, row.robots_line],
      ...[row.robots_grace, row.llms_listed],
    ])
  }
  return { ...origin, engine, fetch, verdicts, release }
}

t.test('fetches from before the first answer are judged when it arrives', async (t) => {
  const { engine, fetch, verdicts, release } = await startBeforeOrigin(t)
  await fetch(GPTBOT, '/private/x')
  await fetch(GPTBOT, '/list', 's=1')
  await fetch(GPTBOT, '/a')
  await fetch(CLAUDEBOT, '/private/x')
  await waitFor(() => engine.status().rows.agent === 4, 'the rows are stored')
  const none = [null, null, null, null, null]
  t.same(
    await verdicts(),
    [
      ['gptbot', '/private/x', ...none],
      ['gptbot', '/list', ...none],
      ['gptbot', '/a', ...none],
      ['claudebot', '/private/x', ...none],
    ],
    'nothing is known yet',
  )
  release()
  const wanted = [
    ['gptbot', '/private/x', false, '/private', 2, false, 0],
    ['gptbot', '/list', false, '/*?s=', 3, false, 0],
    ['gptbot', '/a', true, null, null, null, 1],
    ['claudebot', '/private/x', true, null, null, null, 0],
  ]
  await untilSame(verdicts, wanted)
  t.same(await verdicts(), wanted, 'the query counts although no row has it')
})

t.test('a worker that is started again judges the fetches that the killed one stored', async (t) => {
  const { engine, fetch, verdicts, release } = await startBeforeOrigin(t)
  await fetch(GPTBOT, '/private/x')
  await fetch(CLAUDEBOT, '/closed')
  await fetch(CLAUDEBOT, '/a')
  await waitFor(() => engine.status().rows.agent === 3, 'the rows are stored')
  await waitFor(() => engine.status().worker?.pid !== undefined, 'the worker is known')
  process.kill(engine.status().worker?.pid ?? 0, 'SIGKILL')
  await waitFor(() => engine.status().restarts === 1 && engine.status().state === 'ready', 'the next worker runs')
  // The next worker knows the hostname from the stored rows alone.
  release()
  const wanted = [
    // The rules of GPTBot look at queries, and the query went with the first worker.
    ['gptbot', '/private/x', null, null, null, null, null],
    ['claudebot', '/closed', false, '/closed', 6, false, null],
    ['claudebot', '/a', true, null, null, null, null],
  ]
  await untilSame(verdicts, wanted)
  t.same(await verdicts(), wanted)
})

t.test('the origin’s own hostname is fetched at start, until a person’s visit names another', async (t) => {
  const { table, url, engine } = await startBeforeOrigin(t)
  const Policy = z.looseObject({ hostnames: z.array(z.string()) })
  const policy = async () => Policy.parse(await engine.call('policy', { site: 1 }))
  t.match(
    await policy(),
    { hostname: url.hostname, robots: { status: 404 } },
    'the first question waits for the answer',
  )
  table.set('shop.example/robots.txt', fileResponse(ROBOTS))
  table.set('shop.example/llms.txt', fileResponse('# Shop\n'))
  await engine.record(packBatch([observation({ hostname: 'shop.example', timestamp: new Date().toISOString() })]))
  const wanted = ['shop.example']
  await untilSame(async () => (await policy()).hostnames, wanted)
  t.match(await policy(), { hostnames: wanted, hostname: 'shop.example', robots: { status: 200 } })
})

t.test('a configured hostname is asked first, and the origin’s own not at all', async (t) => {
  const origin = await startOrigin(t)
  origin.table.set('shop.example/robots.txt', fileResponse(ROBOTS))
  const { engine } = await startTestEngine(t, { origin: origin.url.origin, domain: ['shop.example'] })
  await waitFor(() => origin.requests.length >= 2, 'both files are fetched')
  await engine.call('policy', { site: 1 })
  t.same([...new Set(origin.requests.map(({ key }) => key))], ['shop.example/robots.txt', 'shop.example/llms.txt'])
})

/** Waits until `read` gives `wanted`, at most half a minute; the caller compares again. */
async function untilSame(read: () => Promise<unknown>, wanted: unknown): Promise<void> {
  for (let n = 0; n < 300 && JSON.stringify(await read()) !== JSON.stringify(wanted); n++)
    await new Promise((resolve) => setTimeout(resolve, 100))
}
