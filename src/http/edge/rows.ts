import { z } from 'zod'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS, OBSERVED_RESPONSE_HEADERS, type Observation } from '../../capture/observation.js'
import { SiteId } from '../../manage/fields.js'
import { parseInstant } from '../../query/calendar.js'
import { validate, validationError } from '../validation.js'

/** What the server establishes itself (spec 2.5 rule 3). */
const SERVER_FIELDS = [
  'agent_id',
  'operator',
  'purpose',
  'verified',
  'asn',
  'country',
  'ip_hash',
  'robots_allowed',
  'llms_listed',
] as const

/** Rows of one list (spec 8). */
export const MAX_ROWS_PER_LIST = 500
/** As the signature's own time. */
const MAX_AHEAD_MS = 5 * 60_000
/** As long as its sender is remembered: an outage may last, and a sender that was silent for longer may repeat itself. */
const MAX_AGE_MS = 90 * 86_400_000

const count = z.int().min(0)
const headersOf = (names: readonly string[]) =>
  z.record(z.string(), z.string()).describe(`As sent, by lower-case name: ${names.join(', ')}.`)

const Timestamp = z
  .string()
  .describe('ISO-8601 instant, at most five minutes ahead and 90 days old.')
  .meta({ format: 'date-time' })
const CommonFields = {
  timestamp: Timestamp,
  user_agent: z.string().describe('Empty where there was none.'),
  hostname: z.string().describe('As asked for; a port is cut off.'),
  pathname: z.string().describe('As asked for, without the query.'),
  query: z.string().nullish().describe('The query string: campaigns are read from it.'),
  referrer: z.string().nullish(),
  headers: headersOf(OBSERVED_HEADERS).nullish(),
}

/** A row of `agent_events` (spec 2.5). */
export const AgentRow = z.object({
  ...CommonFields,
  method: z.string(),
  status: count.max(999),
  bytes: count.nullish().describe('Body bytes sent.'),
  duration_ms: count.nullish(),
  content_type: z.string().nullish(),
  conditional: z.union([z.literal(0), z.literal(1)], 'must be 0 or 1').nullish(),
  ip: z.string().nullish().describe('Transport only: resolved, checked, hashed and dropped.'),
  response: headersOf(OBSERVED_RESPONSE_HEADERS).nullish(),
  signed: z
    .object({ scheme: z.enum(['http', 'https']), authority: z.string(), target: z.string() })
    .nullish()
    .describe('Of a request with Signature-Input: what else a signature may cover.'),
})

/** A row of `events`: a page that a person was given (contract 6). */
export const PersonRow = z.object({
  ...CommonFields,
  status: count.max(999).nullish().describe('200 where it is not given.'),
  duration_ms: count.nullish(),
  language: z.string().nullish().describe('The Accept-Language header.'),
  ip: z.string().describe('Transport only: a visitor is told apart by it, and it is dropped.'),
  props: z.record(z.string(), z.unknown()).nullish(),
})

/** A browser's hit that another server's own door took. */
export const HitRow = z.object({
  timestamp: Timestamp,
  user_agent: z.string(),
  ip: z.string(),
  headers: CommonFields.headers,
  payload: z.unknown().describe('As the browser sent it.'),
})

const Batch = z
  .object({
    sender: z.string().regex(/^[\da-f]{16}$/, 'A sender is 16 hex digits.'),
    number: z.int().min(1),
  })
  .describe(
    'Deliveries of one sender, numbered upwards and sent one at a time: one whose number is not above the highest stored is answered as accepted, and nothing is written.',
  )
const list = <T extends z.ZodType>(row: T) =>
  z.array(row).max(MAX_ROWS_PER_LIST, `A list has at most ${MAX_ROWS_PER_LIST} rows.`)
const envelopeShape = { site_id: SiteId, batch: Batch.nullish() }
const uncheckedList = list(z.unknown()).nullish()

/** The body as the document has it. */
export const EdgeBody = z.object({
  ...envelopeShape,
  agent_events: list(AgentRow).nullish().describe('What crawlers fetched.'),
  events: list(PersonRow).nullish().describe('Pages that people were given.'),
  hits: list(HitRow).nullish().describe('What browsers told a server that ships to this one.'),
})

/** The body but for its rows: each is read by itself, up to the first that is wrong. */
export const EdgeEnvelope = z.object({
  ...envelopeShape,
  agent_events: uncheckedList,
  events: uncheckedList,
  hits: uncheckedList,
})

