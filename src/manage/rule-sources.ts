import { z } from 'zod'
import type { RuleSources } from '../rules/build-rule-set.js'
import { ActiveRedirect } from '../rules/rule-set.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'

const RedirectRow = z
  .object({ site: z.int(), name: z.string(), target: z.string(), status: ActiveRedirect.shape.status })
  .transform(({ site, name, target, status }) => ({ site, from: name, to: target, status }))
const ManagedRow = z.object({ site: z.int(), text: z.string() })
const PauseRow = z.object({ id: z.int(), rules_paused_since: z.date() })
const RobotsRow = z
  .object({ hostname: z.string(), status: z.int(), body: z.string().nullable() })
  .transform(({ body, ...row }) => ({ ...row, body: body ?? '' }))

/** Reads the sources of the active rules beside the rules: redirects, pauses, managed robots.txt and, if asked for, those of origins. */
export async function readRuleSources(
  { query }: Pick<Records, 'query'>,
  needsRobots: boolean,
): Promise<Omit<RuleSources, 'catalog' | 'sites' | 'rules'>> {
  const redirects = await query(sql`select site, name, target, status from redirects order by site, id`)
  const pauses = await query(sql`select id, rules_paused_since from sites where rules_paused_since is not null`)
  const managed = await query(sql`
    select sites.id as site, robots_texts.text from sites
    join robots_texts on robots_texts.id = sites.managed_robots and robots_texts.site = sites.id`)
  const robots = needsRobots
    ? await query(sql`
        select hostname, status, body from policies where kind = 'robots' and first_seen = (
          select max(first_seen) from policies later
          where later.kind = 'robots' and later.hostname = policies.hostname)
        order by hostname`)
    : []
  return {
    redirects: redirects.map((row) => RedirectRow.parse(row)),
    pauses: new Map(pauses.map((row) => PauseRow.parse(row)).map((one) => [one.id, one.rules_paused_since])),
    managed: new Map(managed.map((row) => ManagedRow.parse(row)).map(({ site, text }) => [site, text])),
    robots: robots.map((row) => RobotsRow.parse(row)),
  }
}
