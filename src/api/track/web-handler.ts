import type { Peer } from '../route.js'
import { type BodyLimits, createBodyCollector, type TrackBody } from './body-collector.js'
import type { TrackEndpoints, TrackSender } from './endpoints.js'
import { PIXEL, PREFLIGHT_GET, PREFLIGHT_POST, type TrackResponse } from './responses.js'

const toWebResponse = ({ status, headers, body }: TrackResponse): Response => new Response(body, { status, headers })

/** Serves an endpoint with a body, for web-standard requests; returns undefined for other methods. */
export const postEndpoint =
  (endpoints: TrackEndpoints, endpoint: 'track' | 'batch') =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(toWebResponse(PREFLIGHT_POST))
    if (request.method !== 'POST') return undefined
    return takeBody(request, endpoints.bodyLimits(endpoint, peer.ip), async (body) =>
      toWebResponse(await endpoints.take({ endpoint, body }, senderOf(request, peer))),
    )
  }

/** Serves the pixel. HEAD gets a response and records nothing, because the image is not shown. */
export const pixelEndpoint =
  (endpoints: TrackEndpoints) =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(toWebResponse(PREFLIGHT_GET))
    if (request.method === 'HEAD') return Promise.resolve(toWebResponse({ ...PIXEL, body: null }))
    if (request.method !== 'GET') return undefined
    const query = new URL(request.url).search.slice(1)
    return endpoints.take({ endpoint: 'pixel', query }, senderOf(request, peer)).then(toWebResponse)
  }

/** The sender of a web-standard request. */
export const senderOf = ({ method, url, headers }: Request, { ip }: Pick<Peer, 'ip'>): TrackSender => ({
  ip,
  host: new URL(url).hostname,
  header: (name) => headers.get(name) ?? undefined,
  signed() {
    const { protocol, host, pathname, search } = new URL(url)
    const scheme = protocol === 'https:' ? 'https' : 'http'
    return { method, scheme, authority: headers.get('host') ?? host, target: pathname + search }
  },
})

/** Reads the body and passes it to `take`. Rejects if the client disconnects meanwhile. */
async function takeBody<T>(
  { headers, body }: Request,
  limits: BodyLimits,
  take: (body: TrackBody) => Promise<T>,
): Promise<T> {
  const collector = createBodyCollector(headers.get('content-length'), headers.get('content-encoding'), limits)
  try {
    if (collector.body() !== 'too_large')
      for await (const chunk of body ?? []) {
        if (!collector.add(chunk)) break
      }
    return await take(collector.body())
  } finally {
    collector.release()
  }
}
