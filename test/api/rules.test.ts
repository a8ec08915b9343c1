import t from 'tap'
import { openTenants } from '../fixtures/tenants.js'

/** Tests `/api/rules` over real files. `access-matrix.ts` has who may call the routes. */

const RULE = { site: 1, name: 'No training', purposes: ['training'], action: 'block' }
const NOW = '2026-11-21T10:00:00.000Z'

t.test('a rule is created, listed, changed and deleted, and the audit log has both sides', async (t) => {
  const { person, operator, audit, users } = await openTenants(t)
  const admin = await person({ 1: 'admin' })
  const created = await admin.ask('POST', '/api/rules', RULE)
  const rule = {
    ...{ id: 1, version: 1, site: 1, name: 'No training', position: 1 },
    ...{ agents: [], operators: [], purposes: ['training'], except: [], identity: [], disallowed: false },
    ...{ paths: [], methods: [], action: 'block', text: {}, strict: false, refuse_search_engines: false },
    ...{ state: 'rehearse', changed_at: NOW, changed_by: admin.email },
  }
  t.same(created.data, rule)
  t.equal(created.etag, '"1"')
  t.same((await admin.ask('GET', '/api/rules?site=1')).data, [rule])
  t.same((await admin.ask('GET', '/api/rules/1')).data, rule)

  const until = '2027-01-01T00:00:00.000Z'
  const more = {
    state: 'on',
    budget: { limit: 9, unit: 'fetches', per: 'hour', by: 'agent' },
    until: '2027-01-01T00:00:00Z',
  }
  const changed = await operator('PATCH', '/api/rules/1', more, { 'if-match': '"1"' })
  t.same(changed.data, { ...rule, ...more, until, version: 2, changed_by: 'operator' })
  t.same((await operator('PATCH', '/api/rules/1', { state: 'on' })).data.version, 2, 'nothing changes')
  t.match(await admin.ask('PATCH', '/api/rules/1', { name: 'x' }, { 'if-match': '"1"' }), {
    ...{ status: 409, error: { message: 'The rule was changed in the meantime: it is at version 2 now.' } },
  })
  t.equal((await admin.ask('DELETE', '/api/rules/1', undefined, { 'if-match': '"1"' })).status, 409)
  const bare = await admin.ask('PATCH', '/api/rules/1', { budget: null, until: null, state: 'off' })
  t.same(bare.data, { ...rule, state: 'off', version: 3 }, 'null removes a field')
  t.equal((await admin.ask('DELETE', '/api/rules/1')).status, 204)
  t.equal((await admin.ask('GET', '/api/rules/1')).status, 404)
  t.equal((await admin.ask('POST', '/api/rules', RULE)).data.id, 2, 'an id is not given twice')

  const { entries } = await audit.list({ org: 1, object: 'rule', limit: 9, page: 1 })
  t.same(
    entries
      .map(({ action, object_id, actor, details }) => [action, object_id, actor, details?.before, details?.after])
      .slice(1),
    [
      ['delete', '1', admin.email, omit(rule, 'off'), undefined],
      [
        ...['change', '1', admin.email],
        { budget: more.budget, state: 'on', until },
        { budget: null, state: 'off', until: null },
      ],
      [
        ...['change', '1', 'operator'],
        { budget: null, state: 'rehearse', until: null },
        { budget: more.budget, state: 'on', until },
      ],
      ['create', '1', admin.email, undefined, omit(rule, 'rehearse')],
    ],
  )
  t.ok(users)
})

/** The fields that the audit log has of a whole rule. */
const omit = ({ id, version, site, changed_at, changed_by, ...fields }: Record<string, unknown>, state: string) => ({
  ...fields,
  state,
})

t.test('the order: a rule is appended, inserted, moved and taken out', async (t) => {
  const { operator } = await openTenants(t)
  const add = (name: string, position?: number, site = 1) =>
    operator('POST', '/api/rules', { ...RULE, name, site, ...(position && { position }) })
  const order = async (site = 1) =>
    (await operator('GET', `/api/rules?site=${site}`)).data
      .map(({ position, name }: { position: number; name: string }) => `${position}${name}`)
      .join(' ')
  await add('a')
  await add('b')
  await add('c', 1)
  t.equal(await order(), '1c 2a 3b')
  await add('d', 99)
  t.equal(await order(), '1c 2a 3b 4d', 'beyond the end is the end')
  await add('x', undefined, 2)
  for (const [id, position, expected, why] of [
    [3, 3, '1a 2b 3c 4d', 'down'],
    [4, 1, '1d 2a 3b 4c', 'up'],
    [4, 1, '1d 2a 3b 4c', 'where it is'],
    [2, 99, '1d 2a 3c 4b', 'to the end'],
  ] as const) {
    await operator('PATCH', `/api/rules/${id}`, { position })
    t.equal(await order(), expected, why)
  }
  await operator('DELETE', '/api/rules/1')
  t.equal(await order(), '1d 2c 3b', 'the place of a deleted rule is closed')
  t.equal(await order(2), '1x', 'the other site has its own list')
  t.equal((await operator('GET', '/api/rules/4')).data.version, 2, 'others are not changed by a move')
})

