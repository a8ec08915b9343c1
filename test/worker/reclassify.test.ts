import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import type { Verifier } from '../../src/agents/claim-check.js'
import { VERDICTS } from '../../src/agents/verdict.js'
import { runProgram } from '../../src/cli/index.js'
import type { EventStore } from '../../src/duckdb/event-store.js'
import { openEvents } from '../../src/duckdb/event-store.js'
import { openRecords } from '../../src/duckdb/records.js'
import { agentControlRoutes } from '../../src/http/agent-control.js'
import { createApp } from '../../src/http/app.js'
import { listenControl } from '../../src/http/server.js'
import type { AgentEventRow } from '../../src/rows.js'
import { sql } from '../../src/sql.js'
import { createClaimCheck } from '../../src/worker/agent-api.js'
import { createReclassify } from '../../src/worker/reclassify.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { cli, dataDir, startInstance, startOrigin } from '../fixtures/instance.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow } from '../fixtures/rows.js'
import { storeOptions } from '../fixtures/store.js'

const entry = (id: string, token: string, more: object = {}) => ({
  id,
  name: id,
  operator: 'Acme',
  purpose: 'search',
  ua_tokens: [token],
  ua_match: 'token',
  robots_only: false,
  honors_wildcard_group: true,
  respects_robots: 'yes',
  client_side: false,
  status: 'active',
  ...more,
})
const ranged = { ranges_url: 'https://acme.example/ips.json', ranges_format: 'prefixes-json' }
const catalog = parseCatalog(
  JSON.stringify({
    meta: { generated: '2026-12-24' },
    agents: [
      entry('newbot', 'NewBot', ranged),
      entry('plainbot', 'PlainBot'),
      entry('stay', 'StayBot', { operator: 'Stay & Sons', purpose: 'seo' }),
      entry('signer', 'SignerBot', { operator: 'Signers', purpose: 'assistant' }),
    ],
  }),
)
const judged = { robots_allowed: false, robots_rule: '/x', robots_line: 3, robots_grace: true }
const old = (given: Partial<AgentEventRow>) => agentRow({ catalog_version: '2026-01-01', ...judged, ...given })

const all = (store: Pick<EventStore, 'query'>) =>
  store.query(sql`select pathname, agent_id, operator, purpose, catalog_version as version, verified, verification,
    robots_allowed, robots_rule, robots_line, robots_grace, llms_listed from agent_events order by pathname`)

const reclassifier = (store: EventStore, more: Partial<Parameters<typeof createReclassify>[0]> = {}) =>
  createReclassify({ store, catalog, clock: () => performance.now(), ...more })

