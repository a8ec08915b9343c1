import type { Caller, Credentials, Principal } from './auth.js'
import { readSessionToken } from './session-cookie.js'

/**
 * Whether who was let in would be let in again: asked while an answer goes out, so that a credential that ends ends what
 * it opened. It costs a look into memory, and counts as no use of a key.
 */
async function isStillAuthorized(
  principal: Principal,
  { request, share }: Caller,
  credentials: Credentials,
): Promise<boolean> {
  switch (principal.kind) {
    case 'key':
      return credentials.keys.isActive(principal.key)
    case 'share':
      return (await credentials.shares?.authenticate(share ?? ''))?.allowsUrl(new URL(request.url)) ?? false
    case 'person': {
      const now = await credentials.people?.authenticate(readSessionToken(request.headers.get('cookie')) ?? '')
      const same = [...principal.roles].every(([org, role]) => now?.roles.get(org) === role)
      return now !== undefined && same && [...now.locked].every((org) => principal.locked.has(org))
    }
    default:
      return true
  }
}

/** An answer that is cut off once its caller's credential does not hold any more; the connection says that it was. */
export function cutOffOnRevocation(
  response: Response,
  principal: Principal,
  caller: Caller,
  credentials: Credentials,
): Response {
  if (!response.body || principal.kind === 'operator' || principal.kind === 'anyone') return response
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await reader.read()
        if (!(await isStillAuthorized(principal, caller, credentials).catch(() => false))) {
          await reader.cancel().catch(() => {})
          throw new Error('the credential was withdrawn')
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
