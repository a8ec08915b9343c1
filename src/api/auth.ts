import { ApiError } from '../base/errors.js'
import type { AuditActor, AuditContext } from '../manage/audit.js'
import type { Key, Keys, Scope } from '../manage/keys.js'
import type { People, Person } from '../manage/people.js'
import { includesRole, type Role } from '../manage/roles.js'
import type { ManagedSite } from '../manage/sites.js'
import { isProvenSameOrigin, readSessionToken } from './session-cookie.js'
import type { ShareAccess, ShareGrant } from './share/access.js'

/**
 * The caller. `anyone` has shown no credential; `operator` comes through the control socket; `signer` has sent an ingest
 * signature, which can only be checked with the body.
 */
export type Principal =
  | { kind: 'anyone' }
  | { kind: 'operator' }
  | { kind: 'key'; key: Key }
  | ({ kind: 'person' } & Person)
  | { kind: 'share'; share: ShareGrant }
  | { kind: 'signer' }

/** The credentials and the role that an access level accepts. */
interface Requirement {
  /** The scope that an API key needs; if absent, no key is accepted, whatever its scopes. */
  readonly scope?: Scope
  /** The role that a person needs in the organisation of the resource; if absent, no membership is needed. */
  readonly role?: Role
  /** Accepts the session of a signed-in person. */
  readonly person?: true
  /** Accepts a share link whose scopes include the route. */
  readonly share?: true
}