t.test('rules that are refused, with their field', async (t) => {
  const { operator } = await openTenants(t)
  await operator('POST', '/api/rules', { ...RULE, name: 'taken' })
  const everything = { purposes: [], message: /^This would refuse every agent everywhere/, field: 'agents' }
  const budget = { limit: 1, unit: 'fetches', per: 'day', by: 'agent' }
  for (const [given, field, message, why] of [
    [{ purposes: [] }, 'agents', everything.message, 'about every agent everywhere'],
    [{ purposes: [], state: 'off' }, 'agents', everything.message, 'in any state'],
    [{ purposes: [], methods: ['GET'] }, 'agents', everything.message, 'by method alone'],
    [{ purposes: [], paths: ['/**'] }, 'agents', everything.message, 'every path'],
    [{ purposes: [], paths: ['/', '/a*', '**'] }, 'agents', everything.message, 'every path among others'],
    [{ purposes: [], identity: ['spoofed', 'verified', 'unverifiable'] }, 'agents', everything.message, 'any identity'],
    [{ action: 'limit' }, 'budget', 'A limit needs a budget.', 'a limit without a budget'],
    [{ action: 'allow', budget }, 'budget', 'A rule that allows has no budget: it refuses nothing.', 'allow'],
    [{ agents: ['gptbot', 'no-bot'] }, 'agents[1]', /has no agent "no-bot"/, 'an unknown agent'],
    [{ agents: ['GPTBot'] }, 'agents[0]', 'The catalogue has no agent "GPTBot"; did you mean gptbot?', 'a near name'],
    [{ except: ['no-bot'] }, 'except[0]', /has no agent "no-bot"/, 'an unknown exception'],
    [{ operators: ['Nobody'] }, 'operators[0]', /has no operator "Nobody"/, 'an unknown operator'],
    [{ purposes: ['none'] }, 'purposes[0]', /./, 'an unknown purpose'],
    [{ agents: ['googlebot'], state: 'on' }, 'refuse_search_engines', /Googlebot/, 'a search engine by name'],
    [{ purposes: ['search'], state: 'on' }, 'refuse_search_engines', /and \d+ more/, 'search engines by purpose'],
    [{ operators: ['Google'], state: 'on' }, 'refuse_search_engines', /Googlebot/, 'by operator'],
    [{ name: 'taken' }, 'name', 'The site already has a rule with this name.', 'a name that exists'],
    [{ name: ' ' }, 'name', /required/, 'no name'],
    [{ action: 'tease' }, 'action', /./, 'an unknown action'],
    [{ action: undefined }, 'action', /./, 'no action'],
    [{ state: 'maybe' }, 'state', /./, 'an unknown state'],
    [{ until: 'tomorrow' }, 'until', /./, 'no instant'],
    [{ paths: ['x'] }, 'paths[0]', /must begin with/, 'no pattern'],
    [{ paths: ['/**/**/**'] }, 'paths[0]', /at most twice/, 'a pattern with too many stars'],
    [{ paths: ['/ok', '/search?q=*'] }, 'paths[1]', /without its query/, 'a pattern with a query'],
    [
      { paths: ['/robots.txt'] },
      'paths[0]',
      '/robots.txt is never refused: agents read there what they may fetch.',
      '',
    ],
    [{ paths: ['/.well-known/**'] }, 'paths[0]', /never refused/, 'a folder that is never refused'],
    [{ methods: ['get'] }, 'methods[0]', /capital/, 'a method in small letters'],
    [{ license_url: 'javascript:alert(1)' }, 'license_url', /http/, 'no http URL'],
    [{ budget: { ...budget, limit: 0 } }, 'budget.limit', /./, 'a budget of nothing'],
    [{ budget: { ...budget, per: 'week' } }, 'budget.per', /./, 'an unknown window'],
    [{ text: { xml: 'x' } }, 'text', /./, 'an unknown form of text'],
    [{ text: { plain: 'x'.repeat(20_001) } }, 'text.plain', /20,000/, 'a text that is too long'],
    [{ position: 0 }, 'position', /./, 'no position'],
    [{ site: 99 }, 'site', 'There is no such site.', 'no site'],
    [{ colour: 'red' }, 'colour', /./, 'an unknown field'],
  ] as const) {
    const { status, error } = await operator('POST', '/api/rules', { ...RULE, name: 'new', ...given })
    t.equal(status, field === 'name' && why === 'a name that exists' ? 409 : field === 'site' ? 404 : 422, why)
    t.match(error, { field, message }, why)
  }
  t.equal((await operator('GET', '/api/rules?site=1')).data.length, 1, 'none was stored')
  for (const [given, why] of [
    [{ agents: ['googlebot'], refuse_search_engines: true, state: 'on' }, 'who wants it may'],
    [{ agents: ['googlebot'] }, 'in rehearsal'],
    [{ agents: ['googlebot'], identity: ['spoofed'], state: 'on' }, 'only false claims'],
    [{ operators: ['Google'], except: ['googlebot'], paths: ['/x'], action: 'allow', state: 'on' }, 'allow'],
    [{ purposes: [], paths: ['/private/**'], state: 'on' }, 'search engines are spared'],
    [{ action: 'allow', paths: ['/robots.txt'] }, 'what passes anyway may be allowed'],
    [{ purposes: [], disallowed: true, state: 'on' }, 'whatever robots.txt disallows'],
    [{ agents: ['other'], operators: ['Unknown'] }, 'agents that are not in the catalogue'],
  ] as const)
    t.equal((await operator('POST', '/api/rules', { ...RULE, name: why, ...given })).status, 201, why)
})

