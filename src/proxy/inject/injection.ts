import type { Exchange } from '../exchange.js'
import type { ResponseHead } from '../message-heads.js'
import { hostnameOf, schemeOf } from '../observe-request.js'
import { CompressedPage } from './compressed-page.js'
import { allowedNonce } from './content-security.js'
import { confirmEntityTag, restoreEntityTags } from './entity-tag.js'
import type { TagTarget } from './head-inspector.js'
import { isNavigation } from './navigation.js'
import type { Page, PageClient } from './page.js'
import { readPageResponse } from './page-response.js'
import { PlainPage } from './plain-page.js'

/**
 * The address of the tracker's script for the pages of a hostname (lower case, without port), as an absolute path
 * `<base path>/script....js?site=<id>`; undefined where they stay as they are.
 */
export type ScriptFor = (hostname: string) => string | undefined

/** Adds the tracker's tag to the pages that people are shown. */
export interface Injection {
  /** A request's fields for the origin: validators of pages with our tag become the origin's own again. In place. */
  restoreValidators(exchange: Exchange, fields: string[]): void
  /** The page that an answer is, where it may get the tag; it then sends the answer. `head` may be changed. */
  createPage(exchange: Exchange, status: number, head: ResponseHead, client: PageClient): Page | undefined
}

/** Not `If-Range`: a part of the origin's page would be put into a copy that has the tag. */
const CONDITIONAL_HEADERS = ['if-none-match', 'if-match']

/** Compressed pages on their way at once: each holds about 350 KB, and a slow client keeps it. More stay as they are. */
const MAX_COMPRESSED_PAGES = 256

export function createInjection(scriptOf: ScriptFor): Injection {
  let coded = 0
  const target = (exchange: Exchange, policies: readonly string[], xml: boolean): TagTarget | undefined => {
    const { host, req, hop } = exchange
    const src = scriptOf(hostnameOf(host))
    if (src === undefined) return undefined
    const one: TagTarget = { src, host, scheme: schemeOf(req, hop), policies, xml }
    return policies.length > 0 && allowedNonce(policies, one) === undefined ? undefined : one
  }
  return {
    restoreValidators({ req }, fields) {
      if (CONDITIONAL_HEADERS.every((name) => req.headers[name] === undefined)) return
      for (let i = 0; i + 1 < fields.length; i += 2) {
        if (CONDITIONAL_HEADERS.includes(fields[i]?.toLowerCase() ?? ''))
          fields[i + 1] = restoreEntityTags(fields[i + 1] ?? '')
      }
    },
    createPage(exchange, status, { content_type, fields }, client) {
      const { req, method } = exchange
      if (status === 304) confirm(fields, req.headers['if-none-match'])
      if (status !== 200 || method !== 'GET') return undefined
      const response = readPageResponse(content_type, fields)
      if (response === undefined || !isNavigation(req)) return undefined
      const { coding, policies, xml } = response
      if (coding !== '' && coded >= MAX_COMPRESSED_PAGES) return undefined
      const page = target(exchange, policies, xml)
      if (page === undefined) return undefined
      if (coding === '') return new PlainPage(fields, page, client)
      coded += 1
      return new CompressedPage(fields, page, client, coding, () => {
        coded -= 1
      })
    },
  }
}

function confirm(fields: string[], asked: string | undefined): void {
  if (asked === undefined) return
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'etag') fields[i + 1] = confirmEntityTag(fields[i + 1] ?? '', asked)
  }
}
