import { join } from 'node:path'
import t from 'tap'
import { parseCatalog } from '../../src/agents/catalog.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { reclassifyFetches } from '../../src/storage/duckdb/reclassification.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { AgentEventRow } from '../../src/storage/rows.js'
import { raw, sql } from '../../src/storage/sql.js'
import { createReclassify } from '../../src/worker/reclassify.js'
import { directory } from '../fixtures/files.js'
import { openStore } from '../fixtures/open-store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { storeOptions } from '../fixtures/store.js'
import { findWrongDailyCounts } from '../fixtures/wrong-daily-counts.js'

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
  await store.aggregate(new Date('2030-01-01T00:00:00Z'))
  t.strictSame(await store.query(sql`select sum(fetches)::integer as n from daily_urls`), [{ n: 9 }])
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
  t.strictSame(await findWrongDailyCounts(store), [], 'no read takes outdated counts')
  await store.aggregate(new Date('2030-01-01T00:00:00Z'))
  t.strictSame(await store.query(sql`select * from daily_changed`), [])
  t.strictSame(await findWrongDailyCounts(store), [], 'counted again')
})

t.test('stored systems and televisions get their present names, and the aggregates follow', async (t) => {
  const store = await openStore(t)
  const rows: [os: string | null, device: string | null, want: [string | null, string | null], why: string][] = [
    ['WEBOS', 'mobile', ['webOS', 'tv'], 'the spelling of televisions with HbbTV'],
    ['webOS', 'tv', ['webOS', 'tv'], 'already right'],
    ['KAIOS', 'mobile', ['KaiOS', 'mobile'], 'one system, one name'],
    ['android', 'mobile', ['Android', 'mobile'], 'one system, one name'],
    ['Windows Phone OS', 'mobile', ['Windows Phone', 'mobile'], 'one system, one name'],
    ['NETRANGE', 'desktop', [null, 'tv'], 'a portal of televisions, not a system'],
    ['Android', 'mobile', ['Android', 'mobile'], 'not every telephone is a television'],
    [null, null, [null, null], 'nothing is known'],
  ]
  await store.append({
    events: rows.map(([os, device_type], n) =>
      eventRow({ pathname: `/${n}`, session_id: BigInt(n + 1), visitor_id: BigInt(n + 1), os, device_type }),
    ),
    agent_events: [],
  })
  await store.aggregate(new Date('2030-01-01T00:00:00Z'))
  const step = reclassifier(store, { clock: () => 0 })
  t.match(await step(), { rows: 5, changed: 5, remaining: 0 })
  await store.aggregate(new Date('2030-01-01T00:00:00Z'))
  for (const table of ['events', 'sessions'])
    t.strictSame(
      await store.query(sql`select os, device_type from ${raw(table)} order by session_id`),
      rows.map(([, , [os, device_type]]) => ({ os, device_type })),
      table,
    )
  t.match(await step(), { rows: 0, changed: 0, remaining: 0, moves: [] }, 'and again: nothing')
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
  const removing: typeof store = {
    ...store,
    async updateRows(...given) {
      while ((await store.remove({ site: 2, hostnames: [] })).more);
      return store.updateRows(...given)
    },
  }
  const step = reclassifier(store, {
    store: { ...removing, reclassify: (...given) => reclassifyFetches(removing, ...given) },
    clock: () => 0,
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

t.test('agents that only sign keep the name of their directory, and get the operator once it is known', async (t) => {
  const store = await openStore(t)
  const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
  const host = (name: string) => ({ agent_id: name, operator: name, purpose: 'other', verification: 'indeterminate' })
  await store.append({
    events: [],
    agent_events: [
      old({ pathname: '/1', ...host('agent.example'), user_agent: browser }),
      old({ pathname: '/2', ...host('keys.signs.example'), user_agent: browser }),
      old({ pathname: '/3', ...host('eu.keys.signs.example'), user_agent: '' }),
      old({ pathname: '/4', ...host('signs'), operator: 'Old', user_agent: browser }),
      old({ pathname: '/5', ...host('agent.example'), user_agent: 'PlainBot/1.0' }),
    ],
  })
  const signs = entry('signs', 'SignsBot', {
    operator: 'Signs',
    web_bot_auth: {
      ...{ signature_agent: 'https://keys.signs.example', directory: null, status: 'listed' },
      further: ['https://eu.keys.signs.example'],
    },
  })
  const known = parseCatalog(
    JSON.stringify({ meta: { generated: '2026-12-25' }, agents: [signs, entry('plainbot', 'PlainBot')] }),
  )
  await reclassifier(store, { catalog: known })()
  t.strictSame(
    (await all(store)).map(({ pathname, agent_id, operator }) => [pathname, agent_id, operator]),
    [
      ['/1', 'agent.example', 'agent.example'],
      ['/2', 'signs', 'Signs'],
      ['/3', 'signs', 'Signs'],
      ['/4', 'signs', 'Signs'],
      ['/5', 'plainbot', 'Acme'],
    ],
  )
})
