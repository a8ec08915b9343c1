import { Agent, type Dispatcher } from 'undici'
import type { Answer } from './answer.js'

/** One attempt: a signed body to the collector. Rejects where no whole answer came. */
export type Send = (body: string, signature: string, signal: AbortSignal) => Promise<Answer>

/** Bytes of an answer that are read; the service's own are far shorter. */
const LONGEST_ANSWER = 65_536

/**
 * The way to the collector's edge door below `url`: one connection, kept; redirects are not followed, and no variable of
 * the environment leads it elsewhere. An attempt that takes longer than `patience` milliseconds is given up.
 */
export function openSend(url: string, version: string, patience = 30_000): { send: Send; close(): Promise<void> } {
  const door = new URL(`${url.replace(/\/+$/, '')}/api/log/edge`)
  const agent = new Agent({
    connections: 1,
    connect: { timeout: 10_000 },
    headersTimeout: patience,
    bodyTimeout: patience,
    keepAliveMaxTimeout: 60_000,
  })
  return {
    async send(body, signature, signal) {
      // Not `AbortSignal.any`: what it makes of a signal that lives as long as the process may live as long.
      const over = new AbortController()
      const stop = () => over.abort(signal.reason)
      const late = setTimeout(() => over.abort(new DOMException('It took too long.', 'TimeoutError')), patience)
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

  async function attempt(body: string, signature: string, signal: AbortSignal): Promise<Answer> {
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
    return { status: answer.statusCode, headers, text: await beginning(answer.body) }
  }
}

async function beginning(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop ends the connection: who floods gets a new one.
    if (size > LONGEST_ANSWER) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, LONGEST_ANSWER)
}
