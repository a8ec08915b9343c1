import { z } from 'zod'
import { parseCampaign } from '../../capture/campaign.js'
import type { Device } from '../../capture/device.js'
import type { Hit } from '../../capture/hit.js'
import { parseLanguage } from '../../capture/language.js'
import { readPayload } from '../../capture/payload.js'
import type { Site } from '../../capture/site.js'
import { ApiError } from '../../errors.js'
import type { Collection } from '../../manage/collection.js'
import { type DimensionReader, evaluateFlag, type FlagResult } from '../../manage/evaluate-flag.js'
import type { Flag } from '../../manage/flags.js'
import type { RateLimit } from '../rate-limit.js'
import { Id, jsonResponse, parseQuery, type Route } from '../route.js'
import { requestFields } from '../track/endpoints.js'
import { createSiteDirectory, siteDropReason } from '../track/site-directory.js'
import { senderOf } from '../track/web-handler.js'
import type { IsNewExposure } from './exposure-dedupe.js'
import { pageHostname } from './page-hostname.js'

/** The custom event that an exposure is recorded as. */
export const EXPOSURE_EVENT = 'flag_exposure'

const EvaluationQuery = z.object({
  site: Id.describe('The site.'),
  id: z
    .string()
    .min(1)
    .max(200)
    .describe("Who asks: the site's own name for a visitor, the same each time. It is not kept.")
    .meta({ example: 'reader-3' }),
  u: z
    .string()
    .max(8_192)
    .optional()
    .describe('Full URL of the page; default the Referer, of which browsers send other origins the hostname alone.')
    .meta({ example: 'https://slackwater.example/glossary' }),
})
const EvaluationResult = z.object({
  flags: z
    .record(z.string(), z.object({ enabled: z.boolean(), variant: z.string().optional() }))
    .describe('Every flag of the site, by its key.'),
})

export interface EvaluationDeps {
  sites(): Promise<readonly Site[]>
  readonly flags: Pick<Collection<Flag>, 'list'>
  /** Of a user agent, with its request's headers. */
  device(userAgent: string, headers: Hit['headers']): Device
  record(hit: Hit): void
  readonly isNew: IsNewExposure
  /** Evaluations, and the hits of all doors, that a site takes from one address. */
  readonly limits: { readonly evaluations: RateLimit; readonly hits: RateLimit }
}

/**
 * `GET /api/flags/evaluate` (contract 1 and 7): what the flags of a site are to a visitor, for pages on its hostnames. A
 * visitor's exposure to a flag that is on is recorded as any hit is, by who is recorded at all.
 */
export function evaluationRoute(deps: EvaluationDeps): Route {
  const known = createSiteDirectory(deps.sites)
  return {
    method: 'get',
    path: '/api/flags/evaluate',
    access: 'public',
    tag: 'flags',
    summary: 'What the flags of a site are to one visitor, for pages on its hostnames',
    query: EvaluationQuery,
    data: EvaluationResult,
    anyOriginHeaders: [],
    otherResponses: {
      403: 'No such site, or a page that is on none of its hostnames.',
      422: 'A value is wrong.',
      429: 'Over 600 a minute from one address.',
    },
    run: async ({ request, ip, at, ...call }) => {
      const { site: number, id, u } = parseQuery({ request, ip, at, ...call }, EvaluationQuery)
      const sites = await known()
      const from = senderOf(request, { ip })
      const site = sites.get(number)
      const hostname = pageHostname(request)
      const url = u ?? request.headers.get('referer') ?? `https://${hostname}/`
      const page = readPayload({ s: number, t: 'custom', n: EXPOSURE_EVENT, u: url })
      const own = (name: string | undefined) =>
        site !== undefined && name !== undefined && sites.owns(site, name, from.host)
      if (!site || !own(hostname)) throw new ApiError('forbidden', 'Pages of the site alone ask for its flags.')
      if (!page) throw new ApiError('validation_error', 'u is no http(s) URL.', 'u')
      if (!own(page.hostname)) throw new ApiError('forbidden', 'Pages of the site alone ask for its flags.')
      if (!deps.limits.evaluations.take(site.id, ip)) throw new ApiError('rate_limited', 'Slow down.')

      const sent = requestFields(from, at.getTime())
      const of = visitorAttributes(page, sent, request.headers.get('accept-language') ?? undefined, deps.device)
      const evaluated = (await deps.flags.list(site.id)).map((flag) => [flag.name, evaluateFlag(flag, id, of)] as const)
      if (siteDropReason(site, page, sent.headers, from.header('cookie')) === undefined)
        for (const [flag, { enabled, variant }] of evaluated) {
          if (!enabled || !deps.isNew(site.id, flag, id) || !deps.limits.hits.take(site.id, ip)) continue
          deps.record({ ...page, ...sent, props: { flag, ...(variant === undefined ? {} : { variant }) } })
        }
      const response = jsonResponse({ flags: Object.fromEntries(evaluated) } satisfies {
        flags: Record<string, FlagResult>
      })
      response.headers.set('cache-control', 'private, no-store')
      return response
    },
  }
}

/** What is known of a visitor by the page and the request; a user agent is read where a flag asks for what it says. */
function visitorAttributes(
  { hostname, pathname, query }: Pick<Hit, 'hostname' | 'pathname' | 'query'>,
  { user_agent, headers }: Pick<Hit, 'user_agent' | 'headers'>,
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
