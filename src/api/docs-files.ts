import { COMMON_HEADERS, createFiles, fileResponse } from './static-file.js'

/** Returns the response for an address of the documentation, and undefined for every other request. */
export type Docs = (request: Request) => Promise<Response | undefined>

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
}

/**
 * Serves the documentation site from `folder` below `/docs/`, as the build wrote it, without sign-in: its pages contain no
 * data. Only listed files are served, so that no address leads out of the folder.
 */
export function createDocs(folder: string): Docs {
  const files = createFiles(folder)
  return async (request) => {
    const { method, headers } = request
    const address = /^\/docs(?:\/(.*))?$/.exec(new URL(request.url).pathname)
    if (!address || (method !== 'GET' && method !== 'HEAD')) return undefined
    const [, path] = address
    // Links of the pages are relative to the folder. The redirect is relative too, because a proxy may add a base path.
    if (path === undefined)
      return new Response(null, { status: 301, headers: { ...COMMON_HEADERS, location: 'docs/' } })
    const name = path === '' ? 'index.html' : path
    const found = await files.negotiate(name, headers.get('accept-encoding'))
    return found && fileResponse(request, name, found, name.endsWith('.html') ? PAGE_HEADERS : {})
  }
}