t.test('each row gets the agent of the present catalogue', async (t) => {
  const store = await openStore(t)
  const unknown = { agent_id: 'other', operator: 'Unknown', purpose: 'other' }
  await store.append({
    events: [],
    agent_events: [
      old({ pathname: '/1', ...unknown, user_agent: 'NewBot/1.0', llms_listed: 1 }),
      old({ pathname: '/2', ...unknown, user_agent: 'PlainBot/1.0', verified: false, verification: 'spoofed' }),
      old({ pathname: '/3', agent_id: 'stay', user_agent: 'StayBot/2', verified: true, verification: 'ranges' }),
      old({
        pathname: '/4',
        agent_id: 'signer',
        user_agent: 'NewBot/1.0',
        verified: true,
        verification: 'web_bot_auth',
      }),
      old({
        pathname: '/5',
        agent_id: 'gone',
        user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
      }),
      old({ pathname: '/6', agent_id: 'goneagent', user_agent: 'x', verified: true, verification: 'web_bot_auth' }),
      old({ pathname: '/7', ...unknown, user_agent: `it's "NewBot", \\ \u0000 ${'é'.repeat(3)}; drop table` }),
      agentRow({ pathname: '/8', catalog_version: catalog.version, user_agent: 'NewBot/1.0' }),
      old({ pathname: '/9', ...unknown, user_agent: '' }),
    ],
  })
  const step = reclassifier(store)
  t.strictSame(
    await step(),
    {
      catalog_version: catalog.version,
      rows: 8,
      changed: 4,
      remaining: 0,
      moves: [
        { from: 'other', to: 'newbot', rows: 2 },
        { from: 'other', to: 'plainbot', rows: 1 },
        { from: 'gone', to: 'other', rows: 1 },
      ],
    },
    'what it says',
  )
  const taken = { robots_allowed: null, robots_rule: null, robots_line: null, robots_grace: null }
  const version = catalog.version
  const [newbot, kept] = [
    { agent_id: 'newbot', operator: 'Acme', purpose: 'search', version, verified: null, verification: 'indeterminate' },
    { ...judged, llms_listed: null },
  ]
  const other = { agent_id: 'other', operator: 'Unknown', purpose: 'other', version, verified: null }
  t.strictSame(await all(store), [
    { pathname: '/1', ...newbot, ...taken, llms_listed: 1 },
    { pathname: '/2', ...newbot, agent_id: 'plainbot', verification: 'unverifiable', ...taken, llms_listed: null },
    // The same agent, with other values in the catalogue.
    {
      pathname: '/3',
      agent_id: 'stay',
      operator: 'Stay & Sons',
      purpose: 'seo',
      version,
      verified: true,
      verification: 'ranges',
      ...kept,
    },
    // The signature identified the agent, whatever the user agent says.
    {
      pathname: '/4',
      agent_id: 'signer',
      operator: 'Signers',
      purpose: 'assistant',
      version,
      verified: true,
      verification: 'web_bot_auth',
      ...kept,
    },
    { pathname: '/5', ...other, verification: 'unverifiable', ...taken, llms_listed: null },
    {
      pathname: '/6',
      agent_id: 'goneagent',
      operator: 'OpenAI',
      purpose: 'training',
      version,
      verified: true,
      verification: 'web_bot_auth',
      ...kept,
    },
    { pathname: '/7', ...newbot, ...taken, llms_listed: null },
    {
      pathname: '/8',
      agent_id: 'gptbot',
      operator: 'OpenAI',
      purpose: 'training',
      version,
      verified: null,
      verification: 'indeterminate',
      robots_allowed: null,
      robots_rule: null,
      robots_line: null,
      robots_grace: null,
      llms_listed: null,
    },
    { pathname: '/9', ...other, verification: 'indeterminate', ...kept },
  ])
  t.strictSame(
    await step(),
    { catalog_version: version, rows: 0, changed: 0, remaining: 0, moves: [] },
    'and again: nothing',
  )
})

/** Rows for several slices; every third is a NewBot of an old catalogue. */
async function fill(store: EventStore, rows: number): Promise<void> {
  const batch = 10_000
  for (let from = 0; from < rows; from += batch)
    await store.append({
      events: [],
      agent_events: Array.from({ length: Math.min(batch, rows - from) }, (_, n) =>
        old({
          agent_id: 'other',
          operator: 'Unknown',
          user_agent: (from + n) % 3 ? 'curious/1' : `NewBot/${(from + n) % 900}`,
        }),
      ),
    })
}

