import { ApiError } from '../errors.js'
import type { Peer } from './app.js'
import { renderError } from './error.js'
import { isScript } from './script.js'

/** Parts of the service that the public listener may be told to serve under its base path (contract 1). */
export type Exposed = 'ingest' | 'api'

/** What a site's own pages need, and so anyone may have. */
const OPEN = /^\/api\/(?:track(?:\/batch|\/pixel\.gif)?|flags\/evaluate)$/
const MORE: Record<Exposed, (path: string) => boolean> = {
  ingest: (path) => path === '/api/log/edge',
  api: (path) => path.startsWith('/api/'),
}

/**
 * The service as the public sees it, its base path taken off: what browsers need, what is exposed, and nothing else.
 * Health, metrics and the control routes are never there.
 */
export const publicPart =
  (app: (request: Request, peer: Peer) => Promise<Response>, exposed: readonly Exposed[]) =>
  async (request: Request, peer: { ip: string }): Promise<Response> => {
    const { pathname } = new URL(request.url)
    return isScript(pathname) || OPEN.test(pathname) || exposed.some((part) => MORE[part](pathname))
      ? app(request, { ...peer, operator: false })
      : renderError(new ApiError('not_found', 'There is nothing here.'), () => {})
  }
