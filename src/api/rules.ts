import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import { authorOf, presentAuthor } from '../manage/author.js'
import { SiteId } from '../manage/fields.js'
import { hasEnded } from '../manage/rule-notes.js'
import type { RulePauses } from '../manage/rule-pauses.js'
import {
  NewRule,
  normaliseRule,
  type Rule,
  RuleChange,
  type Rules,
  RuleView,
  type StoredRule,
} from '../manage/rules.js'
import type { ManagedSite, Sites } from '../manage/sites.js'
import type { Users } from '../manage/users.js'
import { EXPORT_TARGETS, exportText } from '../rules/export/export-text.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import { type Call, parseBody, parseQuery, type Route, routeMaker, SiteQuery } from './route.js'
import { exportRoute } from './rule-export.js'
import { changeableFields, mergeChange, recordRoutes } from './site-records.js'
import { validate } from './validation.js'

/** A process or server that decides by the rules of a site. */
export const RuleFront = z.object({
  name: z.string(),
  kind: z.enum(['proxy', 'application', 'sidecar']),
  version: z.string().describe('The version of the rules that it decides by; `off` with `--rules off`.'),
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

/** The version of a site's active rules, and the fronts that decide by them. */
export type DecidedBy = Pick<z.output<typeof RulesState>, 'version' | 'setting_off' | 'fronts'>

interface RuleRoutesDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly users: Pick<Users, 'get'>
  readonly rules: Rules
  readonly pauses: RulePauses
  describe(site: number): DecidedBy
  now(): Date
}

/** `/api/rules`: the rules of a site, their pause and their state. API keys can read rules, and nothing more. */
export function ruleRoutes(deps: RuleRoutesDeps): Route[] {
  const { sites, users, rules, now } = deps
  const normalise = async (body: NewRule, call: Call) =>
    normaliseRule(body, { changed_at: call.at, changed_by: authorOf(auditContext(call, 0).by) })
  const summary = 'The rules that are on as text for nginx, Caddy, Apache, HAProxy, Cloudflare or robots.txt'
  return [
    // Before the routes of records, where `state` would be read as an id.
    ...stateRoutes(deps),
    exportRoute(sites, 'rules', summary, EXPORT_TARGETS, async (target, site) =>
      exportText(target, await rules.list(site), loadCatalog().agents, now().getTime()),
    ),
    ...recordRoutes<Rule, NewRule>(sites, {
      shape: RuleView,
      newShape: NewRule,
      changeShape: RuleChange,
      records: rules,
      access: { read: 'manage:read', write: 'admin' },
      normalise,
      applyChange(current, change, call) {
        const fields = { ...changeableFields(current, RuleChange), ...withdrawnAgreement(change) }
        return normalise(validate(NewRule, mergeChange(fields, change)), call)
      },
      present: async ({ changed_at, changed_by, ...rule }: StoredRule) => ({
        ...rule,
        ...(hasEnded(rule, now()) && { ended: true }),
        changed_at: changed_at.toISOString(),
        changed_by: await presentAuthor(changed_by, users),
      }),
    }),
  ]
}

/** An agreement to refuse search engines is about those that the rule named then: a change of whom it names ends it. */
const withdrawnAgreement = (change: Readonly<Record<string, unknown>>) =>
  ['agents', 'operators', 'purposes', 'except'].some((names) => change[names] !== undefined)
    ? { refuse_search_engines: false }
    : {}

/** The routes of the pause and the state. */
function stateRoutes({ sites, users, pauses, describe }: RuleRoutesDeps): Route[] {
  const stateOf = async ({ id }: ManagedSite) => {
    const pause = await pauses.get(id)
    return {
      ...describe(id),
      ...(pause && { paused_since: pause.since.toISOString(), paused_by: await presentAuthor(pause.by, users) }),
    }
  }
  const route = routeMaker('rules')
  const SiteBody = z.strictObject({ site: SiteId })
  const switchRoute = (verb: 'pause' | 'resume', summary: string) =>
    route('post', `/api/rules/${verb}`, 'admin', {
      summary,
      body: SiteBody,
      data: RulesState,
      async run(call) {
        const site = await requireSite(call, sites, (await parseBody(call, SiteBody)).site, 'site')
        await pauses.set(site.id, verb === 'pause', auditContext(call, site.org))
        return stateOf(site)
      },
    })
  return [
    route('get', '/api/rules/state', 'manage:read', {
      summary: 'Get whether the rules of a site are paused, and which version each front decides by',
      query: SiteQuery,
      data: RulesState,
      run: async (call) => stateOf(await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')),
    }),
    switchRoute('pause', 'Pause the rules of a site: every agent passes until they are resumed'),
    switchRoute('resume', 'End the pause of the rules of a site'),
  ]
}
