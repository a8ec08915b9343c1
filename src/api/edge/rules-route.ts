import { ApiError } from '../../base/errors.js'
import { RuleSet } from '../../rules/rule-set.js'
import { SIGNATURE_HEADER } from '../auth.js'
import { requireSite } from '../org-access.js'
import { type Call, jsonResponse, parseQuery, type Route, routeMaker, SiteQuery } from '../route.js'
import { type EdgeDeps, readSignature } from './route.js'
import type { RuleFronts } from './rule-fronts.js'
import { isSigned } from './signature.js'

interface EdgeRulesDeps extends Pick<EdgeDeps, 'sites' | 'keys' | 'rejected' | 'takeRequest' | 'now'> {
  readonly fronts: RuleFronts
  /** Returns the active rules of one site. */
  rulesOf(site: number): RuleSet
}

const FRONT_HEADER = 'x-readership-front'
const VERSION_HEADER = 'x-readership-rules'

/** `GET /api/edge/rules`: what a sidecar decides by. Its signature is that of an empty body. */
export const edgeRulesRoute = (deps: EdgeRulesDeps): Route =>
  routeMaker('ingest')('get', '/api/edge/rules', 'signed', {
    summary: 'Get the active rules of a site, for a server that decides by them; 304 if it has them',
    query: SiteQuery,
    data: RuleSet,
    anyOriginHeaders: ['authorization', 'if-none-match', FRONT_HEADER, VERSION_HEADER, SIGNATURE_HEADER],
    async run(call) {
      const { site } = parseQuery(call, SiteQuery)
      const { headers } = call.request
      if (call.principal.kind === 'signer') await checkSignature(deps, call, site)
      else await requireSite(call, deps.sites, site, 'site')
      if (!deps.takeRequest(site, call.ip))
        throw new ApiError('rate_limited', 'Too many requests for this site from this address.')
      const set = deps.rulesOf(site)
      deps.fronts.note(site, headers.get(FRONT_HEADER) ?? '', headers.get(VERSION_HEADER) ?? 'none')
      const etag = `"${set.version}"`
      if (headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: { etag } })
      const response = jsonResponse(set)
      response.headers.set('etag', etag)
      return response
    },
  })

/** Throws `unauthorized` unless an ingest key of the site signed an empty body, `rate_limited` after too many wrong ones. */
async function checkSignature({ keys, rejected, now }: EdgeRulesDeps, { request, ip }: Call, site: number) {
  const signature = readSignature({ now }, request.headers.get(SIGNATURE_HEADER) ?? '')
  if (rejected.spent(ip))
    throw new ApiError('rate_limited', 'Too many wrong signatures from this address; try again later.')
  if (isSigned(signature, new Uint8Array(), await keys.listValid(site))) return
  rejected.add(ip)
  throw new ApiError('unauthorized', 'The signature does not match an empty body.')
}
