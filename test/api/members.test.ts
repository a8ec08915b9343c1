import t from 'tap'
import { canAssignRole, ROLES, type Role } from '../../src/manage/roles.js'
import { sql } from '../../src/storage/sql.js'
import { openTenants } from '../fixtures/tenants.js'

const M = { owner: 'o', admin: 'a', member: 'm', viewer: 'v' } as const

/**
 * The rights of each role over another member: by the member's role, the letters of the roles it may become, `-` for removed.
 * Written by hand from the rules: an admin decides about all members but owners, and no member grants more than they have.
 */
const OTHERS: Record<Role, Record<Role, string>> = {
  owner: { owner: 'oamv-', admin: 'oamv-', member: 'oamv-', viewer: 'oamv-' },
  admin: { owner: '', admin: 'amv-', member: 'amv-', viewer: 'amv-' },
  member: { owner: '', admin: '', member: '', viewer: '' },
  viewer: { owner: '', admin: '', member: '', viewer: '' },
}
/** The same for members about themselves. */
const SELF: Record<Role, string> = { owner: 'oamv-', admin: 'amv-', member: 'mv-', viewer: 'v-' }

t.test('each role may change each other role as the table says', async (t) => {
  for (const actor of ROLES)
    for (const from of ROLES)
      for (const to of [...ROLES, undefined]) {
        const letter = to === undefined ? '-' : M[to]
        t.equal(
          canAssignRole(actor, false, from, to),
          OTHERS[actor][from].includes(letter),
          `${actor}: ${from} to ${to}`,
        )
      }
  for (const actor of ROLES)
    for (const to of [...ROLES, undefined])
      t.equal(
        canAssignRole(actor, true, actor, to),
        SELF[actor].includes(to === undefined ? '-' : M[to]),
        `${actor} ${to}`,
      )
})

t.test('the same rules hold through the API', async (t) => {
  const { person, records, members } = await openTenants(t)
  await person({ 1: 'owner' })
  const actors = {
    owner: await person({ 1: 'owner' }),
    admin: await person({ 1: 'admin' }),
    member: await person({ 1: 'member' }),
    viewer: await person({ 1: 'viewer' }),
  }
  const whom = await person({})
  const path = `/api/orgs/1/members/${whom.id}`
  for (const actor of ROLES)
    for (const from of ROLES) {
      await records.write(
        sql`delete from members where user_id = ${whom.id}`,
        sql`insert into members values (1, ${whom.id}, ${from}, ${new Date()})`,
      )
      members.invalidate()
      for (const to of ['owner', from === 'viewer' ? 'member' : 'viewer', undefined] as const) {
        const now = (await members.ofUser(whom.id))[0]?.role ?? 'viewer'
        const { ask } = actors[actor]
        const said = await (to === undefined ? ask('DELETE', path) : ask('PATCH', path, { role: to }))
        const may = OTHERS[actor][now].includes(to === undefined ? '-' : M[to])
        t.equal(said.status, may ? (to === undefined ? 204 : 200) : 403, `${actor}: ${now} to ${to}`)
        if (may && to !== undefined) t.match(said.data, { user: whom.id, email: whom.email, role: to })
        t.equal((await members.ofUser(whom.id))[0]?.role, may ? to : now, 'and so it is')
      }
    }
})

t.test('members may lower their own role, or leave', async (t) => {
  const { person } = await openTenants(t)
  await person({ 1: 'owner' })
  const cases: [Role, Role | undefined, number, string][] = [
    ['owner', 'viewer', 200, 'down, while another owner is there'],
    ['owner', undefined, 204, 'leaves'],
    ['admin', 'owner', 403, 'up'],
    ['admin', 'member', 200, 'down'],
    ['admin', undefined, 204, 'leaves'],
    ['member', 'owner', 403, 'up'],
    ['member', 'viewer', 403, 'the route takes an admin'],
    ['member', undefined, 204, 'leaves'],
    ['viewer', 'admin', 403, 'up'],
    ['viewer', undefined, 204, 'leaves'],
  ]
  for (const [from, to, status, why] of cases) {
    const { id, ask } = await person({ 1: from })
    const path = `/api/orgs/1/members/${id}`
    const said = await (to === undefined ? ask('DELETE', path) : ask('PATCH', path, { role: to }))
    t.equal(said.status, status, `${from} to ${to}: ${why}`)
    if (said.status === 204) {
      t.equal((await ask('GET', '/api/orgs/1')).status, 403, 'from the next request on they are no longer a member')
      t.equal((await ask('GET', '/api/orgs')).meta?.total, 0)
    }
  }
})

