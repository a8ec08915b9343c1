import { Resolver } from 'node:dns/promises'
import type { Outbound } from '../../base/outbound/outbound.js'

/**
 * Creates the client that fetches files of a site which the operator typed. The site may be on this machine or a private
 * network; a redirect may not lead there.
 */
export async function createSiteOutbound(url: URL, version: string): Promise<Outbound> {
  // Loaded here: the HTTP client is a quarter of what every other command would load.
  const { createOutbound, createResolve } = await import('../../base/outbound/guarded-outbound.js')
  const { createOriginOutbound } = await import('../../base/outbound/origin-outbound.js')
  const outbound = createOutbound({ resolve: createResolve(new Resolver()), offline: false, version })
  return createOriginOutbound({ origin: new URL(url.origin), version, outbound })
}
