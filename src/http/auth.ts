import { ApiError } from '../errors.js'
import type { AuditActor, AuditContext } from '../manage/audit.js'
import type { Key, Keys, Scope } from '../manage/keys.js'
import type { People, Person } from '../manage/people.js'
import { includesRole, type Role } from '../manage/roles.js'
import type { Site } from '../manage/sites.js'
import { isProvenSameOrigin } from './same-origin.js'
import { readSessionToken } from './session-cookie.js'
import type { ShareAccess, ShareGrant } from './share/access.js'

/**
 * Who asks: anyone at all, the operator through the control socket, the holder of an API key, somebody who is signed in,
 * who has a share's address, or whose signature says of which site, which only who reads the body can check.
 */
export type Principal =
  | { kind: 'anyone' }
  | { kind: 'operator' }
  | { kind: 'key'; key: Key }
  | ({ kind: 'person' } & Person)
  | { kind: 'share'; share: ShareGrant }
  | { kind: 'signer' }

/** What a route asks of its caller (spec 5): by which credentials it is reached, and in which role. */
interface Requirement {
  /** Of an API key; absent: none opens it, whatever its scopes (spec 5.3 rules 3 and 4). */
  readonly scope?: Scope
  /** Of a person, in the organisation that it is about; absent with `person`: any, of none too. */
  readonly role?: Role
  /** Who is signed in may call it. */
  readonly person?: true
  /** A share may open it, where its scopes say so. */
  readonly share?: true
}

const ACCESS = {
  public: {},
  /** Anybody, to become somebody: a key is refused outright (spec 5.3 rule 4). */
  sign_in: {},
  'stats:read': { scope: 'stats:read', person: true, role: 'viewer', share: true },
  'manage:read': { scope: 'manage:read', person: true, role: 'viewer' },
  'manage:write': { scope: 'manage:write', person: true, role: 'member' },
  /** A signature by a site's ingest key, or else the scope. */
  signed: { scope: 'ingest:write' },
  /** Whoever is signed in: about themselves. */
  person: { person: true },
  viewer: { person: true, role: 'viewer' },
  admin: { person: true, role: 'admin' },
  owner: { person: true, role: 'owner' },
  operator: {},
} as const satisfies Record<string, Requirement>
export type Access = keyof typeof ACCESS

/** Whether a route needs no credential. */
export const isUnauthenticated = (access: Access): boolean => access === 'public' || access === 'sign_in'

const requirementOf = (access: Access): Requirement => ACCESS[access]

/** Whether there are API keys that open a route. */
export const acceptsApiKeys = (access: Access): boolean => requirementOf(access).scope !== undefined

/** The kinds of credentials that open a route, as the API's document calls them; none of what is open or the operator's. */
export function credentialKinds(access: Access): string[] {
  const { scope, person, share } = requirementOf(access)
  return [
    ...(access === 'signed' ? ['ingest_signature'] : []),
    ...(scope ? ['api_key'] : []),
    ...(person ? ['session'] : []),
    ...(share ? ['share'] : []),
  ]
}

/** Where credentials are looked up. A kind that is absent is unknown here. */
export interface Credentials {
  readonly keys: Pick<Keys, 'authenticate' | 'isActive'>
  readonly people?: People
  readonly shares?: Pick<ShareAccess, 'authenticate'>
}

/** What a request brings that says who asks. */
export interface Caller {
  readonly operator: boolean
  readonly request: Request
  /** Words of its query string. */
  readonly share: string | null
}

/** The header of an ingest signature (spec 5.6 rule 2). */
export const SIGNATURE_HEADER = 'x-service-signature'

/**
 * Lets the caller in or throws: `unauthorized` without a valid credential, `forbidden` without the scope or the role,
 * `not_found` for what only the control socket has (spec 5.2, 5.3, 5.7). Of the credentials one counts: the operator's,
 * a signature where one is asked for, a share's word, an API key, the session.
 */
