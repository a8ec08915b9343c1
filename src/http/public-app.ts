import { ApiError } from '../errors.js'
import type { Peer } from './app.js'
import { renderError } from './error-response.js'
import { isScriptPath } from './tracker-script.js'

/** Parts of the service that the public listener may be told to serve under its base path (contract 1). */
export type ExposedPart = 'ingest' | 'api'

/** What a site's own pages need, and so anyone may have. */
const PUBLIC_PATHS = /^\/api\/(?:track(?:\/batch|\/pixel\.gif)?|flags\/evaluate)$/
const EXPOSED_PATHS: Record<ExposedPart, (path: string) => boolean> = {
  ingest: (path) => path === '/api/log/edge',
  api: (path) => path.startsWith('/api/'),
}

/**
 * The service as the public sees it, its base path taken off: what browsers need, what is exposed, and nothing else.
 * Health, metrics and the control routes are never there.
 */
export const createPublicApp =
  (app: (request: Request, peer: Peer) => Promise<Response>, exposed: readonly ExposedPart[]) =>
  async (request: Request, peer: { ip: string }): Promise<Response> => {
    const { pathname } = new URL(request.url)
    return isScriptPath(pathname) ||
      PUBLIC_PATHS.test(pathname) ||
      exposed.some((part) => EXPOSED_PATHS[part](pathname))
      ? app(request, { ...peer, operator: false })
      : renderError(new ApiError('not_found', 'There is nothing here.'), () => {})
  }