t.test('reclassification runs in bounded steps, with appends between them', async (t) => {
  const file = join(directory(t), 'events.duckdb')
  const store = await openEvents(storeOptions(file).options)
  await fill(store, 100_000)
  // Each reading of the clock is a second later, so a step has one slice.
  let seconds = 0
  const first = await reclassifier(store, { clock: () => seconds++ * 1_000 })()
  t.equal(first.rows, 30_720, 'one slice')
  t.equal(first.remaining, 69_280)
  t.equal(first.changed, 10_240, 'every third')
  await store.close()

  const again = await openEvents(storeOptions(file).options)
  t.teardown(() => again.close())
  const step = reclassifier(again)
  const [one, two] = [step(), step()]
  const late = again.append({
    events: [],
    agent_events: [agentRow({ catalog_version: catalog.version, pathname: '/late' })],
  })
  await late
  const done = [await one, await two]
  let rest = done.reduce((sum, told) => sum + told.rows, 0)
  for (let told = done[1]; told && told.remaining > 0; rest += told.rows) told = await step()
  t.equal(rest, 69_280, 'the rest, each row once')
  t.strictSame(
    await again.query(
      sql`select agent_id, catalog_version as version, count(*) as rows from agent_events group by all order by all`,
    ),
    [
      { agent_id: 'gptbot', version: catalog.version, rows: 1 },
      { agent_id: 'newbot', version: catalog.version, rows: 33_334 },
      { agent_id: 'other', version: catalog.version, rows: 66_666 },
    ],
  )
})

t.test('many user agents are processed in smaller slices', async (t) => {
  const store = await openStore(t)
  const agent_events = Array.from({ length: 5_000 }, (_, n) => old({ agent_id: 'other', user_agent: `NewBot/1.${n}` }))
  await store.append({ events: [], agent_events })
  let seconds = 0
  const step = reclassifier(store, { clock: () => seconds++ * 1_000 })
  t.match(await step(), { rows: 3_840, changed: 3_840, remaining: 1_160 })
  t.match(await step(), { rows: 1_160, changed: 1_160, remaining: 0 })
})

t.test('rows removed meanwhile do not make others count as done', async (t) => {
  const store = await openStore(t)
  // More than a slice of another site, then a row that moves to their place.
  const leaving = Array.from({ length: 31_000 }, () => old({ site_id: 2, agent_id: 'other', user_agent: 'curious/1' }))
  await store.append({ events: [], agent_events: leaving })
  await store.append({ events: [], agent_events: [old({ agent_id: 'other', user_agent: 'NewBot/1.0' })] })
  const step = reclassifier(store, {
    store: {
      query: store.query,
      async updateRows(...given) {
        while ((await store.remove({ site: 2, hostnames: [] })).more);
        return store.updateRows(...given)
      },
    },
  })
  t.match(await step(), { changed: 1, remaining: 0 })
  t.match(await all(store), [{ agent_id: 'newbot', version: catalog.version }], 'not only said to be of this catalog')
})

t.test('during an obstacle nothing is changed, and the error says why', async (t) => {
  const store = await openStore(t)
  await fill(store, 10)
  await t.rejects(reclassifier(store, { obstacle: () => 'the disk is full' })(), {
    code: 'database_error',
    message: 'Rows cannot be changed: the disk is full.',
  })
  t.strictSame(await store.query(sql`select count(*) as rows from agent_events where catalog_version = '2026-01-01'`), [
    { rows: 10 },
  ])
  await t.rejects(
    store.updateRows(async () => [
      sql`update agent_events set catalog_version = 'half'`,
      sql`update nothing set a = 1`,
    ]),
    {
      code: 'database_error',
    },
  )
  t.strictSame(
    await store.query(sql`select count(*) as rows from agent_events where catalog_version = 'half'`),
    [{ rows: 0 }],
    'all or none',
  )
  t.equal((await reclassifier(store)()).rows, 10, 'and a failure is not the end of it')
})