t.test('the last owner cannot leave', async (t) => {
  const { person, operator } = await openTenants(t)
  const last = await person({ 1: 'owner' })
  const other = await person({ 1: 'member' })
  const mine = `/api/orgs/1/members/${last.id}`
  for (const [ask, who] of [
    [last.ask, 'the owner'],
    [operator, 'the operator'],
  ] as const) {
    t.match(await ask('PATCH', mine, { role: 'admin' }), { status: 409, error: { code: 'conflict' } }, who)
    t.equal((await ask('DELETE', mine)).status, 409, who)
    for (const body of [{ role: 'owner' }, {}])
      t.match(await ask('PATCH', mine, body), { status: 200, data: { role: 'owner' } }, 'what they are they may be')
    t.match(await ask('PATCH', mine, { role: null }), { status: 422, error: { field: 'role' } }, 'and not nothing')
  }
  // Two owners leave at the same moment: one stays.
  await last.ask('PATCH', `/api/orgs/1/members/${other.id}`, { role: 'owner' })
  const both = await Promise.all([last.ask('DELETE', mine), other.ask('DELETE', `/api/orgs/1/members/${other.id}`)])
  t.same(both.map(({ status }) => status).toSorted(), [204, 409])
})

t.test('of two admins who demote each other at the same moment one succeeds', async (t) => {
  const { person } = await openTenants(t)
  const [a, b] = [await person({ 1: 'admin' }), await person({ 1: 'admin' })]
  const both = await Promise.all([
    a.ask('PATCH', `/api/orgs/1/members/${b.id}`, { role: 'viewer' }),
    b.ask('PATCH', `/api/orgs/1/members/${a.id}`, { role: 'viewer' }),
  ])
  t.same(both.map(({ status }) => status).toSorted(), [200, 403])
})

t.test('an invitation by a member who is removed or demoted meanwhile has no effect', async (t) => {
  const { person, invitations, members } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const [gone, less] = [await person({ 1: 'admin' }), await person({ 1: 'admin' })]
  const inviting = (one: typeof gone) =>
    one.ask('POST', '/api/orgs/1/invitations', { email: `of${one.id}@x.example`, role: 'admin' })
  // Both are authorised before; the order of their writes does not matter.
  await Promise.all([
    owner.ask('DELETE', `/api/orgs/1/members/${gone.id}`),
    owner.ask('PATCH', `/api/orgs/1/members/${less.id}`, { role: 'viewer' }),
    inviting(gone),
    inviting(less),
  ])
  t.strictSame(await invitations.list(1), [])
  for (const { id, email } of [gone, less]) {
    const late = { by: { kind: 'user', name: email }, org: 1, at: new Date('2026-11-21T10:00:00.000Z') } as const
    await t.rejects(invitations.create(1, { email: 'x@x.example', role: 'viewer' }, id, late), { code: 'forbidden' })
  }

  // The caller was authorised under the previous address.
  const moved = await person({ 1: 'admin' })
  const by = { kind: 'user', name: 'before@x.example' } as const
  const asked = { email: 'friend@x.example', role: 'admin' } as const
  await invitations.create(1, asked, moved.id, { by, org: 1, at: new Date('2026-11-21T10:00:00.000Z') })
  t.equal((await owner.ask('DELETE', `/api/orgs/1/members/${moved.id}`)).status, 204)
  t.strictSame(await invitations.list(1), [])

  // The removal names the address of the time of the request.
  const again = await person({ 1: 'admin' })
  t.equal((await inviting(again)).status, 201)
  await members.remove(1, { user: again.id, email: by.name }, owner.id, { by, org: 1, at: new Date() })
  t.strictSame(await invitations.list(1), [])
})

