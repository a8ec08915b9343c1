import { z } from 'zod'

/** The collector's response to one attempt. */
export interface CollectorResponse {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  /** The beginning of the body. */
  text: string
}

/** The outcome of one attempt to deliver rows. */
export type DeliveryOutcome =
  /** The rows are committed, by this attempt or an earlier one. */
  | { kind: 'accepted' }
  /** The rows are invalid; sending them again gives the same result. */
  | { kind: 'refused'; why: string }
  /** The operator has to change something; `key` says that another ingest key may help. */
  | { kind: 'denied'; why: string; hint?: string; key: boolean }
  /**
   * The outcome is unknown, and the same rows are sent again: after `after` milliseconds if the collector named a time.
   * `often`: the rate limit of the sender's address was reached. `gone`: the collector was unreachable, not overloaded.
   */
  | { kind: 'later'; why: string; after?: number; often?: true; gone?: boolean }

/** Upper bound for a Retry-After. */
const MAX_RETRY_AFTER_MS = 3_600_000
const Accepted = z.object({ data: z.object({ agent_events: z.number(), events: z.number() }) })
const Failed = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
})

/** Classifies the collector's response. `now` is this machine's time in epoch milliseconds. */
export function classifyResponse(answer: CollectorResponse, now: number): DeliveryOutcome {
  const { status } = answer
  const why = `it responded with ${status}${formatError(answer)}`
  switch (status) {
    case 202:
      return Accepted.safeParse(tryParseJson(answer.text)).success
        ? { kind: 'accepted' }
        : { kind: 'later', why: 'it responded with 202 and a body that is not from a readership' }
    // The same signature was accepted before, and its rows with it.
    case 409:
      return Failed.safeParse(tryParseJson(answer.text)).data?.error.code === 'conflict'
        ? { kind: 'accepted' }
        : { kind: 'later', why: 'it responded with 409 and a body that is not from a readership' }
    case 400:
    case 413:
    case 415:
    case 422:
      return { kind: 'refused', why }
    case 401:
      return { kind: 'denied', why, hint: clockHint(answer, now), key: true }
    case 408:
    case 425:
    case 429: {
      const after = parseRetryAfter(answer.headers['retry-after'], now)
      return {
        kind: 'later',
        why,
        ...(after !== undefined && { after }),
        ...(status === 429 && { often: true as const }),
      }
    }
  }
  if (status >= 500) {
    const after = parseRetryAfter(answer.headers['retry-after'], now)
    return { kind: 'later', why, ...(after !== undefined && { after }) }
  }
  const { location } = answer.headers
  if (status >= 300 && status < 400)
    return { kind: 'denied', why: `${why}: a redirect to ${location ?? 'nowhere'}, which is not followed`, key: false }
  if (status >= 400) return { kind: 'denied', why, key: false }
  return { kind: 'later', why: `${why}, which is not from a readership` }
}

const formatError = ({ text }: CollectorResponse): string => {
  const said = Failed.safeParse(tryParseJson(text))
  if (!said.success) return ''
  const { code, message, field } = said.data.error
  return ` ${code}: ${message.slice(0, 200)}${field === undefined ? '' : ` (${field.slice(0, 200)})`}`
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns milliseconds from now for seconds or a date (RFC 9110 10.2.3), or undefined for any other value. */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(ms) ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms))
}

/** A signature is valid for five minutes by the collector's clock. */
const SIGNATURE_TOLERANCE_MS = 300_000

function clockHint({ headers }: CollectorResponse, now: number): string {
  const theirs = Date.parse(headers.date ?? '')
  // A 401 never says which part was wrong.
  if (Number.isNaN(theirs) || Math.abs(now - theirs) <= SIGNATURE_TOLERANCE_MS)
    return '; check --ingest-key-file and --site'
  const minutes = Math.round(Math.abs(now - theirs) / 60_000)
  const direction = now > theirs ? 'fast' : 'slow'
  return `; this machine's clock is ${minutes} min ${direction} compared with the collector's: synchronise both by NTP`
}