t.test('a claim is checked, and a late verdict is awaited', async (t) => {
  const held = {
    count: 12,
    source: 'https://acme.example/ips.json',
    refreshed_at: '2026-11-21T08:00:00.000Z',
    stale: false,
  }
  const asked: unknown[] = []
  const verifier: Pick<Verifier, 'check'> = {
    check(agent, request, at) {
      asked.push([agent?.id, request.ip, at])
      return request.ip === '192.0.2.1'
        ? { now: VERDICTS.ranges }
        : { now: VERDICTS.indeterminate, later: Promise.resolve(VERDICTS.spoofed) }
    },
  }
  const claims = createClaimCheck({
    catalog,
    verifier,
    ranges: (id) => (id === 'newbot' ? held : undefined),
    now: () => 7,
  })
  t.strictSame(await claims({ user_agent: 'NewBot/1', ip: '192.0.2.1' }), {
    agent_id: 'newbot',
    verified: true,
    verification: 'ranges',
    ranges: held,
  })
  t.strictSame(await claims({ user_agent: 'PlainBot/1', ip: '192.0.2.2' }), {
    agent_id: 'plainbot',
    verified: false,
    verification: 'spoofed',
  })
  t.strictSame(
    await claims({
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
      ip: '192.0.2.1',
    }),
    null,
    'a person claims nothing',
  )
  t.strictSame(asked, [
    ['newbot', '192.0.2.1', 7],
    ['plainbot', '192.0.2.2', 7],
  ])
  await t.rejects(claims({ user_agent: 1 }))

  // The same as the operator sees it: the command, through a socket, with an instance in this test.
  const data = dataDir(t)
  mkdirSync(data)
  const service = createApp({
    routes: agentControlRoutes({
      call: (name, argument) => (name === 'identify' ? known(argument) : Promise.reject(new Error(name))),
    }),
    credentials: {
      keys: { authenticate: () => Promise.reject(new Error('nobody has a key')), isActive: async () => false },
    },
    version: '1',
    log: (error) => t.fail(String(error)),
  })
  const socket = await listenControl(
    (request) => service(request, { ip: '', operator: true }),
    join(data, 'control.sock'),
  )
  t.teardown(() => socket.close())
  const long = { ...held, refreshed_at: new Date(Date.now() - 100 * 3_600_000).toISOString(), stale: true }
  const known = createClaimCheck({
    catalog: loadCatalog(),
    verifier,
    ranges: (id) => (id === 'gptbot' ? long : undefined),
    now: () => 7,
  })
  const verified = async (userAgent: string, ip: string) => {
    const { stdout, stderr } = await command('agents', 'identify', userAgent, '--ip', ip, '--data', data)
    t.equal(stderr, '')
    return /^verified +(.*)$/m.exec(stdout)?.[1]
  }
  t.equal(
    await verified('GPTBot/1.2', '192.0.2.1'),
    'yes, the address is in the published ranges (12 prefixes of https://acme.example/ips.json, 4 days old, stale)',
  )
  t.equal(
    await verified('Googlebot/2.1', '192.0.2.2'),
    'no, spoofed: Google publishes a way to tell, and the address fails it',
  )
  t.equal(
    await verified('Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', '192.0.2.1'),
    undefined,
    'a person',
  )
  const { stdout } = await command('agents', 'identify', 'GPTBot/1.2', '--ip', '192.0.2.1', '--data', data, '--json')
  t.match(JSON.parse(stdout), {
    agent_id: 'gptbot',
    because: 'token',
    claim: { verified: true, verification: 'ranges', ranges: long },
  })
})

