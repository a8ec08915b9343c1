import { isIP } from 'node:net'
import { createMcpHandler, type McpServer, readRequestBody } from '@modelcontextprotocol/server'
import { isLoopbackHost } from '../../base/address.js'
import { ApiError } from '../../base/errors.js'
import { authorize, type Credentials } from '../auth.js'
import { renderError } from '../error-response.js'
import { parseJsonBody } from '../route.js'
import { createApiClient, type SendToApi } from './api-client.js'
import type { McpParts } from './server.js'

/** The largest message of a client: the arguments of a tool are a few KB. */
const MAX_BODY_BYTES = 256 * 1024
/** Open streams of changes. readership announces none, so a client gains nothing by a second one. */
const MAX_SUBSCRIPTIONS = 16

interface McpDeps {
  readonly credentials: Credentials
  readonly version: string
  /** Returns the address of the dashboard for the client of a request, with a slash at its end. */
  dashboardOf(request: Request): string
  /** Whether the service is reached by this name; a page that a name of another's was bound to has to be refused. */
  isOwnHost(hostname: string): boolean
  log(error: unknown): void
  /** Creates the server that answers one request. */
  createServer(parts: McpParts): McpServer
}
/** Sends a request of the same sender through the route table. */
type Dispatch = (request: Request) => Promise<Response>

/**
 * Answers `/mcp` (streamable HTTP without sessions; revisions 2025-11-25 and 2026-07-28). The credential is an API key with
 * `stats:read`; each tool calls the API with it, so scopes, sites and limits are those of the API.
 */
export function createMcpEndpoint({ credentials, version, dashboardOf, isOwnHost, log, createServer }: McpDeps) {
  const partsOf = new WeakMap<object, McpParts>()
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const parts = authInfo && partsOf.get(authInfo)
      if (!parts) throw new Error('a request came without its caller')
      return createServer(parts)
    },
    { maxSubscriptions: MAX_SUBSCRIPTIONS, maxRequestBodySize: MAX_BODY_BYTES, onerror: () => {} },
  )
  const answer = async (request: Request, dispatch: Dispatch): Promise<Response> => {
    checkSender(request, isOwnHost)
    const key = await keyOf(request, credentials)
    const message = request.method === 'POST' ? await readMessage(request) : undefined
    const authInfo = { token: key.prefix, clientId: `key-${key.id}`, scopes: [...key.scopes] }
    const [dashboard, mayWrite] = [dashboardOf(request), key.scopes.includes('manage:write')]
    partsOf.set(authInfo, { api: createApiClient(sendAs(request, dispatch)), dashboard, mayWrite, version, log })
    return handler.fetch(request, { authInfo, ...(message !== undefined && { parsedBody: message }) })
  }
  return {
    async fetch(request: Request, dispatch: Dispatch): Promise<Response> {
      const response = await answer(request, dispatch).catch((error) =>
        renderError(error, request.signal.aborted ? () => {} : log),
      )
      response.headers.set('cache-control', 'no-store')
      return response
    },
    close: () => handler.close(),
  }
}

/**
 * Refuses pages of other origins, and names that are not ours: a page can bind its own name to this machine's address (DNS
 * rebinding), and would then be of the same origin. Programs send no `Origin`, and their `Host` is what they were given.
 */
function checkSender({ url, headers }: Request, isOwnHost: McpDeps['isOwnHost']): void {
  const { hostname, host } = new URL(url)
  const isOwn = isIP(hostname.replace(/^\[|\]$/g, '')) > 0 || isLoopbackHost(hostname) || isOwnHost(hostname)
  if (!isOwn)
    throw new ApiError('forbidden', `This service is not known as ${hostname}: set public_url to its address.`)
  const origin = headers.get('origin')
  if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== host))
    throw new ApiError('forbidden', 'Pages of another origin cannot use this.')
}

/** Returns the API key of a request. A session or a share link opens nothing here, whatever else the request carries. */
async function keyOf({ url, headers }: Request, credentials: Credentials) {
  const request = new Request(url, { headers: { authorization: headers.get('authorization') ?? '' } })
  const principal = await authorize('stats:read', { operator: false, request, share: null }, credentials)
  if (principal.kind !== 'key') throw new ApiError('unauthorized', 'Send an API key: Authorization: Bearer svcg_...')
  return principal.key
}

/** Reads a message. Lists of messages are refused, as in the revisions since 2025-06-18: one request could hold any number. */
async function readMessage(request: Request): Promise<unknown> {
  const body = await readRequestBody(request, MAX_BODY_BYTES)
  if (body.tooLarge) throw new ApiError('bad_request', `A message has at most ${MAX_BODY_BYTES / 1024} KB.`)
  const message = parseJsonBody(() => body.text)
  if (Array.isArray(message)) throw new ApiError('bad_request', 'Send one message in each request, not a list.')
  return message
}

/** Returns what calls the API with the key of a request. A tool that the client has given up stops with it. */
const sendAs =
  ({ url, headers, signal }: Request, dispatch: Dispatch): SendToApi =>
  async (method, path, body) => {
    const sent = {
      authorization: headers.get('authorization') ?? '',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const response = await dispatch(
      new Request(new URL(path, url), {
        ...{ method, signal, headers: sent },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    return { status: response.status, json: await response.json() }
  }
