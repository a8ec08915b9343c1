import { z } from 'zod'

/** What came back of an attempt. */
export interface Answer {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  /** Its beginning. */
  text: string
}

/** What an attempt came to. */
export type Outcome =
  /** The rows are committed, by this attempt or one before. */
  | { kind: 'accepted' }
  /** The rows are wrong, and would be again. */
  | { kind: 'refused'; why: string }
  /** The operator has to change something. */
  | { kind: 'denied'; why: string; hint?: string; key: boolean }
  /**
   * Nobody knows; the same again, not before `after` milliseconds where the collector says so. `often`: requests came too
   * often, with those of others at the same address. `gone`: nobody was there who could have had too much to do.
   */
  | { kind: 'later'; why: string; after?: number; often?: true; gone?: boolean }

/** Further ahead than this no Retry-After is taken at its word. */
const LONGEST_WAIT = 3_600_000
const Accepted = z.object({ data: z.object({ agent_events: z.number(), events: z.number() }) })
const Failed = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
})

/** What an answer means (spec 4.8, contract 6). `now` is this machine's time, in milliseconds since 1970. */
export function outcomeOf(answer: Answer, now: number): Outcome {
  const { status } = answer
  const why = `it answered ${status}${saidBy(answer)}`
  switch (status) {
    case 202:
      return Accepted.safeParse(jsonOf(answer.text)).success
        ? { kind: 'accepted' }
        : { kind: 'later', why: 'it answered 202 with something that is not the answer of a readership' }
    // An exact repeat of a signature that was accepted: so were its rows.
    case 409:
      return Failed.safeParse(jsonOf(answer.text)).data?.error.code === 'conflict'
        ? { kind: 'accepted' }
        : { kind: 'later', why: 'it answered 409 with something that is not the answer of a readership' }
    case 400:
    case 413:
    case 415:
    case 422:
      return { kind: 'refused', why }
    case 401:
      return { kind: 'denied', why, hint: skew(answer, now), key: true }
    case 408:
    case 425:
    case 429: {
      const after = retryAfter(answer.headers['retry-after'], now)
      return {
        kind: 'later',
        why,
        ...(after !== undefined && { after }),
        ...(status === 429 && { often: true as const }),
      }
    }
  }
  if (status >= 500) {
    const after = retryAfter(answer.headers['retry-after'], now)
    return { kind: 'later', why, ...(after !== undefined && { after }) }
  }
  const { location } = answer.headers
  if (status >= 300 && status < 400)
    return { kind: 'denied', why: `${why}: it sends on to ${location ?? 'nowhere'}, which is not followed`, key: false }
  if (status >= 400) return { kind: 'denied', why, key: false }
  return { kind: 'later', why: `${why}, which is no answer of a readership` }
}

const saidBy = ({ text }: Answer): string => {
  const said = Failed.safeParse(jsonOf(text))
  if (!said.success) return ''
  const { code, message, field } = said.data.error
  return ` ${code}: ${message.slice(0, 200)}${field === undefined ? '' : ` (${field.slice(0, 200)})`}`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Milliseconds from now: seconds or a date (RFC 9110 10.2.3); undefined where it is neither. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_WAIT, Math.max(0, ms))
}

/** Signatures are good for five minutes by the collector's clock (spec 5.6 rule 4). */
const TOLERANCE = 300_000

function skew({ headers }: Answer, now: number): string {
  const theirs = Date.parse(headers.date ?? '')
  // A stranger's 401 says no more, whatever did not fit.
  if (Number.isNaN(theirs) || Math.abs(now - theirs) <= TOLERANCE) return '; check --ingest-key-file and --site'
  const minutes = Math.round(Math.abs(now - theirs) / 60_000)
  return `; this machine's clock is ${minutes} min ${now > theirs ? 'ahead of' : 'behind'} the collector's: set both by NTP`
}
