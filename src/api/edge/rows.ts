import { z } from 'zod'
import { parseInstant } from '../../analytics/query/calendar.js'
import type { Hit } from '../../capture/hit.js'
import { OBSERVED_HEADERS, OBSERVED_RESPONSE_HEADERS, type Observation } from '../../capture/observation.js'
import { SiteId } from '../../manage/fields.js'
import { RULE_ACTIONS } from '../../rules/rule.js'
import { validate, validationError } from '../validation.js'

/** Fields that only the server sets. */
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

const MAX_ROWS_PER_LIST = 500
/** The same as the tolerance for the time of a signature. */
const MAX_AHEAD_MS = 5 * 60_000
/**
 * Equal to how long a sender's numbers are remembered: rows may wait for the end of an outage, but a sender that was silent
 * for longer could be stored twice.
 */
const MAX_AGE_MS = 90 * 86_400_000

const count = z.int().min(0)
const headersOf = (names: readonly string[]) =>
  z.record(z.string(), z.string()).describe(`As sent, by lower-case name: ${names.join(', ')}.`)

const Timestamp = z
  .string()
  .describe('ISO-8601 instant, at most five minutes in the future and 90 days old.')
  .meta({ format: 'date-time' })
const CommonFields = {
  timestamp: Timestamp,
  user_agent: z.string().describe('Empty if the request had none.'),
  hostname: z.string().describe('As requested; a port is removed.'),
  pathname: z.string().describe('As requested, without the query.'),
  query: z.string().nullish().describe('The query string, for campaigns.'),
  referrer: z.string().nullish(),
  headers: headersOf(OBSERVED_HEADERS).nullish(),
}

/** A row of `agent_events`. */
const AgentRow = z.object({
  ...CommonFields,
  method: z.string(),
  status: count.max(999),
  bytes: count.nullish().describe('Body bytes sent.'),
  duration_ms: count.nullish(),
  content_type: z.string().nullish(),
  conditional: z.union([z.literal(0), z.literal(1)], 'conditional must be 0 or 1.').nullish(),
  ip: z.string().nullish().describe('Not stored: used for country, network and verification, then hashed and dropped.'),
  response: headersOf(OBSERVED_RESPONSE_HEADERS).nullish(),
  decided: z
    .object({ rule: z.int().min(1).max(2_147_483_647), action: z.enum(RULE_ACTIONS) })
    .nullish()
    .describe("The site's rule that decided the fetch at the sender, with its action."),
  signed: z
    .object({ scheme: z.enum(['http', 'https']), authority: z.string(), target: z.string() })
    .nullish()
    .describe('For requests with Signature-Input: the other parts that an HTTP signature may cover.'),
})

/** A row of `events`: a page that was served to a person. */
const PersonRow = z.object({
  ...CommonFields,
  status: count.max(999).nullish().describe('200 if absent.'),
  duration_ms: count.nullish(),
  language: z.string().nullish().describe('The Accept-Language header.'),
  ip: z
    .string()
    .nullish()
    .describe(
      'Not stored: used for country and network and to tell visitors apart, then dropped. Without it, people with the same user agent are one visitor.',
    ),
  props: z.record(z.string(), z.unknown()).nullish(),
})

/** A hit that a browser sent to the track endpoint of another server. */
const HitRow = z.object({
  timestamp: Timestamp,
  user_agent: z.string(),
  ip: z.string(),
  headers: CommonFields.headers,
  payload: z.unknown().describe('As the browser sent it.'),
})

const Batch = z
  .object({
    sender: z.string().regex(/^[\da-f]{16}$/, 'batch.sender must be 16 lower-case hex digits.'),
    number: z.int().min(1),
  })
  .describe(
    'Identifies a delivery, so that it can be retried: a sender numbers its deliveries upwards and sends one at a time. A number that is not above the highest stored one is answered as accepted, and nothing is stored.',
  )
const list = <T extends z.ZodType>(row: T) =>
  z.array(row).max(MAX_ROWS_PER_LIST, `A list must have at most ${MAX_ROWS_PER_LIST} rows.`)
const envelopeShape = { site_id: SiteId, batch: Batch.nullish() }
const uncheckedList = list(z.unknown()).nullish()

/** The body, for the API document. */
export const EdgeBody = z.object({
  ...envelopeShape,
  agent_events: list(AgentRow).nullish().describe('Fetches by agents.'),
  events: list(PersonRow).nullish().describe('Pages served to people.'),
  hits: list(HitRow).nullish().describe('Browser hits that a server received and ships here.'),
})

/** The body without checks of its rows, which are read one by one up to the first wrong one. */
export const EdgeEnvelope = z.object({
  ...envelopeShape,
  agent_events: uncheckedList,
  events: uncheckedList,
  hits: uncheckedList,
})

