import type { Exchange } from '../exchange.js'
import { hostnameOf, schemeOf } from '../facts.js'
import type { ResponseHead } from '../headers.js'
import { CodedPage } from './coded-page.js'
import { admittance } from './content-security.js'
import { confirmed, restored } from './entity-tag.js'
import type { Target } from './head.js'
import type { Client, Page } from './page.js'
import { PlainPage } from './plain-page.js'
import { navigates } from './request.js'
import { responseOf } from './response.js'

/**
 * The address of the tracker's script for the pages of a hostname (lower case, without port), as an absolute path
 * `<base path>/script....js?site=<id>`; undefined where they stay as they are.
 */
export type ScriptOf = (hostname: string) => string | undefined

/** Adds the tracker's tag to the pages that people are shown. */
export interface Injection {
  /** A request's fields for the origin: validators of pages with our tag become the origin's own again. In place. */
  ask(exchange: Exchange, fields: string[]): void
  /** The page that an answer is, where it may get the tag; it then sends the answer. `head` may be changed. */
  page(exchange: Exchange, status: number, head: ResponseHead, client: Client): Page | undefined
}

/** Not `If-Range`: a part of the origin's page would be put into a copy that has the tag. */
const CONDITIONS = ['if-none-match', 'if-match']

/** Compressed pages on their way at once: each holds about 350 KB, and a slow client keeps it. More stay as they are. */
const CODED = 256

export function createInjection(scriptOf: ScriptOf): Injection {
  let coded = 0
  const target = (exchange: Exchange, policies: readonly string[], xml: boolean): Target | undefined => {
    const { host, req, hop } = exchange
    const src = scriptOf(hostnameOf(host))
    if (src === undefined) return undefined
    const one: Target = { src, host, scheme: schemeOf(req, hop), policies, xml }
    return policies.length > 0 && admittance(policies, one) === undefined ? undefined : one
  }
  return {
    ask({ req }, fields) {
      if (CONDITIONS.every((name) => req.headers[name] === undefined)) return
      for (let i = 0; i + 1 < fields.length; i += 2) {
        if (CONDITIONS.includes(fields[i]?.toLowerCase() ?? '')) fields[i + 1] = restored(fields[i + 1] ?? '')
      }
    },
    page(exchange, status, { content_type, fields }, client) {
      const { req, method } = exchange
      if (status === 304) confirm(fields, req.headers['if-none-match'])
      if (status !== 200 || method !== 'GET') return undefined
      const response = responseOf(content_type, fields)
      if (response === undefined || !navigates(req)) return undefined
      const { coding, policies, xml } = response
      if (coding !== '' && coded >= CODED) return undefined
      const page = target(exchange, policies, xml)
      if (page === undefined) return undefined
      if (coding === '') return new PlainPage(fields, page, client)
      coded += 1
      return new CodedPage(fields, page, client, coding, () => {
        coded -= 1
      })
    },
  }
}

function confirm(fields: string[], asked: string | undefined): void {
  if (asked === undefined) return
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'etag') fields[i + 1] = confirmed(fields[i + 1] ?? '', asked)
  }
}