t.test('ownership can be transferred', async (t) => {
  const { person, audit } = await openTenants(t)
  const owner = await person({ 1: 'owner', 2: 'viewer' })
  const admin = await person({ 1: 'admin' })
  const heir = await person({ 1: 'viewer' })
  const stranger = await person({ 2: 'owner' })
  const path = '/api/orgs/1/transfer'
  for (const [ask, body, status, why] of [
    [admin.ask, { user: heir.id }, 403, 'an admin cannot transfer ownership'],
    [stranger.ask, { user: heir.id }, 404, 'an owner of another organisation'],
    [owner.ask, { user: owner.id }, 422, 'to oneself'],
    [owner.ask, { user: stranger.id }, 404, 'no member'],
    [owner.ask, { user: 999 }, 404, 'an unknown person'],
    [owner.ask, { user: '2' }, 422, 'no number'],
    [owner.ask, {}, 422, 'no heir'],
    [owner.ask, { user: heir.id, role: 'admin' }, 422, 'more than is asked'],
  ] as const)
    t.equal((await ask('POST', path, body)).status, status, why)
  t.match(await owner.ask('POST', path, { user: heir.id }), { status: 200, data: { user: heir.id, role: 'owner' } })
  const { data } = await heir.ask('GET', '/api/orgs/1/members')
  t.same(
    data.map(({ user, role }: { user: number; role: string }) => [user, role]),
    [
      [owner.id, 'admin'],
      [admin.id, 'admin'],
      [heir.id, 'owner'],
    ],
  )
  t.equal((await owner.ask('POST', path, { user: owner.id })).status, 403, 'it is given')
  const { entries } = await audit.list({ org: 1, limit: 1, page: 1 })
  t.match(entries, [
    {
      ...{ actor_kind: 'user', actor: owner.email, action: 'transfer', object: 'organisation', object_id: '1' },
      ...{ ip: '203.0.113.7', details: { user: heir.id, email: heir.email, before: 'viewer' } },
    },
  ])
})

t.test('API keys and other organisations are refused', async (t) => {
  const { person, keys, bearer } = await openTenants(t)
  const owner = await person({ 1: 'owner' })
  const { ask } = await person({ 2: 'owner' })
  const deed = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date() } as const
  const { secret } = await keys.create({ org: 1, name: 'x', scopes: ['manage:write', 'manage:read'] }, deed)
  const routes: [method: string, path: string, body?: object][] = [
    ['GET', '/api/orgs/N'],
    ['PATCH', '/api/orgs/N', { name: 'x' }],
    ['DELETE', '/api/orgs/N'],
    ['POST', '/api/orgs/N/restore'],
    ['GET', '/api/orgs/N/members'],
    ['PATCH', `/api/orgs/N/members/${owner.id}`, { role: 'viewer' }],
    ['DELETE', `/api/orgs/N/members/${owner.id}`],
    ['POST', '/api/orgs/N/transfer', { user: owner.id }],
    ['GET', '/api/orgs/N/invitations'],
    ['POST', '/api/orgs/N/invitations', { email: 'a@b.example', role: 'viewer' }],
    ['DELETE', '/api/orgs/N/invitations/1'],
    ['GET', '/api/orgs/N/audit'],
  ]
  for (const [method, path, body] of routes) {
    const theirs = await ask(method, path.replace('N', '1'), body)
    const nowhere = await ask(method, path.replace('N', '999'), body)
    t.equal(theirs.status, 404, `${method} ${path}`)
    t.equal(theirs.text, nowhere.text, 'the same bytes as for an unknown organisation')
    t.equal((await bearer(secret)(method, path.replace('N', '1'), body)).status, 403, 'whatever its scopes')
  }
})
