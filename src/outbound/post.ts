import { type Allowed, connector, refusalOf, shown, urlOf, userAgent, within } from './guard.js'
import { hop } from './hop.js'
import { type Answered, OutboundError, type OutboundOptions } from './outbound.js'
import type { Resolve } from './resolve.js'

/** Posts `body` to `url`, unless `signal` ends it. Throws `OutboundError` where there is no answer, whatever the reason. */
export type Post = (
  url: string,
  body: string,
  options: Omit<OutboundOptions, 'redirects'> & { signal?: AbortSignal },
) => Promise<Answered>

/** Below them are the servers of other protocols, some of which take a request for commands. */
const LEAST_PORT = 1_024

/**
 * The way to servers that somebody's webhook names: as `createOutbound` guards it, but to any port that is no other
 * protocol's. No redirect is followed: where it leads nobody named. With `anywhere` addresses may be private ones too.
 */
export function createPoster(deps: { resolve: Resolve; version: string; anywhere: boolean }): Post {
  const allow: Allowed = { port: (port) => port >= LEAST_PORT, ...(deps.anywhere ? { address: () => true } : {}) }
  return (text, body, { headers, limit, timeout, signal: given }) => {
    const url = urlOf(text)
    return within(timeout, url, (late) => {
      const signal = given ? AbortSignal.any([late, given]) : late
      const refusal = refusalOf(url, { allow })
      if (refusal !== undefined) throw new OutboundError('refused', `${shown(url)}: ${refusal}`)
      return hop({
        ...{ url, sends: body, limit, signal, following: false },
        headers: { ...headers, 'user-agent': userAgent(deps.version) },
        connect: connector(url, { resolve: deps.resolve, allow }),
      })
    })
  }
}
