import type { Peer } from '../app.js'
import { type Answer, GIF, MAY_GET, MAY_POST } from './answer.js'
import { type Body, collect } from './body.js'
import type { Doors, Sender } from './doors.js'

const rendered = ({ status, headers, body }: Answer): Response => new Response(body, { status, headers })

/** A door by body, as one web-standard function; undefined where the method is none of its own. */
export const postDoor =
  (doors: Doors, door: 'track' | 'batch') =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(rendered(MAY_POST))
    if (request.method !== 'POST') return undefined
    return bodyOf(request).then(async (body) => rendered(await doors.take({ door, body }, senderOf(request, peer))))
  }

/** The same of the pixel. HEAD shows nobody an image: it is answered, and no hit. */
export const pixelDoor =
  (doors: Doors) =>
  (request: Request, peer: Peer): Promise<Response> | undefined => {
    if (request.method === 'OPTIONS') return Promise.resolve(rendered(MAY_GET))
    if (request.method === 'HEAD') return Promise.resolve(rendered({ ...GIF, body: null }))
    if (request.method !== 'GET') return undefined
    const query = new URL(request.url).search.slice(1)
    return doors.take({ door: 'pixel', query }, senderOf(request, peer)).then(rendered)
  }

/** Whose request it is, of a web-standard one. */
export const senderOf = ({ method, url, headers }: Request, { ip }: Pick<Peer, 'ip'>): Sender => ({
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
async function bodyOf({ headers, body }: Request): Promise<Body> {
  const collector = collect(headers.get('content-length'), headers.get('content-encoding'))
  if (collector.body() !== 'too_large')
    for await (const chunk of body ?? []) {
      if (!collector.add(chunk)) break
    }
  return collector.body()
}
