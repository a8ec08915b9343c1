import { truncate } from '../base/text-limits.js'
import { type Client, createClientCache } from './client-cache.js'
import { type Evidence, type Hit, isHit } from './hit.js'
import { OBSERVED_HEADERS, type Observation } from './observation.js'

/**
 * Observations and hits as bytes, which is how they wait and travel. As objects they would be copied by one garbage
 * collection after another on the thread that serves the site, until the worker has stored them.
 */
export interface PackedBatch {
  readonly count: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** No part of a row is made from more of one text than this; a longer text only fills memory. */
const MAX_TEXT_CHARACTERS = 8_192
const REQUIRED_TEXTS = ['timestamp', 'method', 'hostname', 'pathname', 'content_type', 'ip'] as const
const OPTIONAL_TEXTS = ['query', 'referrer', 'head_form'] as const
/** After the texts and the rare fields (as JSON) come those of the client: its user agent and the headers. */
const CLIENT_FIELD = REQUIRED_TEXTS.length + OPTIONAL_TEXTS.length + 1
const FIELD_COUNT = CLIENT_FIELD + 1 + OBSERVED_HEADERS.length
const ABSENT = -1

/**
 * An observation from another process, unpacked when it is read: each is garbage before the next one is made, where all
 * of a batch together would outlive a garbage collection and be copied by it.
 */
export interface PackedObservation {
  /** As that of the observation, or the same time in milliseconds since 1970. */
  readonly timestamp: string | number
  read(): Observation
}

export const readEvidence = (one: Evidence | PackedObservation): Evidence => ('read' in one ? one.read() : one)

/** An observation starts with the lengths of its fields in characters; then these numbers; then all texts in a row. */
const STATUS_OFFSET = FIELD_COUNT * 4
const BYTES_OFFSET = STATUS_OFFSET + 8
const DURATION_OFFSET = BYTES_OFFSET + 8
/** The length of the texts in bytes. */
const LENGTH_OFFSET = DURATION_OFFSET + 8
const CONDITIONAL_OFFSET = LENGTH_OFFSET + 4
/** How the texts are encoded. Most observations are ASCII and take one byte a character. */
const FORM_OFFSET = CONDITIONAL_OFFSET + 1
const HEADER_BYTES = FORM_OFFSET + 1
const LATIN1_FORM = 0
const UTF16_FORM = 1
/** A hit: one text after the header, JSON. */
const HIT_FORM = 2
const INITIAL_BUFFER_BYTES = 256 << 10

const truncateText = (value: string | undefined): string | undefined =>
  value !== undefined && value.length > MAX_TEXT_CHARACTERS ? truncate(value, MAX_TEXT_CHARACTERS) : value

/** Creates a packer, which copies evidence into one growing buffer. */
export function createPacker() {
  let scratch = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
  let view = new DataView(scratch.buffer)
  let end = 0
  let count = 0
  let text = ''
  let field = 0

  const put = (value: string | undefined, required = false) => {
    // A caller in JavaScript may pass anything, and one wrong length would garble the rest of the batch.
    if (typeof value !== 'string' && (required || value !== undefined))
      throw new TypeError('every text field of an observation must be a string')
    view.setInt32(end + field * 4, value === undefined ? ABSENT : value.length, true)
    if (value !== undefined) text += value
    field += 1
  }
  const reserve = (bytes: number) => {
    if (end + bytes <= scratch.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, end + bytes))
    scratch.copy(larger)
    scratch = larger
    view = new DataView(scratch.buffer)
  }
  const finish = (written: number, form: number) => {
    view.setInt32(end + LENGTH_OFFSET, written, true)
    view.setUint8(end + FORM_OFFSET, form)
    end += HEADER_BYTES + written
    count += 1
  }
  const addHit = (hit: Hit) => {
    const json = JSON.stringify(hit)
    reserve(HEADER_BYTES + json.length * 3)
    finish(scratch.write(json, end + HEADER_BYTES, 'utf8'), HIT_FORM)
  }
  const addObservation = (observation: Observation) => {
    text = ''
    field = 0
    for (const name of REQUIRED_TEXTS) put(truncateText(observation[name]), true)
    for (const name of OPTIONAL_TEXTS) put(truncateText(observation[name]))
    put(rareFieldsJson(observation))
    const { headers } = observation
    put(truncateText(observation.user_agent), true)
    for (const name of OBSERVED_HEADERS) put(truncateText(headers?.[name]))
    view.setFloat64(end + STATUS_OFFSET, observation.status, true)
    view.setFloat64(end + BYTES_OFFSET, observation.bytes, true)
    view.setFloat64(end + DURATION_OFFSET, observation.duration_ms, true)
    view.setUint8(end + CONDITIONAL_OFFSET, observation.conditional)
    reserve(HEADER_BYTES + text.length * 3)
    const written = scratch.write(text, end + HEADER_BYTES, 'utf8')
    if (written === text.length) finish(written, LATIN1_FORM)
    else finish(scratch.write(text, end + HEADER_BYTES, 'utf16le'), UTF16_FORM)
  }