t.test('who agreed to refuse a search engine is asked again about another', async (t) => {
  const { operator } = await openTenants(t)
  const agreed = { agents: ['googlebot'], refuse_search_engines: true, state: 'on' }
  await operator('POST', '/api/rules', { ...RULE, name: 'a', ...agreed })
  for (const [change, status, why] of [
    [{ name: 'b' }, 200, 'another name'],
    [{ agents: ['bingbot'] }, 422, 'another search engine'],
    [{ operators: ['Microsoft'] }, 422, 'those of an operator'],
    [{ agents: ['bingbot'], refuse_search_engines: true }, 200, 'agreed again'],
  ] as const) {
    t.equal((await operator('PATCH', '/api/rules/1', change)).status, status, why)
  }
})

t.test('a site has at most 2,000 paths in its rules', async (t) => {
  const { operator } = await openTenants(t)
  const paths = Array.from({ length: 200 }, (_, n) => `/${n}/**`)
  for (let n = 0; n < 10; n++)
    t.equal((await operator('POST', '/api/rules', { ...RULE, name: `${n}`, paths })).status, 201)
  t.match(await operator('POST', '/api/rules', { ...RULE, name: 'more', paths: ['/x'] }), {
    status: 409,
    error: { field: 'paths', message: /2,?000 paths/ },
  })
})

t.test('a rule whose agent has left the catalogue can be moved and switched off', async (t) => {
  const { operator, records, rules } = await openTenants(t)
  await operator('POST', '/api/rules', { ...RULE, name: 'a' })
  await operator('POST', '/api/rules', { ...RULE, name: 'b', state: 'on' })
  const { sql } = await import('../../src/storage/sql.js')
  await records.write(
    sql`update rules set definition = replace(definition, '"agents":[]', '"agents":["gone"]') where id = 2`,
  )
  rules.invalidate()
  for (const [change, status, why] of [
    [{ position: 1 }, 200, 'moved'],
    [{ state: 'off' }, 200, 'switched off'],
    [{ state: 'on' }, 200, 'and on'],
    [{ agents: ['gone', 'none'] }, 422, 'another unknown agent'],
    [{ agents: ['gone', 'gptbot'] }, 200, 'a known one beside it'],
  ] as const)
    t.equal((await operator('PATCH', '/api/rules/2', change)).status, status, why)
})

t.test('a rule whose purpose has left the catalogue can be read, moved and switched off', async (t) => {
  const { operator, records, rules } = await openTenants(t)
  await operator('POST', '/api/rules', { ...RULE, state: 'on' })
  const { sql } = await import('../../src/storage/sql.js')
  await records.write(sql`update rules set definition = replace(definition, '"training"', '"gone"')`)
  rules.invalidate()
  t.same((await operator('GET', '/api/rules?site=1')).data[0].purposes, ['gone'])
  for (const [change, status, why] of [
    [{ state: 'off' }, 200, 'switched off'],
    [{ state: 'on' }, 200, 'and on'],
    [{ purposes: ['gone', 'none'] }, 422, 'another unknown purpose'],
    [{ purposes: ['gone', 'training'] }, 200, 'a known one beside it'],
  ] as const)
    t.equal((await operator('PATCH', '/api/rules/1', change)).status, status, why)
})

