import t from 'tap'
import type { AutomaticNote } from '../../src/manage/annotations.js'
import { sql } from '../../src/storage/sql.js'
import { openTenants } from '../fixtures/tenants.js'

const NOW = '2026-11-21T10:00:00.000Z'
const NOTE = { site: 1, at: '2026-11-14T10:30:00+01:00', text: ' Newsletter 12 sent ' }
const CAUSE = 'policy_changed:one.example/robots.txt:2026-11-15'
const CHANGED: AutomaticNote & { text: string } = {
  ...{ site: 1, cause: CAUSE, kind: 'policy_changed', at: new Date('2026-11-15T00:00:00Z') },
  ...{ text: 'robots.txt of one.example changed', data: { hostname: 'one.example', file: '/robots.txt' } },
}
const days = (n: number) => new Date(Date.parse(NOW) - n * 86_400_000)

t.test('notes can be written, read, changed and deleted, and say who wrote them', async (t) => {
  const { person, operator, bearer, keys, audit, users, records } = await openTenants(t)
  const [member, viewer, other] = [
    await person({ 1: 'member' }),
    await person({ 1: 'viewer' }),
    await person({ 2: 'owner' }),
  ]
  const created = await member.ask('POST', '/api/annotations', NOTE)
  const note = {
    ...{ id: 1, version: 1, site: 1, at: '2026-11-14T09:30:00.000Z', text: 'Newsletter 12 sent' },
    ...{ by: member.email, kind: 'note' },
  }
  t.strictSame([created.status, created.data, created.etag], [201, note, '"1"'])
  t.strictSame((await viewer.ask('GET', '/api/annotations?site=1')).data, [note])
  t.strictSame((await viewer.ask('GET', '/api/annotations/1')).data, note)
  t.equal((await member.ask('POST', '/api/annotations', NOTE)).data.id, 2, 'two notes may be equal')
  const { secret, prefix } = await keys.create(
    { org: 1, name: 'x', scopes: ['manage:read', 'manage:write'] },
    { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date(NOW) },
  )
  const key = bearer(secret)
  t.equal((await key('POST', '/api/annotations', { ...NOTE, text: 'Released' })).data.by, prefix)

  const moved = await operator('PATCH', '/api/annotations/1', { at: '2026-11-14T08:00:00Z' }, { 'if-match': '"1"' })
  t.strictSame(moved.data, { ...note, version: 2, at: '2026-11-14T08:00:00.000Z' }, 'a new time, the same author')
  const rewritten = await operator('PATCH', '/api/annotations/1', { text: 'Newsletter 13 sent' })
  t.match(rewritten.data, { version: 3, text: 'Newsletter 13 sent', by: 'operator', at: '2026-11-14T08:00:00.000Z' })
  t.equal((await operator('PATCH', '/api/annotations/1', { text: 'x' }, { 'if-match': '"2"' })).status, 409)

  const rows: [who: typeof viewer.ask, method: string, path: string, body: unknown, status: number, why: string][] = [
    [viewer.ask, 'POST', '/api/annotations', NOTE, 403, 'a viewer does not write'],
    [viewer.ask, 'PATCH', '/api/annotations/1', { text: 'x' }, 403, 'nor change'],
    [viewer.ask, 'DELETE', '/api/annotations/1', undefined, 403, 'nor delete'],
    [other.ask, 'GET', '/api/annotations?site=1', undefined, 404, 'another organisation'],
    [other.ask, 'GET', '/api/annotations/1', undefined, 404, 'its note looks like none'],
    [other.ask, 'PATCH', '/api/annotations/1', { text: 'x' }, 404, 'to a writer too'],
    [other.ask, 'POST', '/api/annotations', NOTE, 404, 'no note on its time line'],
    [member.ask, 'DELETE', '/api/annotations/2', undefined, 204, 'a member deletes'],
    [member.ask, 'GET', '/api/annotations/2', undefined, 404, 'it is gone'],
  ]
  for (const [ask, method, path, body, status, why] of rows)
    t.equal((await ask(method, path, body)).status, status, why)
  const { entries } = await audit.list({ org: 1, limit: 50, page: 1, object: 'annotation' })
  t.same(
    entries.map(({ action, actor, object_id }) => `${actor} ${action} ${object_id}`),
    [
      `${member.email} delete 2`,
      'operator change 1',
      'operator change 1',
      `${prefix} create 3`,
      `${member.email} create 2`,
      `${member.email} create 1`,
    ],
    'in the audit log, newest first',
  )

  const { id } = (await member.ask('POST', '/api/annotations', NOTE)).data
  const author = async () => {
    users.invalidate()
    return (await operator('GET', `/api/annotations/${id}`)).data.by
  }
  await records.write(sql`update users set email = 'new@x.example' where id = ${member.id}`)
  t.equal(await author(), 'new@x.example', 'the address of the account as it is now')
  await records.write(sql`delete from users where id = ${member.id}`)
  t.equal(await author(), 'deleted account', 'a deleted account leaves no address')
})

