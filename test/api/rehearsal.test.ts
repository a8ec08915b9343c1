import t from 'tap'
import { respond } from '../../src/api/rehearsal/run.js'
import { ApiError } from '../../src/base/errors.js'
import { openStore } from '../fixtures/open-store.js'
import { seeded } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { at, LISTS, QUESTION, rehearse, rule, WINDOW } from '../oracle/rehearsal-cases.js'
import { comparable, expectRehearsal, randomRows, SITEMAPS } from '../oracle/rehearsed.js'

t.test('an identity asked for passes the first fetch of an address', async (t) => {
  const store = await openStore(t)
  const proven = { ip_hash: 4n, verification: 'ranges', verified: true }
  await store.append({
    events: [],
    agent_events: [
      agentRow({ timestamp: at('25T08:00:00') }),
      agentRow({ timestamp: at('25T08:00:01'), ...proven }),
      agentRow({ timestamp: at('25T08:00:02'), ...proven }),
    ],
  })
  const rules = [{ agents: ['gptbot'], identity: ['verified'], action: 'block' }]
  const {
    fetches,
    rules: [rule],
  } = await rehearse(store, { site: 1, range: '7d', rules })
  t.same([fetches, rule?.would], [3, { fetches: 1, bytes: 1234, duration_ms: 5 }])
})

for (const [why, rules] of LISTS)
  t.test(`equal to a plain recount: ${why}`, async (t) => {
    const rows = randomRows(seeded(why.length), WINDOW.start, 2, 500)
    const store = await openStore(t)
    await store.append(rows)
    t.same(comparable(await rehearse(store, QUESTION, rules, SITEMAPS)), expectRehearsal(rows, rules, WINDOW))
  })

t.test('a small record, counted by hand', async (t) => {
  const gptbot = { bytes: 100, duration_ms: 10, verification: 'ranges', verified: true }
  const google = { agent_id: 'googlebot', operator: 'Google', purpose: 'search', user_agent: 'Googlebot/2.1' }
  const refused = { action: 'block', rule: 7, status: 403, bytes: 5, duration_ms: 0 }
  const store = await openStore(t)
  await store.append({
    events: [eventRow({ timestamp: at('25T22:59:00'), channel: 'Organic Search', source: 'Google' })],
    agent_events: [
      agentRow({ ...gptbot, timestamp: at('24T22:00:00'), pathname: '/a' }),
      // The day of Berlin has 25 hours: this is its last minute.
      agentRow({ ...gptbot, timestamp: at('25T22:59:00'), pathname: '/a', bytes: 200 }),
      agentRow({ ...gptbot, timestamp: at('26T01:00:00'), pathname: '/a', ...refused }),
      agentRow({ ...gptbot, timestamp: at('26T02:00:00'), pathname: '/never', ...refused }),
      agentRow({ ...google, ...gptbot, timestamp: at('25T10:00:00'), ip_hash: 9n }),
    ],
  })
  const rules = [
    rule(7, { agents: ['gptbot'] }),
    rule(8, { agents: ['gptbot', 'googlebot'] }),
    rule(9, { agents: ['gptbot'] }),
  ]
  const result = await rehearse(store, { site: 1, start: '2026-10-25', end: '2026-10-26' }, rules)
  const [first, second, third] = result.rules
  t.same(result.days, [
    { day: '2026-10-25', fetches: 3, refused: 0, would: 3 },
    { day: '2026-10-26', fetches: 2, refused: 2, would: 2 },
  ])
  t.same(first?.would, { fetches: 4, bytes: 500, duration_ms: 30 }, 'a refused fetch weighs what was last served')
  t.same(first?.agents[0]?.after, {
    ...{ rule: 7, since: '2026-10-26T01:00:00.000Z' },
    ...{ fetches_before: 1, fetches_after: 2, refused: 2 },
  })
  t.same(
    [first, second].map((rule) =>
      rule?.search_engines.map((one) => [one.agent_id, one.identity, one.would, one.fetches, one.readers]),
    ),
    [[], [['googlebot', 'verified', 1, 1, 1]]],
  )
  t.same(third?.never_decides, { by: 7, fetches: 4 })
  t.same(
    result.limits.map(({ kind, fetches }) => [kind, fetches]),
    [
      ['weight', 1],
      ['query', undefined],
    ],
  )
})

