import { hash } from 'node:crypto'
import { z } from 'zod'
import { listConditions } from '../analytics/query/filters.js'
import { ApiError } from '../base/errors.js'
import { parseCampaign } from '../capture/campaign.js'
import type { Device } from '../capture/device.js'
import type { Hit } from '../capture/hit.js'
import { parseLanguage } from '../capture/language.js'
import { readPayload } from '../capture/payload.js'
import type { SiteSettings } from '../capture/site.js'
import type { Collection, WithId } from '../manage/collection.js'
import { type DimensionReader, evaluateFlag, type FlagResult } from '../manage/evaluate-flag.js'
import { Flag, FlagChange, NewFlag, normaliseFlag } from '../manage/flags.js'
import type { Sites } from '../manage/sites.js'
import type { RateLimit } from './rate-limit.js'
import { Id, jsonResponse, parseQuery, type Route, routeMaker } from './route.js'
import { mergeChange, recordRoutes } from './site-records.js'
import { requestFields } from './track/endpoints.js'
import { createSiteDirectory, siteDropReason } from './track/site-directory.js'
import { senderOf } from './track/web-handler.js'
import { validate } from './validation.js'

/** `/api/flags`. A flag has a key where other records have a name. */
export const flagRoutes = ({ sites, flags }: { sites: Pick<Sites, 'get'>; flags: Collection<Flag> }): Route[] =>
  recordRoutes(sites, {
    shape: Flag,
    newShape: NewFlag,
    changeShape: FlagChange,
    records: flags,
    normalise: async (body) => normaliseFlag(body),
    present: ({ id, version, site, name, ...flag }: WithId<Flag>) => ({ id, version, site, key: name, ...flag }),
    applyChange: async ({ id: _, version: __, name: key, ...flag }, change) =>
      normaliseFlag(validate(NewFlag, mergeChange({ ...flag, key }, change))),
  })

/** The custom event that records an exposure. */
const EXPOSURE_EVENT = 'flag_exposure'
/** Milliseconds in which a visitor is recorded as exposed to a flag once. */
const EXPOSURE_WINDOW_MS = 1_800_000
/** Bounds memory to some 10 MB. Beyond it the oldest exposures are forgotten, and may be recorded again. */
const MAX_REMEMBERED_EXPOSURES = 100_000

/**
 * Returns a function that says whether an exposure is new, and remembers it. `now` is in epoch milliseconds. Visitors' ids
 * are remembered as digests.
 */
export function createExposureDedupe({ now, most = MAX_REMEMBERED_EXPOSURES }: { now(): number; most?: number }) {
  /** Oldest first. */
  const exposed = new Map<number, number>()
  return (site: number, flag: string, id: string): boolean => {
    // 48 bits: one exposure in some billions is taken for another one.
    const key = hash('sha256', JSON.stringify([site, flag, id]), 'buffer').readUIntBE(0, 6)
    const at = now()
    const before = exposed.get(key)
    if (before !== undefined && at - before < EXPOSURE_WINDOW_MS) return false
    exposed.delete(key)
    for (const oldest of exposed.keys()) {
      if (exposed.size < most) break
      exposed.delete(oldest)
    }
    exposed.set(key, at)
    return true
  }
}

const EvaluationQuery = z.object({
  site: Id.describe('The site.'),
  id: z
    .string()
    .min(1)
    .max(200)
    .describe("The site's own id for the visitor; send the same one each time. It is not stored.")
    .meta({ example: 'reader-3' }),
  u: z
    .string()
    .max(8_192)
    .optional()
    .describe('Full URL of the page. Default: the Referer, which browsers cut to the hostname for other origins.')
    .meta({ example: 'https://slackwater.example/glossary' }),
})
const EvaluationResult = z.object({
  flags: z
    .record(z.string(), z.object({ enabled: z.boolean(), variant: z.string().optional() }))
    .describe('Every flag of the site, by its key.'),
})

interface EvaluationDeps {
  sites(): Promise<readonly SiteSettings[]>
  readonly flags: Pick<Collection<Flag>, 'list'>
  /** Reads a user agent with its request's headers. */
  device(userAgent: string, headers: Hit['headers']): Device
  /** Returns the country of an address (ISO 3166-1 alpha-2); null if it is unknown. May reject. */
  country(ip: string): Promise<string | null>
  record(hit: Hit): void
  readonly isNew: ReturnType<typeof createExposureDedupe>
  /** Evaluations, and hits of all endpoints, that a site accepts from one address. */
  readonly limits: { readonly evaluations: RateLimit; readonly hits: RateLimit }
}

