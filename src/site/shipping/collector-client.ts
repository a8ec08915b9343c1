import { Agent, type Dispatcher } from 'undici'
import type { CollectorResponse } from './response-outcome.js'

/** Sends a signed body to the collector once. Rejects if no complete response arrives. */
export type SendBody = (body: string, signature: string, signal: AbortSignal) => Promise<CollectorResponse>

/** Bytes of a response that are read; those of a readership are far shorter. */
const MAX_RESPONSE_BYTES = 65_536

/**
 * Returns a client of `POST /api/log/edge` below `url` that keeps one connection. It follows no redirect and ignores proxy
 * variables of the environment. An attempt is aborted after `timeout` milliseconds.
 */
export function createCollectorClient(
  url: string,
  version: string,
  timeout = 30_000,
): { send: SendBody; close(): Promise<void> } {
  const door = new URL(`${url.replace(/\/+$/, '')}/api/log/edge`)
  const agent = new Agent({
    connections: 1,
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

async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size > MAX_RESPONSE_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_RESPONSE_BYTES)
}
