import { classifyResponse, type DeliveryOutcome } from '../response-outcome.js'

/** Signs a body and sends it once; never rejects. */
export type SendBody = (body: string) => Promise<DeliveryOutcome>

const TIMEOUT_MS = 10_000
/** Characters of a response that are read; those of a readership are far shorter. */
const MAX_RESPONSE_CHARACTERS = 65_536
const encoder = new TextEncoder()

/** Returns a client of `POST /api/log/edge` below `url` that needs only `fetch` and Web Crypto. */
export function createWebClient(url: string, ingest_key: string, now: () => number): SendBody {
  const door = `${url.replace(/\/+$/, '')}/api/log/edge`
  let key: Awaited<ReturnType<typeof crypto.subtle.importKey>> | undefined

  const signature = async (body: string): Promise<string> => {
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    // Stores the key, not its promise: on Workers one request must not await the work of another.
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
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const { status, headers } = response
      const some = ['retry-after', 'date', 'location'].map((name) => [name, headers.get(name) ?? undefined])
      return classifyResponse({ status, headers: Object.fromEntries(some), text: await readStart(response) }, now())
    } catch (error) {
      return { kind: 'later', why: error instanceof Error ? error.message : String(error) }
    }
  }
}

async function readStart({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader !== undefined && text.length < MAX_RESPONSE_CHARACTERS) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
  return text
}