/**
 * `GET /api/flags/evaluate`: evaluates a site's flags for a visitor, for pages on the site's hostnames. Exposures to flags
 * that are on are recorded as hits, under the same opt-outs and limits as other hits.
 */
export function evaluationRoute(deps: EvaluationDeps): Route {
  const directory = createSiteDirectory(deps.sites)
  return routeMaker('flags')('get', '/api/flags/evaluate', 'public', {
    summary: 'Evaluate the flags of a site for one visitor; for pages on its hostnames',
    query: EvaluationQuery,
    data: EvaluationResult,
    anyOriginHeaders: [],
    otherResponses: {
      403: 'There is no such site, or the page is on none of its hostnames.',
      422: 'A value is wrong.',
      429: 'More than 600 evaluations in a minute from one address.',
    },
    run: async (call) => {
      const { request, ip, at } = call
      const { site: siteId, id, u } = parseQuery(call, EvaluationQuery)
      const sites = await directory()
      const sender = senderOf(request, { ip })
      const site = sites.get(siteId)
      const hostname = pageHostname(request)
      const url = u ?? request.headers.get('referer') ?? `https://${hostname}/`
      const page = readPayload({ s: siteId, t: 'custom', n: EXPOSURE_EVENT, u: url })
      const owns = (name: string | undefined) =>
        site !== undefined && name !== undefined && sites.owns(site, name, sender.host)
      if (!site || !owns(hostname)) throw foreignPage()
      if (!page) throw new ApiError('validation_error', '`u` must be an http(s) URL.', 'u')
      if (!owns(page.hostname)) throw foreignPage()
      if (!deps.limits.evaluations.take(site.id, ip))
        throw new ApiError('rate_limited', 'Too many evaluations from this address; try again later.')

      const fields = requestFields(sender, at.getTime())
      const flags = await deps.flags.list(site.id)
      // Only the worker knows places; while it is restarting, the country is unknown.
      const country = flags.some(usesCountry) ? await deps.country(ip).catch(() => null) : null
      const languages = request.headers.get('accept-language') ?? undefined
      const read = visitorAttributes(page, { ...fields, country }, languages, deps.device)
      const results = flags.map((flag) => [flag.name, evaluateFlag(flag, id, read)] as const)
      if (siteDropReason(site, page, fields.headers, sender.header('cookie')) === undefined)
        for (const [flag, { enabled, variant }] of results) {
          if (!enabled || !deps.isNew(site.id, flag, id) || !deps.limits.hits.take(site.id, ip)) continue
          deps.record({ ...page, ...fields, props: { flag, ...(variant === undefined ? {} : { variant }) } })
        }
      const response = jsonResponse({ flags: Object.fromEntries(results) } satisfies {
        flags: Record<string, FlagResult>
      })
      response.headers.set('cache-control', 'private, no-store')
      return response
    },
  })
}

const usesCountry = ({ enabled, filters }: Flag): boolean =>
  enabled && listConditions(filters ?? []).some(({ dimension }) => dimension === 'country')

const foreignPage = () => new ApiError('forbidden', 'Only pages of the site can evaluate its flags.')

/** Reads a visitor's attributes from page and request. A user agent is parsed only if a flag depends on it. */
function visitorAttributes(
  { hostname, pathname, query }: Pick<Hit, 'hostname' | 'pathname' | 'query'>,
  { user_agent, headers, country }: Pick<Hit, 'user_agent' | 'headers'> & { country: string | null },
  languages: string | undefined,
  deviceOf: EvaluationDeps['device'],
): DimensionReader {
  const sources = parseCampaign(query)
  return (dimension) => {
    switch (dimension) {
      case 'hostname':
        return hostname
      case 'pathname':
        return pathname
      case 'country':
        return country
      case 'language':
        return parseLanguage(languages)
      case 'browser':
      case 'os':
      case 'device_type':
        return deviceOf(user_agent, headers)[dimension]
      default:
        return sources[dimension]
    }
  }
}

/** The hostname of the page that sent a request, as the browser states it; undefined if no header does. */
function pageHostname({ headers, url }: Request): string | undefined {
  const origin = headers.get('origin')
  // `null` for sandboxed frames and saved pages.
  if (origin !== null) return hostnameOfUrl(origin)
  const referrer = headers.get('referer')
  if (referrer !== null) return hostnameOfUrl(referrer)
  // The page suppresses the Referer, and is on the host that the request went to.
  return headers.get('sec-fetch-site') === 'same-origin' ? hostnameOfUrl(url) : undefined
}

const hostnameOfUrl = (url: string): string | undefined => {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' ? hostname : undefined
}