export async function authorize(access: Access, caller: Caller, credentials: Credentials): Promise<Principal> {
  if (caller.operator) return { kind: 'operator' }
  if (access === 'public') return { kind: 'anyone' }
  if (access === 'operator') throw new ApiError('not_found', 'There is nothing here.')
  const { headers } = caller.request
  const authorization = headers.get('authorization')
  if (access === 'sign_in') {
    // Another scheme may be for who stands before this service.
    if (authorization !== null && /^Bearer /i.test(authorization))
      await authenticateKey(authorization, {}, credentials.keys)
    return { kind: 'anyone' }
  }
  // The signature counts where both are there: `Authorization` may be for somebody on the way.
  if (access === 'signed' && headers.has(SIGNATURE_HEADER)) return { kind: 'signer' }
  const asked = requirementOf(access)
  if (caller.share !== null && credentials.shares) {
    const share = await credentials.shares.authenticate(caller.share)
    if (!asked.share || caller.request.method !== 'GET' || !share.allowsUrl(new URL(caller.request.url)))
      throw new ApiError('forbidden', 'This link does not show that.')
    return { kind: 'share', share }
  }
  if (authorization !== null) return { kind: 'key', key: await authenticateKey(authorization, asked, credentials.keys) }
  const token = readSessionToken(headers.get('cookie'))
  if (token === undefined || !credentials.people || !asked.person)
    throw new ApiError('unauthorized', 'Send an API key, Authorization: Bearer svcg_..., or sign in.')
  const person = await credentials.people.authenticate(token)
  if (!isProvenSameOrigin(caller.request))
    throw new ApiError('forbidden', 'A page of another origin cannot do this in your name.')
  const { role } = asked
  // What it is about may be in an organisation of another role: that is seen when it is known.
  if (role !== undefined && ![...person.roles.values()].some((mine) => includesRole(mine, role)))
    throw new ApiError('forbidden', `This takes the role ${role}.`)
  return { kind: 'person', ...person }
}

async function authenticateKey(authorization: string, { scope }: Requirement, keys: Credentials['keys']): Promise<Key> {
  const secret = /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1]
  if (secret === undefined)
    throw new ApiError('unauthorized', 'Send an API key, Authorization: Bearer svcg_..., or sign in.')
  const key = await keys.authenticate(secret)
  if (scope === undefined) throw new ApiError('forbidden', 'An API key cannot do this; somebody signs in for it.')
  if (!key.scopes.includes(scope)) throw new ApiError('forbidden', `The API key lacks the scope ${scope}.`)
  return key
}

/** A caller who was let in, and by which line of the route table. */
export interface Grant {
  readonly principal: Principal
  readonly access: Access
}

/**
 * Whether an organisation's things are there for the caller at all (spec 5.3 rule 1); throws `forbidden` for one of its
 * members whose role is too small for the route.
 */
export function canReachOrg({ principal, access }: Grant, org: number): boolean {
  if (principal.kind === 'operator') return true
  if (principal.kind === 'key') return principal.key.org === org && principal.key.site === undefined
  if (principal.kind !== 'person') return false
  const mine = principal.roles.get(org)
  if (mine === undefined) return false
  if (principal.locked.has(org))
    throw new ApiError('forbidden', 'The organisation asks for two-factor sign-in: set it up for your account first.')
  const needed = requirementOf(access).role
  if (needed !== undefined && !includesRole(mine, needed))
    throw new ApiError('forbidden', `This takes the role ${needed}.`)
  return true
}

/** As `reachesOrg`, of one site: a key may be bound to another, a share always is to one. */
export function canReachSite(admitted: Grant, site: Pick<Site, 'id' | 'org'>): boolean {
  const { principal } = admitted
  if (principal.kind === 'share') return principal.share.site === site.id
  if (principal.kind === 'key') return principal.key.org === site.org && (principal.key.site ?? site.id) === site.id
  return canReachOrg(admitted, site.org)
}

/** Whose name a write is logged under. */
function auditActor({ principal, ip }: { principal: Principal; ip: string }): AuditActor {
  const from = ip === '' ? {} : { ip }
  if (principal.kind === 'person') return { kind: 'user', name: principal.user.email, ...from }
  if (principal.kind === 'key') return { kind: 'key', name: principal.key.prefix, ...from }
  return { kind: 'operator', name: 'operator', ...from }
}

/** What a write of this call is told, for the log of an organisation. */
export const auditContext = (call: { principal: Principal; ip: string; at: Date }, org: number): AuditContext => ({
  by: auditActor(call),
  org,
  at: call.at,
})
