import { OBSERVED_RESPONSE_HEADERS, type Observation } from '../../capture/observation.js'
import { observeRequest } from './observe-request.js'

const observed = new WeakSet<Request>()

export interface ObservedWebResponse {
  /** The response to pass on. */
  response: Response
  /** Resolves when the body is over, however it ends. Never rejects. */
  observation: Promise<Observation>
}

/**
 * Observes an exchange of a web-standard server, which has no socket to watch. Call it before the site handles the
 * request, and the function it returns with the site's response. A body with a Content-Length passes untouched and
 * counts as that length; any other is counted chunk by chunk as the client reads. Returns undefined for a request that
 * is observed already.
 */
export function observeWeb(request: Request, ip: string): ((response: Response) => ObservedWebResponse) | undefined {
  // A middleware that is mounted twice still sees one exchange.
  if (observed.has(request)) return undefined
  observed.add(request)
  const { host, protocol } = new URL(request.url)
  const requestObservation = observeRequest(
    { method: request.method, url: targetOf(request.url), headers: Object.fromEntries(request.headers) },
    ip,
    Date.now(),
    { host, hop: { proto: protocol === 'https:' ? 'https' : 'http', trusted: false } },
  )
  const startedAt = performance.now()
  return (response) => {
    const { status, headers, body } = response
    const observationOf = (bytes: number): Observation => {
      const kept = OBSERVED_RESPONSE_HEADERS.flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      })
      return {
        ...requestObservation,
        status,
        bytes,
        duration_ms: Math.round(performance.now() - startedAt),
        content_type: headers.get('content-type') ?? '',
        ...(kept.length > 0 && { response: Object.fromEntries(kept) }),
      }
    }
    const length = headers.get('content-length') ?? ''
    // The server discards the body of a HEAD unread; of a 1xx status no second Response can be constructed.
    const bodiless = body === null || request.method === 'HEAD' || status < 200 || status === 204 || status === 304
    if (bodiless) return { response, observation: Promise.resolve(observationOf(0)) }
    if (/^\d+$/.test(length)) return { response, observation: Promise.resolve(observationOf(Number(length))) }
    let done = (_bytes: number) => {}
    const bytes = new Promise<number>((resolve) => {
      done = resolve
    })
    return { response: new Response(countBody(body, done), response), observation: bytes.then(observationOf) }
  }
}

/** Returns path and query of a URL, byte for byte. */
function targetOf(url: string): string {
  const [whole = ''] = url.split('#', 1)
  const authority = whole.indexOf('//') + 2
  const path = whole.slice(authority).search(/[/?]/)
  return path < 0 ? '/' : whole.slice(authority + path)
}

function countBody(body: ReadableStream<Uint8Array>, done: (bytes: number) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let bytes = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const result = await reader.read()
          if (result.done) {
            done(bytes)
            controller.close()
          } else {
            bytes += result.value.byteLength
            controller.enqueue(result.value)
          }
        } catch (error) {
          done(bytes)
          controller.error(error)
        }
      },
      cancel(reason) {
        done(bytes)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
