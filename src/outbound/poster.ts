import {
  type AllowedTargets,
  createCheckedConnector,
  originForMessage,
  parseUrl,
  refusalReason,
  userAgent,
  withTimeout,
} from './guarded-outbound.js'
import { OutboundError, type OutboundOptions, type OutboundResponse } from './outbound.js'
import type { Resolve } from './resolve.js'
import { sendOnce } from './single-request.js'

/** Posts `body` to `url`, unless `signal` ends it. Throws `OutboundError` where there is no answer, whatever the reason. */
export type Post = (
  url: string,
  body: string,
  options: Omit<OutboundOptions, 'redirects'> & { signal?: AbortSignal },
) => Promise<OutboundResponse>

/** Below them are the servers of other protocols, some of which take a request for commands. */
const MIN_CUSTOM_PORT = 1_024

/**
 * The way to servers that somebody's webhook names: as `createOutbound` guards it, but to any port that is no other
 * protocol's. No redirect is followed: where it leads nobody named. With `anywhere` addresses may be private ones too.
 */
export function createPoster(deps: { resolve: Resolve; version: string; anywhere: boolean }): Post {
  const allow: AllowedTargets = {
    port: (port) => port >= MIN_CUSTOM_PORT,
    ...(deps.anywhere ? { address: () => true } : {}),
  }
  return (text, body, { headers, limit, timeout, signal: given }) => {
    const url = parseUrl(text)
    return withTimeout(timeout, url, (late) => {
      const signal = given ? AbortSignal.any([late, given]) : late
      const refusal = refusalReason(url, { allow })
      if (refusal !== undefined) throw new OutboundError('refused', `${originForMessage(url)}: ${refusal}`)
      return sendOnce({
        ...{ url, body: body, limit, signal, followsRedirects: false },
        headers: { ...headers, 'user-agent': userAgent(deps.version) },
        connect: createCheckedConnector(url, { resolve: deps.resolve, allow }),
      })
    })
  }
}