/** A row of `agent_events` as what the wire saw. Throws `validation_error` with the field below `at`. */
export function readAgent(value: unknown, at: readonly PropertyKey[], site: number, now: number): Observation {
  rejectServerFields(value, at)
  const row = validate(AgentRow, value, at)
  const { response, signed } = row
  return {
    ...readCommonFields(row, at, now),
    method: row.method,
    status: row.status,
    bytes: row.bytes ?? 0,
    duration_ms: row.duration_ms ?? 0,
    content_type: row.content_type ?? '',
    conditional: row.conditional ?? 0,
    ip: row.ip ?? '',
    ...(response ? { response: pickHeaders(OBSERVED_RESPONSE_HEADERS, response) } : {}),
    ...(signed ? { signed } : {}),
    shipped: { site, as: 'agent' },
  }
}

/** The same of `events`: it was a page, which is all that is known of its response. */
export function readPerson(value: unknown, at: readonly PropertyKey[], site: number, now: number): Observation {
  rejectServerFields(value, at)
  const row = validate(PersonRow, value, at)
  const { language, headers, props } = row
  const told = { ...(language ? { 'accept-language': language } : {}), ...headers }
  return {
    ...readCommonFields({ ...row, headers: told }, at, now),
    method: 'GET',
    status: row.status ?? 200,
    bytes: 0,
    duration_ms: row.duration_ms ?? 0,
    content_type: 'text/html',
    conditional: 0,
    ip: row.ip,
    shipped: { site, as: 'human', ...(props ? { props } : {}) },
  }
}

/** What a payload says, but for what its request adds; undefined where it is none. */
export type DecodePayload = (payload: unknown) => Omit<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers'> | undefined

/** A row of `hits`; undefined where its payload is none. Throws as the others do. */
export function readHit(
  value: unknown,
  at: readonly PropertyKey[],
  decode: DecodePayload,
  now: number,
): Hit | undefined {
  const { timestamp, user_agent, ip, headers, payload } = validate(HitRow, value, at)
  const instant = readTimestamp(timestamp, at, now)
  const hit = decode(payload)
  return (
    hit && {
      ...hit,
      timestamp: instant,
      user_agent,
      ip,
      ...(headers ? { headers: pickHeaders(OBSERVED_HEADERS, headers) } : {}),
    }
  )
}

function rejectServerFields(row: unknown, at: readonly PropertyKey[]): void {
  if (typeof row !== 'object' || row === null) return
  const name = SERVER_FIELDS.find((one) => Object.hasOwn(row, one))
  if (name !== undefined) throw validationError(`The server establishes ${name} by itself.`, [...at, name])
}

function readCommonFields(
  row: z.output<z.ZodObject<typeof CommonFields>>,
  at: readonly PropertyKey[],
  now: number,
): Pick<Observation, keyof typeof CommonFields> {
  const { user_agent, query, referrer, headers } = row
  // One that has its query on it all the same is not a page for each of them.
  const mark = row.pathname.indexOf('?')
  const asked = query ?? (mark < 0 ? null : row.pathname.slice(mark))
  return {
    timestamp: readTimestamp(row.timestamp, at, now),
    user_agent,
    hostname: row.hostname.replace(/:\d*$/, '').toLowerCase(),
    pathname: mark < 0 ? row.pathname : row.pathname.slice(0, mark) || '/',
    ...(asked ? { query: asked.startsWith('?') ? asked.slice(1) : asked } : {}),
    ...(referrer ? { referrer } : {}),
    ...(headers ? { headers: pickHeaders(OBSERVED_HEADERS, headers) } : {}),
  }
}

/** Those of the headers that rows are made from. */
function pickHeaders(names: readonly string[], headers: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    if (value !== undefined) found[name] = value
  }
  return found
}

function readTimestamp(text: string, at: readonly PropertyKey[], now: number): string {
  const ms = parseTimestampMs(text)
  const wrong = (message: string) => validationError(message, [...at, 'timestamp'])
  if (ms === undefined) throw wrong('A timestamp is an ISO-8601 instant.')
  if (ms > now + MAX_AHEAD_MS) throw wrong('It lies more than five minutes ahead.')
  if (ms < now - MAX_AGE_MS) throw wrong('It lies more than 90 days back.')
  return new Date(ms).toISOString()
}

/** Most are in the one form that a `Date` writes, which costs a tenth to read. */
function parseTimestampMs(text: string): number | undefined {
  const ms = Date.parse(text)
  if (text.length === 24 && Number.isFinite(ms) && new Date(ms).toISOString() === text) return ms
  return parseInstant(text)?.getTime()
}
