import type { IncomingMessage, ServerResponse } from 'node:http'
import { OBSERVED_RESPONSE_HEADERS, type Observation } from '../capture/observation.js'
import { observeRequest, type RequestOverrides } from './observe-request.js'

const observed = new WeakSet<object>()

/**
 * Watches a Node exchange and calls `done` once, when the response is over, also when the client leaves. Call it before
 * anything writes: bytes are counted where they leave for the socket, after compression by whatever wraps the response
 * later. On a response cut short only what the system took is counted. What `done` throws goes nowhere: the site comes
 * first.
 */
export function observe(
  req: IncomingMessage,
  res: ServerResponse,
  ip: string,
  done: (observation: Observation) => void,
  seen: RequestOverrides = {},
): void {
  // Mounted twice is still one exchange.
  if (observed.has(res)) return
  observed.add(res)
  const facts = observeRequest(req, ip, Date.now(), seen)
  const started = performance.now()
  const counted = countBytes(res)
  res.once('close', () => {
    const bodiless = facts.method === 'HEAD' || res.statusCode === 204 || res.statusCode === 304
    const observation: Observation = {
      ...facts,
      status: res.headersSent ? res.statusCode : 499,
      bytes: bodiless || !res.headersSent ? 0 : res.writableFinished ? counted.handed : counted.taken,
      duration_ms: Math.round(performance.now() - started),
      content_type: res.headersSent ? counted.content_type || String(res.getHeader('content-type') ?? '') : '',
    }
    if (res.headersSent) {
      for (const name of OBSERVED_RESPONSE_HEADERS) {
        const kept = res.getHeader(name)
        if (kept !== undefined) keepFirst(counted, name, headerText(kept))
      }
      if (counted.response !== undefined) observation.response = counted.response
    }
    try {
      done(observation)
    } catch {}
  })
}

interface ResponseTally {
  handed: number
  taken: number
  content_type: string
  response: Record<string, string> | undefined
}

/**
 * Counts what passes through `write` and `end`, and notes of the fields that `writeHead` was given, which Node does not
 * keep, those that an observation has.
 */
function countBytes(res: ServerResponse): ResponseTally {
  const counted: ResponseTally = { handed: 0, taken: 0, content_type: '', response: undefined }
  const { write, end, writeHead } = res
  res.write = (...args: unknown[]): boolean => {
    const size = res.writableEnded ? 0 : sizeOf(args[0], args[1])
    counted.handed += size
    const at = args.findIndex((arg) => typeof arg === 'function')
    const callback = args[at]
    const taken = (error?: Error | null) => {
      if (!error) counted.taken += size
      if (typeof callback === 'function') callback(error)
    }
    return Reflect.apply(write, res, at < 0 ? [...args, taken] : args.with(at, taken))
  }
  res.end = (...args: unknown[]): ServerResponse => {
    // No callback: that end() was taken whole is what `writableFinished` says.
    if (!res.writableEnded) counted.handed += sizeOf(args[0], args[1])
    return Reflect.apply(end, res, args)
  }
  res.writeHead = (...args: unknown[]): ServerResponse => {
    const fields = args.at(-1)
    if (typeof fields === 'object' && fields !== null) keepHeaders(counted, fields)
    return Reflect.apply(writeHead, res, args)
  }
  return counted
}

function sizeOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk, isEncoding(encoding) ? encoding : 'utf8')
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}

const isEncoding = (value: unknown): value is BufferEncoding => typeof value === 'string' && Buffer.isEncoding(value)

/** From what `writeHead` takes: an object, `[name, value, ...]`, or `[[name, value], ...]`. */
function keepHeaders(counted: ResponseTally, fields: object): void {
  const list: unknown[] = Array.isArray(fields) ? fields.flat() : Object.entries(fields).flat()
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = String(list[i]).toLowerCase()
    if (name === 'content-type') counted.content_type ||= String(list[i + 1] ?? '')
    else if (OBSERVED_NAMES.has(name)) keepFirst(counted, name, headerText(list[i + 1]))
  }
}

const OBSERVED_NAMES: ReadonlySet<string> = new Set(OBSERVED_RESPONSE_HEADERS)

const headerText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))

/** The first word counts: what `writeHead` was given is what was sent, and Node may have kept it as well. */
function keepFirst(counted: ResponseTally, name: string, value: string): void {
  counted.response ??= {}
  counted.response[name] ??= value
}
