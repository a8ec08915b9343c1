import type { Peer } from '../app.js'
import { createBodyCollector, type TrackBody } from './body-collector.js'
import type { TrackEndpoints, TrackSender } from './endpoints.js'
import { PIXEL, PREFLIGHT_GET, PREFLIGHT_POST, type TrackResponse } from './responses.js'

const toWebResponse = ({ status, headers, body }: TrackResponse): Response => new Response(body, { status, headers })

/** A door by body, as one web-standard function; undefined where the method is none of its own. */
export const postEndpoint =
  (doors: TrackEndpoints, door: 'track' | 'batch') =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(toWebResponse(PREFLIGHT_POST))
    if (request.method !== 'POST') return undefined
    return readBody(request).then(async (body) =>
      toWebResponse(await doors.take({ door, body }, senderOf(request, peer))),
    )
  }

/** The same of the pixel. HEAD shows nobody an image: it is answered, and no hit. */
export const pixelEndpoint =
  (doors: TrackEndpoints) =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(toWebResponse(PREFLIGHT_GET))
    if (request.method === 'HEAD') return Promise.resolve(toWebResponse({ ...PIXEL, body: null }))
    if (request.method !== 'GET') return undefined
    const query = new URL(request.url).search.slice(1)
    return doors.take({ door: 'pixel', query }, senderOf(request, peer)).then(toWebResponse)
  }

/** Whose request it is, of a web-standard one. */
export const senderOf = ({ method, url, headers }: Request, { ip }: Pick<Peer, 'ip'>): TrackSender => ({
  ip,
  host: new URL(url).hostname,
  header: (name) => headers.get(name) ?? undefined,
  signed() {
    const { protocol, host, pathname, search } = new URL(url)
    return {
      ...{ method, scheme: protocol === 'https:' ? 'https' : 'http' },
      ...{ authority: headers.get('host') ?? host, target: pathname + search },
    }
  },
})

/** Rejects where the client leaves within it. */
async function readBody({ headers, body }: Request): Promise<TrackBody> {
  const collector = createBodyCollector(headers.get('content-length'), headers.get('content-encoding'))
  if (collector.body() !== 'too_large')
    for await (const chunk of body ?? []) {
      if (!collector.add(chunk)) break
    }
  return collector.body()
}