t.test('the command works with an instance, without one, and reports a missing data directory', async (t) => {
  const data = dataDir(t)
  const store = await openEvents(storeOptions(join(data, 'events.duckdb')).options)
  const gptbot = { user_agent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)' }
  const past = { catalog_version: '2025-01-01', agent_id: 'other', operator: 'Unknown', purpose: 'other' }
  const rows = (n: number) => ({
    events: [],
    agent_events: Array.from({ length: n }, () => agentRow({ ...past, ...gptbot })),
  })
  await store.append(rows(3))
  await store.close()
  t.match(await command('agents', 'reclassify', '--data', `${data}-none`), {
    code: 1,
    stderr: /^error: No data in [^\n]+\n$/,
  })

  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, data)
  t.teardown(() => app.stop())
  const version = loadCatalog().version
  const first = await cli('agents', 'reclassify', '--data', data, '--json')
  t.equal(first.stderr, '', 'no bar where nobody looks')
  t.strictSame(JSON.parse(first.stdout), {
    catalog_version: version,
    rows: 3,
    changed: 3,
    moves: [{ from: 'other', to: 'gptbot', rows: 3 }],
  })
  t.match(await command('agents', 'reclassify', '--data', data), {
    code: 0,
    stdout: `Every row is of the catalog of ${version}.\n`,
  })
  t.match((await app.ask('/api/agents/breakdown?site=1&dimension=agent_id&range=all')).data, [
    { value: 'gptbot', fetches: 3 },
  ])
  const refused = await fetch(`${app.admin}/control/agents/reclassify`, { method: 'POST' })
  t.equal(refused.status, 404, 'the operator’s alone')
  await app.stop()

  const alone = await openEvents(storeOptions(join(data, 'events.duckdb')).options)
  await alone.append(rows(40_000))
  await alone.close()
  const direct = await command('agents', 'reclassify', '--data', data)
  t.equal(direct.code, 0, direct.stderr)
  t.match(
    direct.stdout,
    /^ +ROWS +WAS +IS\n40,000 +other +gptbot\n40,000 rows identified again by the catalog of [\da-f-]+: 40,000 have another agent\.\n$/,
  )

  const identified = await command('agents', 'identify', gptbot.user_agent, '--ip', '192.0.2.1', '--data', data)
  t.match(identified.stdout, /^verified +not checked: no instance runs on .*--data$/m)
  t.match(
    (await command('agents', 'identify', gptbot.user_agent, '--data', data)).stdout,
    /^verified +not checked: say with --ip/m,
  )
})

t.test('after Ctrl-C finished slices stay done', async (t) => {
  const data = dataDir(t)
  const file = join(data, 'events.duckdb')
  const store = await openEvents(storeOptions(file).options)
  for (let n = 0; n < 2; n++)
    await store.append({
      events: [],
      agent_events: Array.from({ length: 20_000 }, (_, i) =>
        agentRow({ catalog_version: '2025-01-01', agent_id: 'other', user_agent: `GPTBot/1.${n}.${i}` }),
      ),
    })
  await store.close()
  await (await openRecords(storeOptions(join(data, 'control.duckdb')).options)).close()
  // In this process: Ctrl-C comes with the first progress bar, whatever the machine's speed.
  let interrupt = () => {}
  let said = ''
  const code = await runProgram(['agents', 'reclassify', '--data', data], {
    out: (text) => t.fail(`nothing is finished: ${text}`),
    err: (text) => {
      said += text
      interrupt()
    },
    errColumns: 80,
    colour: false,
    version: '1',
    pid: 1,
    env: {},
    onSignal: (_, listener) => {
      let sent = false
      interrupt = () => {
        if (!sent) listener()
        sent = true
      }
    },
    onUncaughtError: () => {},
    exit: (code) => {
      throw new Error(`exit ${code}`)
    },
  })
  t.equal(code, 1)
  t.match(
    said.replaceAll('\r\u001b[2K', '<'),
    /^<Reclassifying [█░]{30} \d+ % \([\d,]+ of 40,000\)<error: Stopped after [\d,]+ rows, which are done; run it again for the rest\.\n$/,
  )
  const count = async () => {
    const again = await openEvents(storeOptions(file).options)
    const [row] = await again.query(
      sql`select count(*) filter (agent_id = 'gptbot') as done, count(*) filter (agent_id = 'gptbot' and catalog_version = '2025-01-01') as half from agent_events`,
    )
    await again.close()
    return row
  }
  const stopped = await count()
  t.equal(stopped?.half, 0, 'no row half way')
  t.equal(stopped?.done, Number(/after ([\d,]+) rows/.exec(said)?.[1]?.replaceAll(',', '')), 'as many as it said')
  t.match(await command('agents', 'reclassify', '--data', data), { code: 0 })
  t.strictSame(await count(), { done: 40_000, half: 0 })
})