  return {
    /** Number of observations and hits added since the last `take`. */
    get count() {
      return count
    },
    get byteLength() {
      return end
    },
    /** Copies what a row may need. Throws if `evidence` is not an observation or hit; nothing is added then. */
    add(evidence: Evidence) {
      reserve(HEADER_BYTES)
      if (isHit(evidence)) addHit(evidence)
      else addObservation(evidence)
    },
    take(): PackedBatch {
      const batch = { count, bytes: new Uint8Array(scratch.subarray(0, end)) }
      if (scratch.length > INITIAL_BUFFER_BYTES * 8) {
        scratch = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
        view = new DataView(scratch.buffer)
      }
      end = 0
      count = 0
      return batch
    },
  }
}

export function packBatch(all: readonly Evidence[]): PackedBatch {
  const packer = createPacker()
  for (const evidence of all) packer.add(evidence)
  return packer.take()
}

/** Unpacks a batch. Each text is a string of its own: a slice of a common one would keep the whole batch in memory. */
export function unpackBatch({ count, bytes }: PackedBatch): (PackedObservation | Hit)[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const all: (PackedObservation | Hit)[] = []
  const parseRare = createRareFieldsParser()
  let next = 0
  for (let n = 0; n < count; n++) {
    const start = next
    const texts = start + HEADER_BYTES
    next = texts + view.getInt32(start + LENGTH_OFFSET, true)
    const form = view.getUint8(start + FORM_OFFSET)
    if (form === HIT_FORM) {
      const hit: Hit = JSON.parse(buffer.toString('utf8', texts, next))
      all.push(hit)
      continue
    }
    const encoding = form === UTF16_FORM ? 'utf16le' : 'latin1'
    const length = view.getInt32(start, true) * (form === UTF16_FORM ? 2 : 1)
    const timestamp = buffer.toString(encoding, texts, texts + length)
    all.push({ timestamp, read: () => readObservation(buffer, view, start, parseRare) })
  }
  return all
}

/** Reads the observation that starts at byte `start`. */
function readObservation(
  buffer: Buffer,
  view: DataView,
  start: number,
  parseRare: (json: string) => Partial<Observation>,
): Observation {
  const wide = view.getUint8(start + FORM_OFFSET) === UTF16_FORM
  let at = start + HEADER_BYTES
  let field = 0
  const next = (): string | undefined => {
    const length = view.getInt32(start + field * 4, true)
    field += 1
    if (length === ABSENT) return undefined
    const from = at
    at += wide ? length * 2 : length
    return buffer.toString(wide ? 'utf16le' : 'latin1', from, at)
  }
  const observation: Observation = {
    timestamp: next() ?? '',
    user_agent: '',
    method: next() ?? '',
    hostname: next() ?? '',
    pathname: next() ?? '',
    content_type: next() ?? '',
    ip: next() ?? '',
    status: view.getFloat64(start + STATUS_OFFSET, true),
    bytes: view.getFloat64(start + BYTES_OFFSET, true),
    duration_ms: view.getFloat64(start + DURATION_OFFSET, true),
    conditional: view.getUint8(start + CONDITIONAL_OFFSET) === 1 ? 1 : 0,
  }
  const query = next()
  if (query !== undefined) observation.query = query
  const referrer = next()
  if (referrer !== undefined) observation.referrer = referrer
  const head_form = next()
  if (head_form !== undefined) observation.head_form = head_form
  const rare = next()
  if (rare !== undefined) Object.assign(observation, parseRare(rare))
  const lengths = start + CLIENT_FIELD * 4
  const textsEnd = start + HEADER_BYTES + view.getInt32(start + LENGTH_OFFSET, true)
  const { user_agent, headers } = wide
    ? readClient(next)
    : findClient({ view, lengths, lengthsEnd: start + FIELD_COUNT * 4, texts: at, textsEnd }, () => readClient(next))
  observation.user_agent = user_agent
  if (headers !== undefined) observation.headers = headers
  return observation
}

const findClient = createClientCache()

/** Reads the user agent and the headers, the last fields of an observation. */
function readClient(next: () => string | undefined): Client {
  const user_agent = next() ?? ''
  let headers: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = next()
    if (value === undefined) continue
    headers ??= {}
    headers[name] = value
  }
  return { user_agent, headers }
}

/** Returns a function that parses rare fields: those of all rows that another server shipped are mostly the same. */
function createRareFieldsParser(): (json: string) => Partial<Observation> {
  let last = ''
  let parsed: Partial<Observation> = {}
  return (json) => {
    if (json !== last) parsed = JSON.parse(json)
    last = json
    return parsed
  }
}

/** Returns the fields that few observations have, as JSON; undefined if it has none of them. */
function rareFieldsJson({
  response,
  signed,
  shipped,
  opted_out,
  decided,
  redirected,
}: Observation): string | undefined {
  if ((response ?? signed ?? shipped ?? decided ?? redirected) === undefined && !opted_out) return undefined
  const rare: Pick<Observation, 'response' | 'signed' | 'shipped' | 'opted_out' | 'decided' | 'redirected'> = {}
  if (decided !== undefined) rare.decided = decided
  if (redirected) rare.redirected = redirected
  if (opted_out) rare.opted_out = opted_out
  if (shipped !== undefined) rare.shipped = shipped
  if (response !== undefined) {
    const short: Record<string, string> = {}
    for (const name in response) short[name] = truncate(response[name] ?? '', 1_024)
    rare.response = short
  }
  // A truncated target would make the signature wrong; without the target it is only unverifiable.
  if (signed !== undefined && signed.authority.length + signed.target.length <= MAX_TEXT_CHARACTERS)
    rare.signed = signed
  return JSON.stringify(rare)
}