t.test('the audit log has the digest of a long text', async (t) => {
  const { operator, audit } = await openTenants(t)
  const [short, long] = ['x'.repeat(2_000), 'x'.repeat(2_001)]
  await operator('POST', '/api/rules', { ...RULE, text: { plain: short, html: long } })
  const { entries } = await audit.list({ org: 1, object: 'rule', limit: 1, page: 1 })
  t.match(entries[0]?.details, {
    after: {
      // By `printf 'x%.0s' $(seq 2001) | sha256sum`.
      text: {
        plain: short,
        html: { sha256: '9f2c9dcddb048a0b2baf27b3fec5efb480c7d9500ff0c6510b78f0033683c5c5', characters: 2_001 },
      },
    },
  })
})

t.test('rules end, are paused and resumed, and the time line says so', async (t) => {
  const { operator, person, clock, annotations } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const notes = async () => {
    annotations.invalidate()
    return (await operator('GET', '/api/annotations?site=1')).data.map(
      ({ at, text, kind, data }: Record<string, unknown>) => [at, kind, text, data],
    )
  }
  const state = async () => (await operator('GET', '/api/rules/state?site=1')).data
  t.same(await state(), { version: 'none', fronts: [] })
  await operator('POST', '/api/rules', { ...RULE, until: '2026-11-21T12:00:00Z' })
  t.same(await notes(), [], 'a rehearsal changes nothing on the site')
  clock.now = new Date('2026-11-21T11:00:00Z')
  await operator('PATCH', '/api/rules/1', { state: 'on' })
  await operator('PATCH', '/api/rules/1', { name: 'No training at all' })
  await operator('POST', '/api/rules', { ...RULE, name: 'Second', state: 'on' })
  const begun = await notes()
  t.same(begun, [
    [
      ...['2026-11-21T11:00:00.000Z', 'rule_changed', 'Rule “No training” is on'],
      { rule: 1, name: 'No training', state: 'on', before: { state: 'rehearse' } },
    ],
    [
      ...['2026-11-21T11:00:00.000Z', 'rule_changed', 'Rule “Second” is on'],
      { rule: 2, name: 'Second', state: 'on', before: { state: 'off' } },
    ],
  ])
  t.notOk((await operator('GET', '/api/rules/1')).data.ended)
  clock.now = new Date('2026-11-21T12:00:00Z')
  t.match((await operator('GET', '/api/rules/1')).data, { state: 'on', ended: true })

  clock.now = new Date('2026-11-21T13:00:00Z')
  const paused = { version: 'none', fronts: [], paused_since: '2026-11-21T13:00:00.000Z', paused_by: owner.email }
  t.same((await owner.ask('POST', '/api/rules/pause', { site: 1 })).data, paused)
  clock.now = new Date('2026-11-21T14:00:00Z')
  t.same((await operator('POST', '/api/rules/pause', { site: 1 })).data, paused, 'a second pause changes nothing')
  t.same(await state(), paused)
  t.same((await operator('GET', '/api/rules/state?site=2')).data, { version: 'none', fronts: [] })
  t.same((await owner.ask('POST', '/api/rules/resume', { site: 1 })).data, { version: 'none', fronts: [] })
  await operator('DELETE', '/api/rules/2')
  await operator('DELETE', '/api/rules/1')
  t.same((await notes()).slice(2), [
    ['2026-11-21T13:00:00.000Z', 'rules_paused', 'Rules were paused', { paused: true }],
    ['2026-11-21T14:00:00.000Z', 'rules_paused', 'Rules are active again', { paused: false }],
    [
      ...['2026-11-21T14:00:00.000Z', 'rule_changed', 'Rule “Second” was deleted'],
      { rule: 2, name: 'Second', state: 'off', before: { state: 'on' } },
    ],
  ])
  t.match(await operator('POST', '/api/rules/pause', { site: 99 }), { status: 404, error: { field: 'site' } })
  t.match(await operator('POST', '/api/rules/pause', {}), { status: 422, error: { field: 'site' } })
})

t.test('a site has at most 1,000 rules, and deleting the site deletes them', async (t) => {
  const { operator, records, rules } = await openTenants(t)
  await operator('POST', '/api/rules', { ...RULE, site: 2 })
  const { sql } = await import('../../src/storage/sql.js')
  await records.write(
    sql`insert into rules select 10 + n, site, concat(name, cast(n as varchar)), version, 1 + n, definition, changed_at,
      changed_by
      from rules, generate_series(1, 999) as numbers(n)`,
  )
  rules.invalidate()
  t.match(await operator('POST', '/api/rules', { ...RULE, site: 2, name: 'one more' }), {
    ...{ status: 409, error: { message: 'A site can have at most 1000 rules.' } },
  })
  t.equal((await operator('PATCH', '/api/rules/1', { position: 1000 })).data.position, 1000)
  await operator('DELETE', '/api/sites/2')
  t.same(await records.query(sql`select count(*) as n from rules`), [{ n: 0 }])
})