/** Reads a row of `agent_events` as an observation. Throws `validation_error` with the field below `at`. */
export function readAgent(value: unknown, at: readonly PropertyKey[], site: number, now: number): Observation {
  rejectServerFields(value, at)
  const row = validate(AgentRow, value, at)
  const { response, signed, decided } = row
  const observation = createObservation(row, row.headers, at, now)
  observation.method = row.method
  observation.status = row.status
  observation.bytes = row.bytes ?? 0
  observation.content_type = row.content_type ?? ''
  observation.conditional = row.conditional ?? 0
  observation.shipped = { site, as: 'agent' }
  if (response) observation.response = pickHeaders(RESPONSE_HEADER_NAMES, response)
  if (signed) observation.signed = signed
  if (decided) observation.decided = decided
  return observation
}

/** Reads a row of `events` as an observation of an HTML page, which is all that is known about its response. */
export function readPerson(value: unknown, at: readonly PropertyKey[], site: number, now: number): Observation {
  rejectServerFields(value, at)
  const row = validate(PersonRow, value, at)
  const { language, headers, props } = row
  const observation = createObservation(row, language ? { 'accept-language': language, ...headers } : headers, at, now)
  observation.status = row.status ?? 200
  observation.shipped = props ? { site, as: 'human', props } : { site, as: 'human' }
  return observation
}

/** Reads a browser payload into a hit without the fields of its request; returns undefined if it is malformed. */
export type DecodePayload = (payload: unknown) => Omit<Hit, 'timestamp' | 'ip' | 'user_agent' | 'headers'> | undefined

/** Reads a row of `hits`; returns undefined if its payload is malformed. Throws as `readAgent`. */
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
      ...(headers ? { headers: pickHeaders(HEADER_NAMES, headers) } : {}),
    }
  )
}

function rejectServerFields(row: unknown, at: readonly PropertyKey[]): void {
  if (typeof row !== 'object' || row === null) return
  const name = SERVER_FIELDS.find((field) => Object.hasOwn(row, field))
  if (name !== undefined) throw validationError(`${name} must not be sent: the server determines it.`, [...at, name])
}

type CommonRow = z.output<z.ZodObject<typeof CommonFields>> & Pick<z.output<typeof PersonRow>, 'duration_ms' | 'ip'>

/**
 * Creates an observation of an HTML page from the fields that both kinds of rows have. All have the same shape from the
 * start: with spreads, making and packing a row took twice the CPU.
 */
function createObservation(
  row: CommonRow,
  headers: CommonRow['headers'],
  at: readonly PropertyKey[],
  now: number,
): Observation {
  const { query, referrer } = row
  // A query that was left on the path must not make a page of its own.
  const mark = row.pathname.indexOf('?')
  const search = query ?? (mark < 0 ? null : row.pathname.slice(mark))
  const observation: Observation = {
    timestamp: readTimestamp(row.timestamp, at, now),
    user_agent: row.user_agent,
    method: 'GET',
    hostname: row.hostname.replace(/:\d*$/, '').toLowerCase(),
    pathname: mark < 0 ? row.pathname : row.pathname.slice(0, mark) || '/',
    status: 200,
    bytes: 0,
    duration_ms: row.duration_ms ?? 0,
    content_type: 'text/html',
    conditional: 0,
    ip: row.ip ?? '',
  }
  if (search) observation.query = search.startsWith('?') ? search.slice(1) : search
  if (referrer) observation.referrer = referrer
  if (headers) observation.headers = pickHeaders(HEADER_NAMES, headers)
  return observation
}

const HEADER_NAMES: ReadonlySet<string> = new Set(OBSERVED_HEADERS)
const RESPONSE_HEADER_NAMES: ReadonlySet<string> = new Set(OBSERVED_RESPONSE_HEADERS)

/** Picks the headers that rows are made from. */
function pickHeaders(names: ReadonlySet<string>, headers: Readonly<Record<string, string>>): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) if (names.has(name)) picked[name] = value
  return picked
}

function readTimestamp(text: string, at: readonly PropertyKey[], now: number): string {
  const isCanonical = isCanonicalInstant(text)
  const ms = isCanonical ? Date.parse(text) : parseInstant(text)?.getTime()
  const wrong = (message: string) => validationError(message, [...at, 'timestamp'])
  if (ms === undefined) throw wrong('timestamp must be an ISO-8601 instant.')
  if (ms > now + MAX_AHEAD_MS) throw wrong('timestamp is more than five minutes in the future.')
  if (ms < now - MAX_AGE_MS) throw wrong('timestamp is more than 90 days old.')
  return isCanonical ? text : new Date(ms).toISOString()
}

/** An instant as `Date` writes it, on a day that every month has. */
const PLAIN_INSTANT = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** Whether a timestamp has the form that `Date` writes, as most have: it takes a tenth of the time to check. */
function isCanonicalInstant(text: string): boolean {
  if (PLAIN_INSTANT.test(text)) return true
  const ms = text.length === 24 ? Date.parse(text) : Number.NaN
  return Number.isFinite(ms) && new Date(ms).toISOString() === text
}
