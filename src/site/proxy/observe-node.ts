import type { IncomingMessage, ServerResponse } from 'node:http'
import { OBSERVED_RESPONSE_HEADERS, type Observation } from '../../capture/observation.js'
import { observeRequest, type RequestOverrides } from './observe-request.js'

const observed = new WeakSet<object>()

/**
 * Observes an exchange of a Node server and calls `done` once, when the response is over or the client has left. Call it
 * before anything writes: bytes are counted where they leave for the socket, after compression by middleware that wraps
 * the response later. Of a response that is cut short, only bytes that the system accepted count. Errors that `done`
 * throws are ignored, because the site must not fail.
 */
export function observe(
  req: IncomingMessage,
  res: ServerResponse,
  ip: string,
  done: (observation: Observation) => void,
  overrides: RequestOverrides = {},
): void {
  // A middleware that is mounted twice still sees one exchange.
  if (observed.has(res)) return
  observed.add(res)
  const request = observeRequest(req, ip, Date.now(), overrides)
  const startedAt = performance.now()
  const tally = tallyResponse(res)
  res.once('close', () => {
    const bodiless = request.method === 'HEAD' || res.statusCode === 204 || res.statusCode === 304
    const observation: Observation = {
      ...request,
      status: res.headersSent ? res.statusCode : 499,
      bytes: bodiless || !res.headersSent ? 0 : res.writableFinished ? tally.written : tally.accepted,
      duration_ms: Math.round(performance.now() - startedAt),
      content_type: res.headersSent ? tally.content_type || String(res.getHeader('content-type') ?? '') : '',
    }
    if (res.headersSent) {
      for (const name of OBSERVED_RESPONSE_HEADERS) {
        const value = res.getHeader(name)
        if (value !== undefined) keepFirst(tally, name, headerText(value))
      }
      if (tally.response !== undefined) observation.response = tally.response
    }
    try {
      done(observation)
    } catch {}
  })
}

interface ResponseTally {
  /** Bytes passed to `write` and `end`. */
  written: number
  /** Bytes that the system accepted. */
  accepted: number
  content_type: string
  response: Record<string, string> | undefined
}

/** Counts the bytes that pass through `write` and `end`, and keeps headers given to `writeHead`, which Node forgets. */
function tallyResponse(res: ServerResponse): ResponseTally {
  const tally: ResponseTally = { written: 0, accepted: 0, content_type: '', response: undefined }
  const { write, end, writeHead } = res
  res.write = (...args: unknown[]): boolean => {
    const size = res.writableEnded ? 0 : sizeOf(args[0], args[1])
    tally.written += size
    const at = args.findIndex((arg) => typeof arg === 'function')
    const callback = args[at]
    const accepted = (error?: Error | null) => {
      if (!error) tally.accepted += size
      if (typeof callback === 'function') callback(error)
    }
    return Reflect.apply(write, res, at < 0 ? [...args, accepted] : args.with(at, accepted))
  }
  res.end = (...args: unknown[]): ServerResponse => {
    // Needs no callback: `writableFinished` says whether the system accepted everything.
    if (!res.writableEnded) tally.written += sizeOf(args[0], args[1])
    return Reflect.apply(end, res, args)
  }
  res.writeHead = (...args: unknown[]): ServerResponse => {
    const fields = args.at(-1)
    if (typeof fields === 'object' && fields !== null) keepHeaders(tally, fields)
    return Reflect.apply(writeHead, res, args)
  }
  return tally
}

function sizeOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk, isEncoding(encoding) ? encoding : 'utf8')
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}

const isEncoding = (value: unknown): value is BufferEncoding => typeof value === 'string' && Buffer.isEncoding(value)

/** Keeps headers in each form that `writeHead` accepts: an object, `[name, value, ...]`, or `[[name, value], ...]`. */
function keepHeaders(tally: ResponseTally, fields: object): void {
  const list: unknown[] = Array.isArray(fields) ? fields.flat() : Object.entries(fields).flat()
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = String(list[i]).toLowerCase()
    if (name === 'content-type') tally.content_type ||= String(list[i + 1] ?? '')
    else if (OBSERVED_NAMES.has(name)) keepFirst(tally, name, headerText(list[i + 1]))
  }
}

const OBSERVED_NAMES: ReadonlySet<string> = new Set(OBSERVED_RESPONSE_HEADERS)

const headerText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))

/** Keeps the first value of a header: `writeHead`'s value is the one sent, and Node may hold another one as well. */
function keepFirst(tally: ResponseTally, name: string, value: string): void {
  tally.response ??= {}
  tally.response[name] ??= value
}