const ACCESS = {
  public: {},
  /** Needs no credential; an API key is refused, because keys never sign in. */
  sign_in: {},
  'stats:read': { scope: 'stats:read', person: true, role: 'viewer', share: true },
  'manage:read': { scope: 'manage:read', person: true, role: 'viewer' },
  'manage:write': { scope: 'manage:write', person: true, role: 'member' },
  /** An ingest signature, or a key with the scope. */
  signed: { scope: 'ingest:write' },
  /** Any signed-in person, for routes about themselves. */
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

/** Whether some API key can open a route. */
export const acceptsApiKeys = (access: Access): boolean => requirementOf(access).scope !== undefined

/** Lists the credentials that open a route, by their names in the API document; none for open and operator routes. */
export function credentialKinds(access: Access): string[] {
  const { scope, person, share } = requirementOf(access)
  return [
    ...(access === 'signed' ? ['ingest_signature'] : []),
    ...(scope ? ['api_key'] : []),
    ...(person ? ['session'] : []),
    ...(share ? ['share'] : []),
  ]
}

/** Looks credentials up. Kinds that are absent are unknown to this service. */
export interface Credentials {
  readonly keys: Pick<Keys, 'authenticate' | 'isActive'>
  readonly people?: People
  readonly shares?: Pick<ShareAccess, 'authenticate'>
}

/** The parts of a request that identify the caller. */
export interface Caller {
  readonly operator: boolean
  readonly request: Request
  /** The query parameter `share`. */
  readonly share: string | null
}

/** The header of an ingest signature. */
export const SIGNATURE_HEADER = 'x-service-signature'

/**
 * Identifies the caller and checks access. Throws `unauthorized` without a valid credential, `forbidden` without the scope
 * or role, and `not_found` for routes that only the control socket serves. The first credential counts of: operator,
 * signature (on routes that take one), share, API key, session.
 */
export async function authorize(access: Access, caller: Caller, credentials: Credentials): Promise<Principal> {
  if (caller.operator) return { kind: 'operator' }
  if (access === 'public') return { kind: 'anyone' }
  if (access === 'operator') throw new ApiError('not_found', 'Not found.')
  const { headers } = caller.request
  const authorization = headers.get('authorization')
  if (access === 'sign_in') {
    // Credentials of another scheme may be for a proxy in front of this service.
    if (authorization !== null && /^Bearer /i.test(authorization))
      await authenticateKey(authorization, {}, credentials.keys)
    return { kind: 'anyone' }
  }
  // The signature wins over `Authorization`, which may be for a proxy on the way.
  if (access === 'signed' && headers.has(SIGNATURE_HEADER)) return { kind: 'signer' }
  const requirement = requirementOf(access)
  if (caller.share !== null && credentials.shares) {
    const share = await credentials.shares.authenticate(caller.share)
    if (!requirement.share || caller.request.method !== 'GET' || !share.allowsUrl(new URL(caller.request.url)))
      throw new ApiError('forbidden', 'This share link does not include that.')
    return { kind: 'share', share }
  }
  if (authorization !== null)
    return { kind: 'key', key: await authenticateKey(authorization, requirement, credentials.keys) }
  const token = readSessionToken(headers.get('cookie'))
  if (token === undefined || !credentials.people || !requirement.person) throw noCredential()
  const person = await credentials.people.authenticate(token)
  if (!isProvenSameOrigin(caller.request))
    throw new ApiError('forbidden', 'Pages of another origin cannot do this on your behalf.')
  const { role } = requirement
  // The resource may belong to an organisation where the role is lower; `canReachOrg` checks that once it is known.
  if (role !== undefined && ![...person.roles.values()].some((held) => includesRole(held, role)))
    throw new ApiError('forbidden', `Requires the ${role} role.`)
  return { kind: 'person', ...person }
}

const noCredential = () => new ApiError('unauthorized', 'Send an API key (Authorization: Bearer svcg_...), or sign in.')

async function authenticateKey(authorization: string, { scope }: Requirement, keys: Credentials['keys']): Promise<Key> {
  const secret = /^Bearer +([^\s]+) *$/i.exec(authorization)?.[1]
  if (secret === undefined) throw noCredential()
  const key = await keys.authenticate(secret)
  if (scope === undefined) throw new ApiError('forbidden', 'API keys cannot do this: a person has to sign in.')
  if (!key.scopes.includes(scope)) throw new ApiError('forbidden', `The API key lacks the scope ${scope}.`)
  return key
}

/** An authorised caller, and the access level of the route. */
export interface Grant {
  readonly principal: Principal
  readonly access: Access
}

/**
 * Whether the caller may know of an organisation. Throws `forbidden` if the caller is a member whose role is too low for
 * the route, or if the organisation requires two-factor sign-in that the caller has not set up.
 */
export function canReachOrg({ principal, access }: Grant, org: number): boolean {
  if (principal.kind === 'operator') return true
  if (principal.kind === 'key') return principal.key.org === org && principal.key.site === undefined
  if (principal.kind !== 'person') return false
  const role = principal.roles.get(org)
  if (role === undefined) return false
  if (principal.locked.has(org))
    throw new ApiError('forbidden', 'This organisation requires two-factor sign-in: set it up for your account first.')
  const required = requirementOf(access).role
  if (required !== undefined && !includesRole(role, required))
    throw new ApiError('forbidden', `Requires the ${required} role.`)
  return true
}

/** Whether the caller may know of a site. Throws as `canReachOrg`; a key may be bound to one site, a share always is. */
export function canReachSite(grant: Grant, site: Pick<ManagedSite, 'id' | 'org'>): boolean {
  const { principal } = grant
  if (principal.kind === 'share') return principal.share.site === site.id
  if (principal.kind === 'key') return principal.key.org === site.org && (principal.key.site ?? site.id) === site.id
  return canReachOrg(grant, site.org)
}

function auditActor({ principal, ip }: { principal: Principal; ip: string }): AuditActor {
  const from = ip === '' ? {} : { ip }
  if (principal.kind === 'person') return { kind: 'user', name: principal.user.email, user: principal.user.id, ...from }
  if (principal.kind === 'key') return { kind: 'key', name: principal.key.prefix, ...from }
  return { kind: 'operator', name: 'operator', ...from }
}

/** Returns the actor, organisation and time that the audit log records for a write by this call. */
export const auditContext = (call: { principal: Principal; ip: string; at: Date }, org: number): AuditContext => ({
  by: auditActor(call),
  org,
  at: call.at,
})
