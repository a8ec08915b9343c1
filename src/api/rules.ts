import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { authorOf, presentAuthor } from '../manage/author.js'
import { SiteId } from '../manage/fields.js'
import { hasEnded } from '../manage/rule-notes.js'
import type { RulePauses } from '../manage/rule-pauses.js'
import { NewRule, RuleChange, type Rules, RuleView, type StoredRule } from '../manage/rules.js'
import type { ManagedSite, Sites } from '../manage/sites.js'
import type { Users } from '../manage/users.js'
import { auditContext, canReachSite } from './auth.js'
import { personId, requireSite } from './org-access.js'
import {
  type Call,
  ifMatchVersion,
  jsonWithEtag,
  parseBody,
  parseQuery,
  pathId,
  type Route,
  routeMaker,
  SiteQuery,
  TotalMeta,
} from './route.js'
import { ruleExportRoute } from './rule-export.js'
import { mergeChange } from './site-records.js'
import { validate } from './validation.js'

/** A process or server that decides by the rules of a site. */
export const RuleFront = z.object({
  name: z.string(),
  kind: z.enum(['proxy', 'application', 'sidecar']),
  version: z.string().describe('The version of the rules that it decides by.'),
  since: z.iso.datetime().describe('Since when it has had this version, as far as this process knows.'),
  asked_at: z.iso.datetime().optional().describe('When it asked for rules last; absent for this process itself.'),
})
export type RuleFront = z.infer<typeof RuleFront>

const RulesState = z.object({
  version: z.string().describe('Names the active rules of the site: a digest.'),
  paused_since: z.iso.datetime().optional().describe('Since when no rule refuses anything; absent: not paused.'),
  paused_by: z.string().optional(),
  setting_off: z.literal(true).optional().describe('The instance runs with `--rules off`: nothing is decided.'),
  fronts: z.array(RuleFront).describe('The processes and sidecars that have asked this process in the last day.'),
})

/** Tells about the active rules. */
export interface ActiveRules {
  /** Returns the version of a site's rules, and the fronts that decide by them. */
  describe(site: number): { readonly version: string; readonly isOff: boolean; readonly fronts: readonly RuleFront[] }
}

interface RuleRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly users: Pick<Users, 'get'>
  readonly rules: Rules
  readonly pauses: RulePauses
  readonly activeRules: ActiveRules
  now(): Date
}

const SiteBody = z.strictObject({ site: SiteId })

/** `/api/rules`: the rules of a site, their pause and their state. API keys can read rules, and nothing more. */
export function ruleRoutes(deps: RuleRoutesDeps): Route[] {
  const { sites, users, rules, now } = deps
  const present = async ({ changed_at, changed_by, ...rule }: StoredRule) => ({
    ...rule,
    ...(hasEnded(rule, now()) && { ended: true }),
    changed_at: changed_at.toISOString(),
    changed_by: await presentAuthor(changed_by, users),
  })
  /** A rule of a site that the caller cannot reach is `not_found`. */
  const ruleOfPath = async (call: Call): Promise<{ rule: StoredRule; site: ManagedSite }> => {
    const rule = await rules.get(pathId(call))
    const site = await sites.get(rule.site)
    if (site && canReachSite(call, site)) return { rule, site }
    throw new ApiError('not_found', 'There is no such rule.')
  }
  const route = routeMaker('rules')
  return [
    route('get', '/api/rules', 'manage:read', {
      summary: 'List the rules of a site in the order in which they decide',
      query: SiteQuery,
      data: z.array(RuleView),
      meta: TotalMeta,
      run: async (call) => {
        const site = await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')
        return Promise.all((await rules.list(site.id)).map(present))
      },
    }),
    route('post', '/api/rules', 'admin', {
      summary: 'Create a rule; in rehearsal unless `state` says otherwise',
      body: NewRule,
      data: RuleView,
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const body = await parseBody(call, NewRule)
        const site = await requireSite(call, sites, body.site, 'site')
        return jsonWithEtag(await present(await rules.create(body, ...actorOf(call, site))), 201)
      },
    }),
    ...stateRoutes(deps),
    ruleExportRoute(deps),
    route('get', '/api/rules/{id}', 'manage:read', {
      summary: 'Get a rule',
      data: RuleView,
      run: async (call) => jsonWithEtag(await present((await ruleOfPath(call)).rule)),
    }),
    route('patch', '/api/rules/{id}', 'admin', {
      summary: 'Change fields of a rule; `position` moves it',
      body: RuleChange,
      data: RuleView,
      mayConflict: true,
      run: async (call) => {
        const { rule, site } = await ruleOfPath(call)
        const change = await parseBody(call, RuleChange)
        const update = (current: StoredRule) =>
          validate(NewRule, mergeChange({ ...settable(current), ...withdrawnAgreement(change) }, change))
        return jsonWithEtag(
          await present(await rules.change(rule.id, update, ...actorOf(call, site), ifMatchVersion(call))),
        )
      },
    }),
    route('delete', '/api/rules/{id}', 'admin', {
      summary: 'Delete a rule; cannot be undone',
      status: 204,
      mayConflict: true,
      run: async (call) => {
        const { rule, site } = await ruleOfPath(call)
        await rules.delete(rule.id, auditContext(call, site.org), ifMatchVersion(call))
      },
    }),
  ]
}

const actorOf = (call: Call, { org }: ManagedSite) => {
  const audit = auditContext(call, org)
  return [authorOf(audit.by, personId(call)), audit] as const
}

/** An agreement to refuse search engines is about those that the rule named then: a change of whom it names ends it. */
const withdrawnAgreement = ({ agents, operators, purposes, except }: z.output<typeof RuleChange>) =>
  [agents, operators, purposes, except].some((names) => names !== undefined) ? { refuse_search_engines: false } : {}

/** The fields of a rule that a client may set, and its site. */
const settable = ({ id: _, version: __, changed_at: ___, changed_by: ____, ...rule }: StoredRule) => rule

/** The routes of the pause and the state. They come before `/api/rules/{id}`, where `state` would be read as an id. */
function stateRoutes({ sites, users, pauses, activeRules }: RuleRoutesDeps): Route[] {
  const stateOf = async ({ id }: ManagedSite) => {
    const pause = await pauses.get(id)
    const { version, isOff, fronts } = activeRules.describe(id)
    return {
      version,
      ...(pause && { paused_since: pause.since.toISOString(), paused_by: await presentAuthor(pause.by, users) }),
      ...(isOff && { setting_off: true }),
      fronts,
    }
  }
  const route = routeMaker('rules')
  return [
    route('get', '/api/rules/state', 'manage:read', {
      summary: 'Get whether the rules of a site are paused, and which version each front decides by',
      query: SiteQuery,
      data: RulesState,
      run: async (call) => stateOf(await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')),
    }),
    route('post', '/api/rules/pause', 'admin', {
      summary: 'Pause the rules of a site: every agent passes until they are resumed',
      body: SiteBody,
      data: RulesState,
      run: async (call) => {
        const site = await requireSite(call, sites, (await parseBody(call, SiteBody)).site, 'site')
        await pauses.pause(site.id, ...actorOf(call, site))
        return stateOf(site)
      },
    }),
    route('post', '/api/rules/resume', 'admin', {
      summary: 'End the pause of the rules of a site',
      body: SiteBody,
      data: RulesState,
      run: async (call) => {
        const site = await requireSite(call, sites, (await parseBody(call, SiteBody)).site, 'site')
        await pauses.resume(site.id, auditContext(call, site.org))
        return stateOf(site)
      },
    }),
  ]
}
