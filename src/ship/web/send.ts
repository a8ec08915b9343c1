import { type Outcome, outcomeOf } from '../answer.js'

/** Signs a body and sends it once; never rejects. */
export type Send = (body: string) => Promise<Outcome>

const PATIENCE = 10_000
/** Characters of an answer that are read; the service's own are far shorter. */
const LONGEST_ANSWER = 65_536
const encoder = new TextEncoder()

/** The way to the collector's edge door below `url` by nothing but `fetch` and Web Crypto (spec 5.6 rules 2 and 3). */
export function createSend(url: string, ingest_key: string, now: () => number): Send {
  const door = `${url.replace(/\/+$/, '')}/api/log/edge`
  let key: Awaited<ReturnType<typeof crypto.subtle.importKey>> | undefined

  const signature = async (body: string): Promise<string> => {
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    // Not its promise: one request's work must not wait for another's on Workers.
    key ??= await crypto.subtle.importKey('raw', encoder.encode(ingest_key), hmac, false, ['sign'])
    const t = Math.floor(now() / 1000)
    const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(`${t}.${body}`)))
    return `t=${t},v1=${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  }

  return async (body) => {
    try {
      const response = await fetch(door, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-signature': await signature(body) },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE),
      })
      const { status, headers } = response
      const some = ['retry-after', 'date', 'location'].map((name) => [name, headers.get(name) ?? undefined])
      return outcomeOf({ status, headers: Object.fromEntries(some), text: await beginning(response) }, now())
    } catch (error) {
      return { kind: 'later', why: error instanceof Error ? error.message : String(error) }
    }
  }
}

async function beginning({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader !== undefined && text.length < LONGEST_ANSWER) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
  return text
}
