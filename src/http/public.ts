import { ApiError } from '../errors.js'
import type { Peer } from './app.js'
import { renderError } from './error.js'

/** Parts of the service that the public listener may be told to serve under its base path (contract 1). */
export type Exposed = 'api'

/**
 * The public listener's own part: under `basePath` what is exposed, and nothing else. Health, metrics and the control
 * routes are never there.
 */
export function publicPart(
  app: (request: Request, peer: Peer) => Promise<Response>,
  basePath: string,
  exposed: readonly Exposed[],
): (request: Request, peer: Peer) => Promise<Response> {
  return async (request, peer) => {
    const url = new URL(request.url)
    const path = url.pathname.startsWith(`${basePath}/`) ? url.pathname.slice(basePath.length) : ''
    if (!path.startsWith('/api/') || !exposed.includes('api'))
      return renderError(new ApiError('not_found', 'There is nothing here.'), () => {})
    url.pathname = path
    return app(new Request(url, request), { ...peer, operator: false })
  }
}