t.test('a list has the notes of its window, the earliest first', async (t) => {
  const { operator } = await openTenants(t)
  await operator('PATCH', '/api/sites/1', { timezone: 'Pacific/Auckland' })
  // Auckland is 13 hours ahead in November: its 15th begins at 11:00 on the 14th.
  const times = ['2026-11-14T11:00:00Z', '2026-11-14T10:59:59Z', '2026-11-15T10:59:59Z', '2026-11-15T11:00:00Z']
  for (const [i, at] of times.entries()) await operator('POST', '/api/annotations', { site: 1, at, text: String(i) })
  await operator('POST', '/api/annotations', { site: 2, at: times[0], text: 'other' })
  const rows: [query: string, texts: string, why: string][] = [
    ['', '1 0 2 3', 'all'],
    ['&start=2026-11-15&end=2026-11-15', '0 2', "a day is the site's"],
    ['&start=2026-11-15', '0 2 3', 'no end'],
    ['&end=2026-11-14T11:00:00.000Z', '1', 'an end is exclusive'],
    ['&start=2026-11-14T11:00:00Z&end=2026-11-16T00:00:00%2B13:00', '0 2', 'a start is inclusive'],
    ['&start=2027-01-01', '', 'none'],
    ['&start=2026-11-14T11:00:00Z&end=2026-11-14T11:00:00Z', '', 'no time'],
  ]
  for (const [query, texts, why] of rows) {
    const { data, meta } = await operator('GET', `/api/annotations?site=1${query}`)
    t.equal(data.map(({ text }: { text: string }) => text).join(' '), texts, why)
    t.same(meta, { total: data.length })
  }
  const backwards: [query: string, why: string][] = [
    ['&start=2026-11-16&end=2026-11-15', 'days'],
    ['&start=2026-11-15T11:00:00Z&end=2026-11-15', "the end of the site's day"],
    ['&start=2026-11-14T11:00:01Z&end=2026-11-14T11:00:00Z', 'instants'],
  ]
  for (const [query, why] of backwards) {
    const { status, error } = await operator('GET', `/api/annotations?site=1${query}`)
    t.same(
      [status, error],
      [422, { code: 'validation_error', message: 'start must not be after end.', field: 'start' }],
      `${why}: as for every read`,
    )
  }
})

