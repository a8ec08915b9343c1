import type { Caller, Credentials, Principal } from './auth.js'
import { readSessionToken } from './session-cookie.js'

/**
 * Re-checks the caller's credential while a response streams. The check looks into memory only, and does not count as a
 * use of a key.
 */
async function isStillAuthorized(
  principal: Principal,
  { request, share }: Caller,
  credentials: Credentials,
): Promise<boolean> {
  switch (principal.kind) {
    case 'key':
      return credentials.keys.isActive(principal.key)
    case 'share': {
      const grant = await credentials.shares?.authenticate(share ?? '')
      // Another version may have other filters and scopes.
      return grant?.version === principal.share.version && grant.allowsUrl(new URL(request.url))
    }
    case 'person': {
      const token = readSessionToken(request.headers.get('cookie')) ?? ''
      const person = await credentials.people?.authenticate(token)
      const sameRoles = [...principal.roles].every(([org, role]) => person?.roles.get(org) === role)
      return person !== undefined && sameRoles && [...person.locked].every((org) => principal.locked.has(org))
    }
    default:
      return true
  }
}

/**
 * Cuts a streamed response off once the caller's credential is revoked: the connection ends with an error. The response
 * to HEAD ends at once.
 */
export function cutOffOnRevocation(
  response: Response,
  principal: Principal,
  caller: Caller,
  credentials: Credentials,
): Response {
  if (!response.body) return response
  if (caller.request.method === 'HEAD') {
    // Hono drops this body without cancelling it: a stream would go on for good.
    void response.body.cancel().catch(() => {})
    return new Response(null, response)
  }
  if (principal.kind === 'operator' || principal.kind === 'anyone') return response
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await reader.read()
        if (!(await isStillAuthorized(principal, caller, credentials).catch(() => false))) {
          await reader.cancel().catch(() => {})
          throw new Error('the credential was revoked')
        }
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}
