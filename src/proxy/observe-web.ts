import { OBSERVED_RESPONSE_HEADERS, type Observation } from '../capture/observation.js'
import { observeRequest } from './observe-request.js'

const observed = new WeakSet<Request>()

/** The response as it is to be given, and what was seen of it when its body is over, however it ends. Never rejects. */
export interface ObservedWebResponse {
  response: Response
  observation: Promise<Observation>
}

/**
 * Watches an exchange of a web-standard server, of which there is no socket to see. Call it before the site has the
 * request, and what it gives with the site's response. A body that says its length goes on untouched and counts as that;
 * another is counted as the client takes it, one piece at a time. Undefined for a request that is watched already.
 */
export function observeWeb(request: Request, ip: string): ((response: Response) => ObservedWebResponse) | undefined {
  // Mounted twice is still one exchange.
  if (observed.has(request)) return undefined
  observed.add(request)
  const { host, protocol } = new URL(request.url)
  const url = requestTarget(request.url)
  const facts = observeRequest(
    { method: request.method, url, headers: Object.fromEntries(request.headers) },
    ip,
    Date.now(),
    {
      host,
      hop: { proto: protocol === 'https:' ? 'https' : 'http', trusted: false },
    },
  )
  const started = performance.now()
  return (response) => {
    const { status, headers, body } = response
    const seen = (bytes: number): Observation => {
      const kept = OBSERVED_RESPONSE_HEADERS.flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      })
      return {
        ...facts,
        status,
        bytes,
        duration_ms: Math.round(performance.now() - started),
        content_type: headers.get('content-type') ?? '',
        ...(kept.length > 0 && { response: Object.fromEntries(kept) }),
      }
    }
    const length = headers.get('content-length')
    // Of a HEAD the server throws the body away unread; of an upgrade no other Response can be made.
    const bodiless = body === null || request.method === 'HEAD' || status < 200 || status === 204 || status === 304
    if (bodiless) return { response, observation: Promise.resolve(seen(0)) }
    if (length !== null && /^\d+$/.test(length)) return { response, observation: Promise.resolve(seen(Number(length))) }
    let done = (_bytes: number) => {}
    const over = new Promise<number>((resolve) => {
      done = resolve
    })
    return { response: new Response(countBody(body, done), response), observation: over.then(seen) }
  }
}

/** Byte for byte, without the fragment. */
function requestTarget(url: string): string {
  const [whole = ''] = url.split('#', 1)
  const path = whole.slice(whole.indexOf('//') + 2).search(/[/?]/)
  return path < 0 ? '/' : whole.slice(whole.indexOf('//') + 2 + path)
}

function countBody(body: ReadableStream<Uint8Array>, over: (bytes: number) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let bytes = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            over(bytes)
            controller.close()
          } else {
            bytes += value.byteLength
            controller.enqueue(value)
          }
        } catch (error) {
          over(bytes)
          controller.error(error)
        }
      },
      cancel(reason) {
        over(bytes)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
