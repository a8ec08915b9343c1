import type { Post } from '../../base/outbound/guarded-outbound.js'
import { OutboundError, type OutboundResponse } from '../../base/outbound/outbound.js'
import { signBody } from '../../base/signature.js'
import type { AttemptResult } from './notices.js'

const TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 4_096

interface WebhookCall {
  readonly url: string
  readonly secret: string
  /** The notice's key: the same for every attempt. */
  readonly key: string
  readonly body: string
}

interface SendDeps {
  post: Post
  now(): Date
}

/** Posts a webhook, signed as ingest requests are. Status 2xx is a success; 410 ends the attempts. Never rejects. */
export const callWebhook = ({ url, secret, key, body }: WebhookCall, deps: SendDeps): Promise<AttemptResult> => {
  const headers = { 'x-service-signature': signBody(secret, deps.now().getTime(), body), 'x-service-delivery': key }
  return postJson({ url, body, headers, isFinal: (status) => status === 410 }, deps)
}

interface JsonPost {
  readonly url: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whether a status ends the attempts. */
  isFinal(status: number): boolean
}

/** Posts JSON. Status 2xx is a success. Never rejects. */
export async function postJson(
  { url, body, headers, isFinal }: JsonPost,
  { post, now }: SendDeps,
): Promise<AttemptResult> {
  const options = { limit: MAX_RESPONSE_BYTES, timeout: TIMEOUT_MS }
  try {
    const response = await post(url, body, { ...options, headers: { 'content-type': 'application/json', ...headers } })
    return toAttemptResult(response, now(), isFinal)
  } catch (error) {
    if (!(error instanceof OutboundError)) return { delivered: false, error: 'the request could not be sent' }
    // Says nothing about the address: members who may create webhooks must not learn about the internal network.
    if (error.reason === 'refused') return { delivered: false, error: 'this address is not allowed', permanent: true }
    return { delivered: false, error: error.message, permanent: false }
  }
}

function toAttemptResult(
  { status, headers }: OutboundResponse,
  now: Date,
  isFinal: JsonPost['isFinal'],
): AttemptResult {
  if (status >= 200 && status < 300) return { delivered: true }
  const wait = parseRetryAfter(headers['retry-after'], now)
  return {
    delivered: false,
    error: `the receiver returned status ${status}`,
    permanent: isFinal(status),
    ...(wait === undefined ? {} : { retry_after_ms: wait }),
  }
}

/** Returns `Retry-After`, which is in seconds or a date, in milliseconds. */
function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
