import { Agent, type Dispatcher } from 'undici'
import type { CollectorResponse } from './response-outcome.js'

/** Sends a signed body to the collector once. Rejects if no complete response arrives. */
export type SendBody = (body: string, signature: string, signal: AbortSignal) => Promise<CollectorResponse>

/** Asks the collector for the rules of a site once. Rejects if no complete response arrives. */
export type FetchRules = (
  site: number,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<{ status: number; etag?: string; text: string }>

/** Largest set of rules that is read, bytes: a thousand rules with the longest texts. */
const MAX_RULES_BYTES = 64 << 20
/** Bytes of a response that are read; those of a readership are far shorter. */
const MAX_RESPONSE_BYTES = 65_536

/**
 * Returns a client of `POST /api/log/edge` and `GET /api/edge/rules` below `url` that keeps one connection. It follows no redirect and ignores proxy
 * variables of the environment. An attempt is aborted after `timeout` milliseconds.
 */
export function createCollectorClient(
  url: string,
  version: string,
  timeout = 30_000,
): { send: SendBody; fetchRules: FetchRules; close(): Promise<void> } {
  const door = new URL(`${url.replace(/\/+$/, '')}/api/log/edge`)
  const rules = new URL(`${url.replace(/\/+$/, '')}/api/edge/rules`)
  const agent = new Agent({
    // One for deliveries, and one for rules, which must not wait for a long delivery.
    connections: 2,
    connect: { timeout: 10_000 },
    headersTimeout: timeout,
    bodyTimeout: timeout,
    keepAliveMaxTimeout: 60_000,
  })
  return {
    async send(body, signature, signal) {
      // Not `AbortSignal.any`, whose result could live as long as the process does.
      const over = new AbortController()
      const stop = () => over.abort(signal.reason)
      const late = setTimeout(() => over.abort(new DOMException('It took too long.', 'TimeoutError')), timeout)
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
      try {
        return await attempt(body, signature, over.signal)
      } finally {
        clearTimeout(late)
        signal.removeEventListener('abort', stop)
      }
    },
    async fetchRules(site, headers, signal) {
      const response = await agent.request({
        origin: rules.origin,
        path: `${rules.pathname}?site=${site}`,
        method: 'GET',
        headers: { ...headers, 'user-agent': `readership/${version}` },
        signal,
      })
      const { etag } = response.headers
      const text = await readStart(response.body, MAX_RULES_BYTES)
      return { status: response.statusCode, ...(typeof etag === 'string' && { etag }), text }
    },
    close: () => agent.destroy(),
  }

  async function attempt(body: string, signature: string, signal: AbortSignal): Promise<CollectorResponse> {
    const answer = await agent.request({
      origin: door.origin,
      path: door.pathname,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': signature,
        'user-agent': `readership/${version}`,
      },
      body,
      signal,
    })
    const headers: Record<string, string | undefined> = {}
    for (const name of ['retry-after', 'date', 'location']) {
      const value = answer.headers[name]
      headers[name] = Array.isArray(value) ? value[0] : value
    }
    return { status: answer.statusCode, headers, text: await readStart(answer.body) }
  }
}

async function readStart(body: Dispatcher.ResponseData['body'], most = MAX_RESPONSE_BYTES): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size > most) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, most)
}
