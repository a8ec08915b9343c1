import type { OnSampledPage } from '../../capture/sampled-page.js'
import type { Exchange } from './exchange.js'
import { isNavigation } from './inject/injection.js'
import { hostnameOf } from './observe-request.js'

/** Copies the body of one response on its way to the client. */
export interface PageCopy {
  update(part: Uint8Array): void
  /** The body is complete. */
  end(): void
}

export type PageSampler = ReturnType<typeof createPageSampler>

/** Time between two samples of one URL for clients of one kind, ms. */
const URL_INTERVAL_MS = 600_000
/** Time between two samples of the process, ms. After a large body it is longer: both bound the work of the worker. */
const SAMPLE_INTERVAL_MS = 500
/** Bytes of a second that the worker reads; a compressed body counts four times. */
const BYTES_PER_SECOND = 128 * 1024
const COMPRESSED_WEIGHT = 4
const MAX_BODY_BYTES = 512 * 1024
/** Bounds memory, because a client may ask for any path. A URL that was forgotten is sampled once more. */
const MAX_URLS = 4_096
/** Copies that are in progress. A new one ends the oldest: its client or origin is slow, or gone. */
const MAX_COPIES = 8
/** A validator stands for a page for so long; then the body is read again, in case the origin's validators do not change. */
const VALIDATOR_TRUST_MS = 3_600_000

const PAGE_TYPE = /^\s*text\/html\s*(?:;|$)/i
const PERSONAL_CACHE = /(?:^|[,\s])(?:private|no-store)(?:[,\s=]|$)/i
const BY_LANGUAGE = /(?:^|[,\s])accept-language(?:[,\s]|$)/i

/** A user agent that says that it is a program, or that no browser of today has. */
const PROGRAM = /^(?!Mozilla\/5\.0 \()|\bcompatible;|bot\/|https?:/i

interface SampledUrl {
  at: number
  /** The strong validator of the body that was copied last, and when that was. */
  validator?: string | undefined
  readAt: number
}

/**
 * Chooses few responses whose bodies are copied, so that the worker can tell when a page changed. A response is a page
 * for everyone if nothing in its request or its head says that it is about one person; no other one is copied.
 */
export function createPageSampler(take: OnSampledPage) {
  const urls = new Map<string, SampledUrl>()
  let copies: Copy[] = []
  let nextAt = Number.NEGATIVE_INFINITY

  const send: OnSampledPage = (page) => {
    try {
      take(page)
    } catch {
      // The page is sampled again later; the site goes on.
    }
  }
  const remember = (key: string, url: SampledUrl) => {
    urls.delete(key)
    const [oldest] = urls.size >= MAX_URLS ? urls.keys() : []
    if (oldest !== undefined) urls.delete(oldest)
    urls.set(key, url)
  }

  return {
    /** Begins to copy a response with these fields of the origin. Returns undefined for those that are not sampled. */
    begin(exchange: Exchange, status: number, content_type: string, fields: readonly string[]): PageCopy | undefined {
      const { method, path, host, req, startedAt, arrivedAt } = exchange
      if (startedAt < nextAt || status !== 200 || method !== 'GET' || !PAGE_TYPE.test(content_type)) return undefined
      // Agents may get another text: each kind of client has samples of its own.
      const is_agent = PROGRAM.test(req.headers['user-agent'] ?? '')
      const key = `${is_agent} ${host}${path}`
      const last = urls.get(key)
      if (last !== undefined && startedAt - last.at < URL_INTERVAL_MS) return undefined
      const head = readHead(fields)
      if (head === undefined || !isForEveryone(exchange, head)) return undefined
      nextAt = startedAt + SAMPLE_INTERVAL_MS
      const { coding, validator } = head
      const page = {
        hostname: hostnameOf(host),
        pathname: path,
        at: arrivedAt,
        is_agent,
        content_type,
        coding,
        validator,
      }
      const isKnown = validator !== undefined && validator === last?.validator
      if (isKnown && startedAt - last.readAt < VALIDATOR_TRUST_MS) {
        remember(key, { ...last, at: startedAt })
        send(page)
        return undefined
      }
      remember(key, { at: startedAt, readAt: startedAt })
      const copy = new Copy((body) => {
        copies = copies.filter((other) => other !== copy)
        if (body === undefined) return
        const weight = body.length * (coding === '' ? 1 : COMPRESSED_WEIGHT)
        nextAt = Math.max(nextAt, startedAt + (weight / BYTES_PER_SECOND) * 1_000)
        remember(key, { at: startedAt, readAt: startedAt, validator })
        send({ ...page, body })
      })
      if (copies.length >= MAX_COPIES) copies.shift()?.stop()
      copies.push(copy)
      return copy
    },
  }
}

class Copy implements PageCopy {
  #parts: Uint8Array[] | undefined = []
  #bytes = 0

  constructor(readonly done: (body: Uint8Array | undefined) => void) {}

  /** Copies a part, which is only valid during the call. */
  update(part: Uint8Array): void {
    if (this.#parts === undefined) return
    this.#bytes += part.length
    if (this.#bytes > MAX_BODY_BYTES) this.stop()
    else this.#parts.push(Buffer.from(part))
  }

  end(): void {
    const parts = this.#parts
    if (parts === undefined) return
    this.#parts = undefined
    this.done(Buffer.concat(parts, this.#bytes))
  }

  stop(): void {
    if (this.#parts === undefined) return
    this.#parts = undefined
    this.done(undefined)
  }
}

interface SampledHead {
  coding: string
  /** A strong entity tag, else the modification date (RFC 9110 8.8). */
  validator: string | undefined
  variesByLanguage: boolean
}

/** Reads a response's fields; undefined if one of them says that the response is about one person. */
function readHead(fields: readonly string[]): SampledHead | undefined {
  let [coding, tag, modified, variesByLanguage] = ['', '', '', false]
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const value = fields[i + 1] ?? ''
    switch (fields[i]?.toLowerCase()) {
      case 'set-cookie':
        return undefined
      case 'cache-control':
        if (PERSONAL_CACHE.test(value)) return undefined
        break
      case 'content-encoding':
        coding = coding === '' ? value.trim().toLowerCase() : 'several'
        break
      case 'etag':
        tag = value.trim()
        break
      case 'last-modified':
        modified = value.trim()
        break
      case 'vary':
        variesByLanguage ||= BY_LANGUAGE.test(value)
    }
  }
  const strong = tag.startsWith('"') ? tag : tag === '' ? modified : ''
  return { coding, validator: strong === '' ? undefined : strong, variesByLanguage }
}

/** A query may name a person or hold a secret, and a script that asks for a part of a page gets no page. */
function isForEveryone({ path, req }: Exchange, { variesByLanguage }: SampledHead): boolean {
  const { headers } = req
  if (path.includes('?') || headers.cookie !== undefined || headers.authorization !== undefined) return false
  return isNavigation(req) && !(variesByLanguage && headers['accept-language'] !== undefined)
}