t.test('what speaks against each rule', async (t) => {
  const store = await openStore(t)
  await store.append({ events: [], agent_events: [agentRow({ timestamp: at('25T08:00:00') })] })
  const block = { action: 'block', agents: ['gptbot'] }
  const ghost = { agents: ['gptbot', 'a-ghost'] }
  const google = [{ agent_id: 'googlebot', name: 'Googlebot' }]
  const unknown = 'The catalogue has no agent "a-ghost".'
  const everything = 'This would refuse every agent everywhere. Name an agent, a path or a budget.'
  for (const [given, problems, engines, would, why] of [
    [{}, [], [], 1, 'nothing'],
    [{ agents: [] }, [{ field: 'agents', message: everything }], [], 0, 'everything: it decides nothing'],
    [{ action: 'limit' }, [{ field: 'budget', message: 'A limit needs a budget.' }], [], 0, 'no budget'],
    [ghost, [{ field: 'agents[1]', message: unknown }], [], 0, 'no such agent'],
    [{ ...ghost, id: 5 }, [], [], 1, 'no such agent any more: the site has the rule'],
    [{ ...ghost, id: 6 }, [{ field: 'agents[1]', message: unknown }], [], 0, 'the stored rule does not name it'],
    [{ agents: ['googlebot', 'gptbot'] }, [], google, 1, 'it names a search engine'],
    [{ agents: ['googlebot'], refuse_search_engines: true, state: 'on' }, [], google, 0, 'with an agreement'],
    [{ agents: ['googlebot'], state: 'on' }, [], google, 0, 'on without an agreement: not an error'],
    [{ agents: ['googlebot'], identity: ['spoofed'] }, [], [], 0, 'only who lies'],
    [{ agents: ['googlebot'], action: 'allow' }, [], [], 0, 'it refuses nothing'],
    [{ agents: [], paths: ['/docs/**', '/articles/**'] }, [], [], 0, 'a rule for any agent spares them'],
    [{ operators: ['Google'], except: ['googlebot'] }, [], undefined, 1, 'except'],
  ] as const) {
    const rules = [
      { ...block, ...given },
      { action: 'block', paths: ['/never'] },
    ]
    const own = [rule(5, ghost), rule(6, {})]
    const [first, second] = (await rehearse(store, { site: 1, range: '7d', rules }, own)).rules
    t.same([first?.problems, first?.would.fetches], [problems, would], why)
    if (engines) t.same(first?.named_search_engines, engines, why)
    else
      t.notOk(
        first?.named_search_engines.some(({ agent_id }) => agent_id === 'googlebot'),
        why,
      )
    t.same(second?.problems, [], 'the others are rehearsed')
  }
})

t.test('questions that have no answer, and a caller who has left', async (t) => {
  const store = await openStore(t)
  const ask = (body: object) => rehearse(store, { site: 1, ...body })
  const fieldOf = (body: object) =>
    ask(body).then(
      () => undefined,
      (error) => error instanceof ApiError && error.field,
    )
  t.equal(await fieldOf({ rules: [{ action: 'block', paths: ['docs'] }] }), 'rules[0].paths[0]')
  await t.rejects(ask({ rules: [{ action: 'block', agent: ['gptbot'] }] }), { code: 'validation_error' })
  t.equal(await fieldOf({ range: '2d' }), 'range')
  await t.rejects(ask({ site: 2 }), { code: 'not_found' })
  const off = rule(3, { agents: ['gptbot'], state: 'off' })
  t.same((await rehearse(store, { site: 1 }, [off])).rules, [], 'off: not rehearsed')
  t.equal((await rehearse(store, { site: 1, rule: 3 }, [off])).rules[0]?.state, 'rehearse')
  await t.rejects(rehearse(store, { site: 1 }, [off], [], AbortSignal.abort()), { code: 'database_error' })
})

t.test('lines tell how far a rehearsal is', async (t) => {
  const result = { data: 1, meta: {} }
  const cancelled = new ApiError('conflict', 'Too much changed.')
  const broken = new Error('The store broke.')
  for (const [times, error, expected, why] of [
    [[100, 499], undefined, [result], 'done within half a second'],
    [[500, 700, 1000], undefined, [{ done: 1, total: 3 }, { done: 3, total: 3 }, result], 'each half second'],
    [
      [600],
      cancelled,
      [{ done: 1, total: 1 }, { error: { code: 'conflict', message: 'Too much changed.' } }],
      'a refusal after a line is not a fault',
    ],
    [
      [600],
      broken,
      [{ done: 1, total: 1 }, { error: { code: 'internal_error', message: /has been logged/ } }],
      'a fault after a line',
    ],
  ] as const) {
    let now = 0
    const faults: unknown[] = []
    const response = await respond(
      true,
      async (report) => {
        for (const [n, time] of times.entries()) {
          now = time
          report(n + 1, times.length)
        }
        if (error) throw error
        return result
      },
      (fault) => faults.push(fault),
      () => now,
    )
    const lines = (await response.text()).trimEnd().split('\n')
    t.match(
      lines.map((line) => JSON.parse(line)),
      expected,
      why,
    )
    t.equal(lines.length, expected.length, why)
    t.same(faults, error === broken ? [broken] : [], `${why}: what is logged`)
  }
  await t.rejects(
    respond(
      true,
      async () => Promise.reject(cancelled),
      () => {},
    ),
    cancelled,
    'a fault before the first line',
  )
  t.same(
    await (
      await respond(
        undefined,
        async () => result,
        () => {},
      )
    ).json(),
    result,
    'one document',
  )
})
