import type { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { createIdentify } from '../../agents/identify.js'
import { runRead } from '../../analytics/query/prepare-read.js'
import { defineRead } from '../../analytics/query/read.js'
import { ApiError } from '../../base/errors.js'
import { createFairShare } from '../../base/fair-share.js'
import type { DecidingRule } from '../../rules/rule.js'
import type { Store } from '../../storage/store.js'
import { createReadDependencies, Meta, type RouteReadDependencies } from '../reads.js'
import { jsonResponse, parseBody, type Route, routeMaker } from '../route.js'
import { rehearse } from './rehearse.js'
import { RehearsalBody, Rehearsed } from './shape.js'

/** Returns the rules of a site in their order, and the paths of its sitemaps, which none of the rules to try refuses. */
export type RulesOfSite = (
  site: number,
  tried: readonly DecidingRule[] | undefined,
) => Promise<{ readonly stored: readonly DecidingRule[]; readonly sitemaps: readonly string[] }>

type RehearsalDeps = Omit<RouteReadDependencies, 'store'> & {
  store: Pick<Store, 'query' | 'stream' | 'dialect'>
  rulesOf: RulesOfSite
}

/** Rehearsals at once; one organisation alone has half. */
const MAX_REHEARSALS = 8
/** A list of a thousand rules with texts of their own. */
const MAX_BODY_BYTES = 2 * 1024 * 1024

/** POST /api/rules/rehearsal: what rules would have done in a recorded window. It changes nothing. */
export function rehearsalRoute({ rulesOf, ...deps }: RehearsalDeps): Route {
  const places = createFairShare(MAX_REHEARSALS)
  let identify: ReturnType<typeof createIdentify> | undefined
  return routeMaker('rules')('post', '/api/rules/rehearsal', 'stats:read', {
    summary: 'Decide again about the recorded fetches of a window: what each rule would have done. Changes nothing',
    body: RehearsalBody,
    data: Rehearsed,
    meta: Meta,
    maxBodyBytes: MAX_BODY_BYTES,
    run: async (call) => {
      const { site, rules: asked, rule: always, ...window } = await parseBody(call, RehearsalBody)
      const tried = asked?.map(nameRule)
      const query = new URLSearchParams({ site: String(site) })
      for (const [name, value] of Object.entries(window)) if (value !== undefined) query.set(name, value)
      identify ??= createIdentify(loadCatalog())
      const identifyAgent = identify
      const read = defineRead({
        ...{ path: '/api/rules/rehearsal', summary: '', params: {}, data: Rehearsed },
        audience: { only: 'agent' },
        compare: 'none',
        run: async (context) => {
          const { stored, sitemaps } = await rulesOf(site, tried)
          const rules = (tried ?? stored)
            .map((rule) =>
              rule.id === always && rule.state === 'off' ? { ...rule, state: 'rehearse' as const } : rule,
            )
            .filter(({ state }) => state !== 'off')
          const { signal } = call.request
          const question = { rules, stored, sitemaps, catalog: loadCatalog(), identify: identifyAgent }
          const data = await rehearse(context, question, (statement) => deps.store.stream(statement, signal))
          return { data, rows: data.rules.length }
        },
      })
      const leave = places.enter((await deps.sites.get(site))?.org ?? 0)
      if (!leave) throw new ApiError('rate_limited', 'Too many rehearsals are running; wait for the end of one.')
      try {
        const { data, meta } = await runRead(read, query, createReadDependencies(deps, call))
        return jsonResponse(data, meta)
      } finally {
        leave()
      }
    },
  })
}

type TriedRule = NonNullable<z.output<typeof RehearsalBody>['rules']>[number]

/** Names a rule that is tried, and leaves out what only records have. */
function nameRule(tried: TriedRule, place: number): DecidingRule {
  const { site: _, position, version, changed_at, changed_by, ended, ...rule } = tried
  return { ...rule, id: rule.id ?? -place, name: rule.name ?? `Rule ${place + 1}` }
}
