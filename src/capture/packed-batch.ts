import { type Evidence, type Hit, isHit } from './hit.js'
import { OBSERVED_HEADERS, type Observation } from './observation.js'
import { truncate } from './text-limits.js'

/**
 * Observations and hits as bytes, which is how they wait and travel: as objects they would be copied by one garbage collection
 * after another on the thread that serves the site, until the worker has stored them.
 */
export interface PackedBatch {
  readonly count: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

export interface Packer {
  /** Copies what a row could need of it. Throws where it is no observation; nothing is added then. */
  add(evidence: Evidence): void
  /** Of what was added since the last `take`. */
  readonly count: number
  readonly byteLength: number
  take(): PackedBatch
}

/** No part of a row is made from more of one text than this; the rest of it a stranger made up to fill our memory. */
const MAX_TEXT_CHARACTERS = 8_192
const REQUIRED_TEXTS = ['timestamp', 'user_agent', 'method', 'hostname', 'pathname', 'content_type', 'ip'] as const
const OPTIONAL_TEXTS = ['query', 'referrer'] as const
/** The texts, what few observations have (as JSON), the headers. */
const FIELD_COUNT = REQUIRED_TEXTS.length + OPTIONAL_TEXTS.length + 1 + OBSERVED_HEADERS.length
const ABSENT = -1

/**
 * An observation from another process, made when it is read: of a batch each is garbage before the next one is made, where
 * all together would outlive a collection and be copied by it.
 */
export interface PackedObservation {
  readonly timestamp: string
  read(): Observation
}

export const readEvidence = (one: Evidence | PackedObservation): Evidence => ('read' in one ? one.read() : one)

/** An observation begins with its fields' lengths, in characters; then these; then all its texts, one behind another. */
const STATUS_OFFSET = FIELD_COUNT * 4
const BYTES_OFFSET = STATUS_OFFSET + 8
const DURATION_OFFSET = BYTES_OFFSET + 8
/** What stands behind the head, in bytes. */
const LENGTH_OFFSET = DURATION_OFFSET + 8
const CONDITIONAL_OFFSET = LENGTH_OFFSET + 4
/** How the texts are written: most observations are ASCII, and one byte a character. */
const FORM_OFFSET = CONDITIONAL_OFFSET + 1
const HEADER_BYTES = FORM_OFFSET + 1
const LATIN1_FORM = 0
const UTF16_FORM = 1
/** A hit: one text behind the head, JSON. */
const HIT_FORM = 2
const INITIAL_BUFFER_BYTES = 256 << 10

export function createPacker(): Packer {
  let scratch = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
  let view = new DataView(scratch.buffer)
  let end = 0
  let count = 0
  let text = ''
  let field = 0

  const put = (value: string | undefined, required = false) => {
    // A caller in JavaScript may hand over anything, and one wrong length would garble the rest of the parcel.
    if (typeof value !== 'string' && (required || value !== undefined))
      throw new TypeError('a field of the observation is no text')
    view.setInt32(end + field * 4, value === undefined ? ABSENT : value.length, true)
    if (value !== undefined) text += value
    field += 1
  }
  const putShort = (value: string | undefined, required = false) =>
    put(
      value !== undefined && value.length > MAX_TEXT_CHARACTERS ? truncate(value, MAX_TEXT_CHARACTERS) : value,
      required,
    )
  const reserve = (bytes: number) => {
    if (end + bytes <= scratch.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, end + bytes))
    scratch.copy(larger)
    scratch = larger
    view = new DataView(scratch.buffer)
  }

  const addHit = (hit: Hit) => {
    const json = JSON.stringify(hit)
    reserve(HEADER_BYTES + json.length * 3)
    const written = scratch.write(json, end + HEADER_BYTES, 'utf8')
    view.setInt32(end + LENGTH_OFFSET, written, true)
    view.setUint8(end + FORM_OFFSET, HIT_FORM)
    end += HEADER_BYTES + written
    count += 1
  }

