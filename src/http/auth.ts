import { ApiError } from '../errors.js'
import type { Key, Keys, Scope } from '../manage/keys.js'
import type { Site } from '../manage/sites.js'

/**
 * Who asks: the operator through the control socket, the holder of an API key, or somebody whose signature says of which
 * site, which only who reads the body can check.
 */
export type Principal = { kind: 'operator' } | { kind: 'key'; key: Key } | { kind: 'signer' }

/**
 * What a route asks of its caller: nothing, a scope, a signature by a site's ingest key or else the scope `ingest:write`,
 * an admin's session, or to be the operator.
 */
export type Access = 'public' | Scope | 'signed' | 'admin' | 'operator'

const anyone: Principal = { kind: 'operator' }

/**
 * Lets the caller in or throws: `unauthorized` without a valid credential, `forbidden` without the scope, `not_found`
 * for what only the control socket has (spec 5.2, 5.3, 5.7).
 */
export async function authorize(
  access: Access,
  caller: { operator: boolean; authorization: string | null; signature?: string | null },
  keys: Pick<Keys, 'authenticate'>,
): Promise<Principal> {
  if (access === 'public' || caller.operator) return anyone
  if (access === 'operator') throw new ApiError('not_found', 'There is nothing here.')
  // The signature counts where both are there: `Authorization` may be for somebody on the way.
  if (access === 'signed' && typeof caller.signature === 'string') return { kind: 'signer' }
  const scope = access === 'signed' ? 'ingest:write' : access
  const secret = /^Bearer +([^\s]+) *$/i.exec(caller.authorization ?? '')?.[1]
  if (secret === undefined) throw new ApiError('unauthorized', 'Send an API key: Authorization: Bearer svcg_...')
  const key = await keys.authenticate(secret)
  // Spec 5.3 rule 4: whatever its scopes.
  if (scope === 'admin') throw new ApiError('forbidden', 'An API key cannot do this; an admin signs in for it.')
  if (!key.scopes.includes(scope)) throw new ApiError('forbidden', `The API key lacks the scope ${scope}.`)
  return { kind: 'key', key }
}

/** Spec 5.3 rule 1: what lies outside a key's organisation, or beside its site, is not there. */
export const reaches = (principal: Principal, site: Pick<Site, 'id' | 'org'>): boolean =>
  principal.kind === 'operator' ||
  (principal.kind === 'key' &&
    site.org === principal.key.org &&
    (principal.key.site === undefined || principal.key.site === site.id))
