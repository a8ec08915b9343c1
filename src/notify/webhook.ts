import type { Post } from '../outbound/guarded-outbound.js'
import { OutboundError, type OutboundResponse } from '../outbound/outbound.js'
import { signature } from '../ship/sign.js'
import type { AttemptResult } from './attempt-result.js'

const TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 4_096

export interface WebhookCall {
  readonly url: string
  readonly secret: string
  /** The notice's: the same at each attempt. */
  readonly key: string
  readonly body: string
}

/** Posts a webhook, signed as ingest is (spec 5.6 rules 2 and 3). Taken by 2xx; 410 ends it. Never rejects. */
export async function callWebhook(
  { url, secret, key, body }: WebhookCall,
  { post, now }: { post: Post; now(): Date },
): Promise<AttemptResult> {
  const headers = {
    'content-type': 'application/json',
    'x-service-signature': signature(secret, now().getTime(), body),
    'x-service-delivery': key,
  }
  try {
    return toAttemptResult(await post(url, body, { headers, limit: MAX_RESPONSE_BYTES, timeout: TIMEOUT_MS }), now())
  } catch (error) {
    if (!(error instanceof OutboundError)) return { taken: false, error: 'it could not be sent' }
    // What a name of ours stands for is nothing to tell whoever may write a webhook.
    if (error.reason === 'refused') return { taken: false, error: 'that address is not asked', permanent: true }
    return { taken: false, error: error.message, permanent: false }
  }
}

function toAttemptResult({ status, headers }: OutboundResponse, now: Date): AttemptResult {
  if (status >= 200 && status < 300) return { taken: true }
  const wait = parseRetryAfter(headers['retry-after'], now)
  return {
    taken: false,
    error: `the receiver answered ${status}`,
    permanent: status === 410,
    ...(wait === undefined ? {} : { retry_after_ms: wait }),
  }
}

/** `Retry-After` in milliseconds: seconds, or a date. */
function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