  return {
    get count() {
      return count
    },
    get byteLength() {
      return end
    },
    add(evidence) {
      reserve(HEADER_BYTES)
      if (isHit(evidence)) return addHit(evidence)
      const observation = evidence
      text = ''
      field = 0
      for (const name of REQUIRED_TEXTS) putShort(observation[name], true)
      for (const name of OPTIONAL_TEXTS) putShort(observation[name])
      put(rareFieldsJson(observation))
      const { headers } = observation
      for (const name of OBSERVED_HEADERS) putShort(headers?.[name])
      view.setFloat64(end + STATUS_OFFSET, observation.status, true)
      view.setFloat64(end + BYTES_OFFSET, observation.bytes, true)
      view.setFloat64(end + DURATION_OFFSET, observation.duration_ms, true)
      view.setUint8(end + CONDITIONAL_OFFSET, observation.conditional)
      reserve(HEADER_BYTES + text.length * 3)
      let written = scratch.write(text, end + HEADER_BYTES, 'utf8')
      const wide = written !== text.length
      if (wide) written = scratch.write(text, end + HEADER_BYTES, 'utf16le')
      view.setInt32(end + LENGTH_OFFSET, written, true)
      view.setUint8(end + FORM_OFFSET, wide ? UTF16_FORM : LATIN1_FORM)
      end += HEADER_BYTES + written
      count += 1
    },
    take() {
      const parcel = { count, bytes: new Uint8Array(scratch.subarray(0, end)) }
      if (scratch.length > INITIAL_BUFFER_BYTES * 8) {
        scratch = Buffer.allocUnsafeSlow(INITIAL_BUFFER_BYTES)
        view = new DataView(scratch.buffer)
      }
      end = 0
      count = 0
      return parcel
    },
  }
}

export function packBatch(all: readonly Evidence[]): PackedBatch {
  const packer = createPacker()
  for (const evidence of all) packer.add(evidence)
  return packer.take()
}

/** What a parcel holds, each text on its own: a slice of a common one would keep all of that in memory. */
export function unpackBatch({ count, bytes }: PackedBatch): (PackedObservation | Hit)[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const all: (PackedObservation | Hit)[] = []
  let from = 0
  for (let n = 0; n < count; n++) {
    const start = from
    const texts = start + HEADER_BYTES
    from = texts + view.getInt32(start + LENGTH_OFFSET, true)
    const form = view.getUint8(start + FORM_OFFSET)
    if (form === HIT_FORM) {
      const hit: Hit = JSON.parse(buffer.toString('utf8', texts, from))
      all.push(hit)
      continue
    }
    const encoding = form === UTF16_FORM ? 'utf16le' : 'latin1'
    const length = view.getInt32(start, true) * (form === UTF16_FORM ? 2 : 1)
    const timestamp = buffer.toString(encoding, texts, texts + length)
    all.push({ timestamp, read: () => readObservation(buffer, view, start) })
  }
  return all
}

/** The observation that begins at `start`. */
function readObservation(buffer: Buffer, view: DataView, start: number): Observation {
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
    user_agent: next() ?? '',
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
  const rest = next()
  if (rest !== undefined) Object.assign(observation, JSON.parse(rest))
  let headers: Record<string, string> | undefined
  for (const name of OBSERVED_HEADERS) {
    const value = next()
    if (value === undefined) continue
    headers ??= {}
    headers[name] = value
  }
  if (headers !== undefined) observation.headers = headers
  return observation
}

/** What few observations have. */
function rareFieldsJson({ response, signed, shipped, opted_out }: Observation): string | undefined {
  if (response === undefined && signed === undefined && shipped === undefined && !opted_out) return undefined
  const kept: Pick<Observation, 'response' | 'signed' | 'shipped' | 'opted_out'> = {}
  if (opted_out) kept.opted_out = opted_out
  if (shipped !== undefined) kept.shipped = shipped
  if (response !== undefined) {
    const short: Record<string, string> = {}
    for (const name in response) short[name] = truncate(response[name] ?? '', 1_024)
    kept.response = short
  }
  // What was cut would be a wrong signature; without it nobody can tell.
  if (signed !== undefined && signed.authority.length + signed.target.length <= MAX_TEXT_CHARACTERS)
    kept.signed = signed
  return JSON.stringify(kept)
}
