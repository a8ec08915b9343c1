import type { Exchange } from '../exchange.js'
import type { ResponseHead } from '../message-heads.js'
import { hostnameOf, schemeOf } from '../observe-request.js'
import type { Incoming } from '../response-writer.js'
import { CompressedPage } from './compressed-page.js'
import { allowedNonce } from './content-security.js'
import type { TagTarget } from './head-inspector.js'
import type { Page, PageClient } from './page.js'
import { confirmEntityTag, readPageResponse, restoreEntityTags } from './page-head.js'
import { PlainPage } from './plain-page.js'

/**
 * Returns the address of the tracker script for pages of a hostname (lower case, without port), as an absolute path
 * `<base path>/script....js?site=<id>`; undefined if they stay as they are.
 */
export type ScriptFor = (hostname: string) => string | undefined

/** Not `If-Range`: a part of the origin's page would be combined with a copy that has the tag. */
const CONDITIONAL_HEADERS = ['if-none-match', 'if-match']

/** Compressed pages in flight: each holds about 350 KB, longer for a slow client. Further pages stay unchanged. */
const MAX_COMPRESSED_PAGES = 256

export type Injection = ReturnType<typeof createInjection>

/** Creates the part of the proxy that adds the tracker's script tag to pages for people. */
export function createInjection(scriptFor: ScriptFor) {
  let compressedPages = 0
  const targetOf = (exchange: Exchange, policies: readonly string[]): TagTarget | undefined => {
    const { host, req, hop } = exchange
    const src = scriptFor(hostnameOf(host))
    if (src === undefined) return undefined
    const target: TagTarget = { src, host, scheme: schemeOf(req, hop), policies }
    return policies.length > 0 && allowedNonce(policies, target) === undefined ? undefined : target
  }
  return {
    /** Restores the origin's own validators in a request's fields, in place. */
    restoreValidators({ req }: Exchange, fields: string[]): void {
      if (CONDITIONAL_HEADERS.every((name) => req.headers[name] === undefined)) return
      for (let i = 0; i + 1 < fields.length; i += 2) {
        if (CONDITIONAL_HEADERS.includes(fields[i]?.toLowerCase() ?? ''))
          fields[i + 1] = restoreEntityTags(fields[i + 1] ?? '')
      }
    },
    /** Returns the page of a response that may get the tag; the page then sends the response. May change `head`. */
    createPage(exchange: Exchange, status: number, head: ResponseHead, client: PageClient): Page | undefined {
      const { req, method } = exchange
      const { content_type, fields } = head
      if (status === 304) confirmEntityTags(fields, req.headers['if-none-match'])
      if (status !== 200 || method !== 'GET') return undefined
      const response = readPageResponse(content_type, fields)
      if (response === undefined || !isNavigation(req)) return undefined
      const { coding, policies } = response
      if (coding !== '' && compressedPages >= MAX_COMPRESSED_PAGES) return undefined
      const target = targetOf(exchange, policies)
      if (target === undefined) return undefined
      if (coding === '') return new PlainPage(fields, target, client)
      compressedPages += 1
      return new CompressedPage(fields, target, client, coding, () => {
        compressedPages -= 1
      })
    },
  }
}

function confirmEntityTags(fields: string[], ifNoneMatch: string | undefined): void {
  if (ifNoneMatch === undefined) return
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === 'etag') fields[i + 1] = confirmEntityTag(fields[i + 1] ?? '', ifNoneMatch)
  }
}

/** Headers by which scripts ask for a part of a page to insert into another (htmx, Turbo, pjax, Unpoly, Inertia). */
const FRAGMENT_REQUEST_HEADERS = [
  'hx-request',
  'turbo-frame',
  'x-pjax',
  'x-pjax-container',
  'x-up-version',
  'x-inertia',
  'x-livewire',
]

/** Returns whether a GET may be a person's navigation, whose response is shown as a document of its own. */
export function isNavigation({ headers }: Incoming): boolean {
  const destination = headers['sec-fetch-dest']
  if (destination !== undefined && destination !== 'document') return false
  if (headers.range !== undefined) return false
  const requestedWith = headers['x-requested-with']
  // A web view of Android names its application here (`com.example.app`); a person uses it.
  if (typeof requestedWith === 'string' && !requestedWith.includes('.')) return false
  return !FRAGMENT_REQUEST_HEADERS.some((name) => headers[name] !== undefined)
}