t.test("a note of a day is at the day's first instant in the site's time zone", async (t) => {
  const { operator } = await openTenants(t)
  await operator('PATCH', '/api/sites/1', { timezone: 'Pacific/Auckland' })
  const rows: [at: string, stored: string, why: string][] = [
    ['2026-11-15', '2026-11-14T11:00:00.000Z', '13 hours ahead in summer'],
    ['2026-06-15', '2026-06-14T12:00:00.000Z', '12 hours ahead in winter'],
    ['2026-11-15T00:00:00+01:00', '2026-11-14T23:00:00.000Z', 'an instant is its own'],
  ]
  for (const [at, stored, why] of rows) {
    const { status, data } = await operator('POST', '/api/annotations', { site: 1, at, text: 'x' })
    t.strictSame([status, data.at], [201, stored], why)
  }
  const moved = await operator('PATCH', '/api/annotations/3', { at: '2026-11-16' })
  t.equal(moved.data.at, '2026-11-15T11:00:00.000Z', 'a change')
  const unclear: [at: string, message: RegExp][] = [
    ['2026-11-31', /^`at` the day 2026-11-31 does not exist; must be/],
    ['2026-11-14T10:00:00', /^`at` has no time zone; write 2026-11-14T10:00:00Z for UTC/],
    ['yesterday', /^`at` must be an ISO-8601 instant such as .*, or a day such as 2026-11-21, from 1970 to 2199\.$/],
  ]
  for (const [at, message] of unclear)
    t.match(await operator('POST', '/api/annotations', { site: 1, at, text: 'x' }), {
      status: 422,
      error: { field: 'at', message },
    })
  t.match(await operator('POST', '/api/annotations', { site: 99, at: '2026-11-15', text: 'x' }), {
    status: 404,
    error: { field: 'site' },
  })
})

t.test('malformed notes are refused with the field', async (t) => {
  const { operator, logged } = await openTenants(t)
  await operator('POST', '/api/annotations', NOTE)
  const rows: [field: string, value: unknown, why: string][] = [
    ['text', '', 'empty'],
    ['text', ' \t', 'nothing but spaces'],
    ['text', 'x'.repeat(501), 'too long'],
    ['text', 'a\nb', 'two lines'],
    ['text', 'a\u001b[2J', 'an escape'],
    ['text', 'a\u202eb', 'text turned round'],
    ['text', 7, 'no text'],
    ['at', 'yesterday', 'no instant'],
    ['at', '2026-02-30', 'a day that does not exist'],
    ['at', '2026-11-14T10:00:00', 'no zone'],
    ['at', 1_700_000_000_000, 'a number'],
    ['kind', 'deployment', 'readership alone writes other kinds'],
    ['by', 'readership', 'the author is the caller'],
    ['data', {}, 'no facts of its own'],
  ]
  for (const [field, value, why] of rows)
    for (const [method, path, body] of [
      ['POST', '/api/annotations', NOTE],
      ['PATCH', '/api/annotations/1', {}],
    ] as const) {
      const { status, error } = await operator(method, path, { ...body, [field]: value })
      t.strictSame([status, error?.field], [422, field], `${method}: ${why}`)
    }
  t.match(await operator('PATCH', '/api/annotations/1', { site: 2 }), { status: 422, error: { field: 'site' } })
  t.match(await operator('GET', '/api/annotations?site=1&start=x'), { status: 422, error: { field: 'start' } })
  const hostile = `<script>alert(1)</script> =1+1 ${'😀'.repeat(200)}`
  t.equal(
    (await operator('POST', '/api/annotations', { ...NOTE, text: hostile })).data.text,
    hostile,
    'any line of text',
  )
  t.same(logged, [])
})

