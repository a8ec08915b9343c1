import type { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { createIdentify } from '../../agents/identify.js'
import type { DecidingRule } from '../../rules/rule.js'
import { Meta } from '../reads.js'
import { parseBody, type Route, routeMaker } from '../route.js'
import { rehearse } from './rehearse.js'
import { logOf, type Report, type RunRehearsal, respond } from './run.js'
import { RehearsalBody, Rehearsed } from './shape.js'

/** Returns the rules of a site in their order, and the paths of its sitemaps, which none of the rules to try refuses. */
export type RulesOfSite = (
  site: number,
  tried: readonly DecidingRule[] | undefined,
) => Promise<{ readonly stored: readonly DecidingRule[]; readonly sitemaps: readonly string[] }>

/** A list of a thousand rules with texts of their own. */
const MAX_BODY_BYTES = 2 * 1024 * 1024

/** POST /api/rules/rehearsal: what rules would have done in a recorded window. It changes nothing. */
export function rehearsalRoute(run: RunRehearsal, rulesOf: RulesOfSite, log: (error: unknown) => void): Route {
  let identify: ReturnType<typeof createIdentify> | undefined
  return routeMaker('rules')('post', '/api/rules/rehearsal', 'stats:read', {
    summary: 'Decide again about the recorded fetches of a window: what each rule would have done. Changes nothing',
    body: RehearsalBody,
    data: Rehearsed,
    meta: Meta,
    maxBodyBytes: MAX_BODY_BYTES,
    run: async (call) => {
      const { rules: asked, rule: always, ...window } = await parseBody(call, RehearsalBody)
      const catalog = loadCatalog()
      identify ??= createIdentify(catalog)
      const question = { catalog, identify }
      const work = (report: Report) =>
        run(window, call, async (context, stream) => {
          const tried = asked?.map(nameRule)
          const { stored, sitemaps } = await rulesOf(window.site, tried)
          const rules = (tried ?? stored)
            .map((rule) =>
              rule.id === always && rule.state === 'off' ? { ...rule, state: 'rehearse' as const } : rule,
            )
            .filter(({ state }) => state !== 'off')
          return rehearse(context, { ...question, rules, stored, sitemaps, report }, stream)
        })
      return respond(window.progress, work, logOf(log, call))
    },
  })
}

type TriedRule = NonNullable<z.output<typeof RehearsalBody>['rules']>[number]

/** Names a rule that is tried, and leaves out what only records have. */
function nameRule(tried: TriedRule, place: number): DecidingRule {
  const { site: _, position, version, changed_at, changed_by, ended, ...rule } = tried
  return { ...rule, id: rule.id ?? -place, name: rule.name ?? `Rule ${place + 1}` }
}