t.test('an automatic note is written once, also if it was deleted or changed since', async (t) => {
  const { operator, annotations, person } = await openTenants(t)
  const list = async () => (await operator('GET', '/api/annotations?site=1')).data
  await annotations.addAutomatic([CHANGED, CHANGED])
  await annotations.addAutomatic([CHANGED, { ...CHANGED, site: 2 }])
  const note = {
    ...{ id: 1, version: 1, site: 1, at: '2026-11-15T00:00:00.000Z', text: CHANGED.text, by: 'readership' },
    ...{ kind: 'policy_changed', data: CHANGED.data },
  }
  t.strictSame(await list(), [note])
  await annotations.updateAutomatic({ ...CHANGED, text: 'Changed twice', data: { status: 404 } })
  t.strictSame(await list(), [{ ...note, text: 'Changed twice', data: { status: 404 } }])
  const member = await person({ 1: 'member' })
  await member.ask('PATCH', '/api/annotations/1', { text: 'We closed the shop' })
  await annotations.updateAutomatic({ ...CHANGED, data: { status: 410 } })
  const changed = { ...note, version: 2, text: 'We closed the shop', by: member.email, data: { status: 410 } }
  t.strictSame(await list(), [changed], "a person's text stays")
  await member.ask('DELETE', '/api/annotations/1')
  await annotations.addAutomatic([CHANGED])
  await annotations.updateAutomatic(CHANGED)
  t.strictSame(await list(), [], 'deleted for good')
  const { text: _, ...silent } = CHANGED
  await annotations.addAutomatic([{ ...silent, cause: 'first_visit:gptbot' }])
  await annotations.addAutomatic([{ ...CHANGED, cause: 'first_visit:gptbot' }])
  t.strictSame(await list(), [], 'without a text, a cause is only remembered')
})

t.test('there are at most a thousand by hand and a thousand automatic ones', async (t) => {
  const { operator, annotations, records, cleanUp } = await openTenants(t)
  await records.write(
    sql`insert into annotations (id, site, name, version, happened_at, kind, author, cause)
      select i, 1, 'n', 1, ${days(0)} - i * interval '1 minute', 'note', 'operator', null from generate_series(1, 999) numbers (i)`,
    sql`insert into annotations (id, site, name, version, happened_at, kind, author, cause)
      select i, 1, 'n', 1, ${days(0)} - i * interval '1 minute', 'deployment', 'readership', 'deployment:' || i
      from generate_series(2001, 3005) numbers (i)`,
    sql`update last_ids set id = 4000 where kind = 'annotations'`,
  )
  annotations.invalidate()
  t.equal((await operator('POST', '/api/annotations', NOTE)).status, 201, 'the thousandth; others do not count')
  t.match(await operator('POST', '/api/annotations', NOTE), { status: 409, error: { code: 'conflict' } })
  await cleanUp()
  const left = (await annotations.list(1)).map(({ id }) => id)
  t.equal(left.length, 2_000)
  t.same([Math.max(...left.filter((id) => id < 4000)), left.includes(4001)], [3_000, true], 'the oldest five are gone')
})

t.test('old automatic notes go with the rows of their time, and all of them with their site', async (t) => {
  const { operator, annotations, sites, records, cleanUp } = await openTenants(t)
  const by = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date(NOW) } as const
  await sites.change(1, { retention_days: 30 }, by)
  const automatic = (site: number, age: number, cause = `deployment:${age}`) => ({
    ...CHANGED,
    ...{ site, cause, at: days(age), text: `${age}` },
  })
  await annotations.addAutomatic([
    ...[automatic(1, 29), automatic(1, 31), automatic(1, 500), automatic(1, 501, 'first_visit:gptbot')],
    automatic(2, 500),
  ])
  await operator('POST', '/api/annotations', { ...NOTE, at: days(500).toISOString(), text: 'by hand' })
  await cleanUp()
  const texts = async (site: number) => (await annotations.list(site)).map(({ name }) => name)
  t.strictSame([await texts(1), await texts(2)], [['29', 'by hand'], ['500']], 'site 2 keeps its rows')
  await annotations.addAutomatic([automatic(1, 31), automatic(1, 501, 'first_visit:gptbot')])
  t.strictSame(await texts(1), ['29', 'by hand'], 'what is deleted does not come back')
  const causes = async () =>
    (await records.query(sql`select cause from annotation_causes order by cause`)).map(({ cause }) => cause)
  t.strictSame(await causes(), ['deployment:29', 'deployment:31', 'first_visit:gptbot'], 'causes of 400 days')
  await sites.delete(1, by)
  annotations.invalidate()
  t.strictSame([await texts(1), await causes()], [[], []])
})
