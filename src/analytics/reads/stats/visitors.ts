import { z } from 'zod'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { filterCondition, sourceRows, whereClause } from '../../query/conditions.js'
import { leavesOutSessions } from '../../query/filters.js'
import { identifiedVisitors, PERSON_COLUMNS, type PersonSet, rowsOfPersons } from '../../query/people.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { beforeWindowEnd, startedInWindow } from '../../query/window-conditions.js'
import { Count, formatInstants, HexId, Instant, Pageviews, parseHexId, parseJsonObject } from '../shapes.js'

/**
 * GET /api/stats/visitors: visitors with a hit in the window, last seen first. Visitor ids to which the site gave the
 * same identified id are one person.
 */
export default defineRead({
  path: '/api/stats/visitors',
  summary: 'Visitors, their traits and counts, last seen first',
  params: {},
  list: true,
  audience: peopleOnly('/api/agents/breakdown?dimension=agent_id'),
  compare: 'none',
  data: z.array(
    z.object({
      id: HexId.describe('If a person has several visitor ids, the one seen last.'),
      identified_id: z.string().optional().describe('The name that the site gave the person; the latest one.'),
      traits: z.record(z.string(), z.unknown()).optional().describe('As the site last sent them.'),
      sessions: Count.describe('Sessions that started in the window.'),
      pageviews: Pageviews,
      first_seen: Instant.describe('First hit ever, also before the window.'),
      last_seen: Instant.describe('Last hit in the window.'),
      country: z.string().optional().describe('From the last hit in the window that has it, like the browser.'),
      browser: z.string().optional(),
    }),
  ),
  run: async (context) => {
    const page = await context.list({ key: 'id', order: ['last_seen desc'], metrics: [] }, (plan) => {
      const seen = sql`select visitor_id, max(timestamp) as seen from ${sourceRows('events', plan)} as e
        where ${whereClause(plan)} group by visitor_id`
      return sql`
        with seen as (${seen}), known as (${identifiedVisitors(plan)})
        select visitor_id as id, null as person, seen as last_seen from seen
          where visitor_id not in (select known_id from known)
        union all
        select ${plan.dialect.lastBy(raw('visitor_id'), raw('(seen, visitor_id)'))} as id, person, max(seen) as last_seen
          from seen join known on known_id = visitor_id group by person`
    })
    context.warnOfSaltChange([context.plan.window])
    const some: PersonSet = {
      persons: page.flatMap(({ person }) => (typeof person === 'string' ? [person] : [])),
      visitors: page.flatMap(({ person, id }) => (person === undefined ? [parseHexId(id)] : [])),
    }
    const facts =
      page.length === 0
        ? []
        : [
            await firstSeenAndTraits(context, some),
            await windowFacts(context, some),
            await sessionCounts(context, some),
          ]
    const byName = facts.map((found) => new Map(found.map((row) => [personKey(row.person, row.visitor), row])))
    const data = page.map(({ id, person, last_seen }) => {
      const [ever, now, visits] = byName.map((found) => found.get(personKey(person, id)))
      const { country, browser } = now ?? {}
      const traits = parseJsonObject(ever?.traits)
      return formatInstants({
        id,
        ...(person === undefined ? {} : { identified_id: person }),
        ...(traits ? { traits } : {}),
        sessions: visits?.sessions ?? 0,
        pageviews: now?.pageviews ?? 0,
        first_seen: ever?.first_seen,
        last_seen,
        ...(country === undefined ? {} : { country }),
        ...(browser === undefined ? {} : { browser }),
      })
    })
    return { data, rows: data.length }
  },
})

/** Prefixed, because an identified id may look like a visitor id. */
const personKey = (person: unknown, visitor: unknown) => (person === undefined ? `v ${visitor}` : `p ${person}`)

/** Selects `first_seen` and `traits`, from all hits before the window's end but for those of suspected sessions that are left out. */
const firstSeenAndTraits = (context: ReadContext, some: PersonSet): Promise<ResultRow[]> => {
  const { plan } = context
  const shown = filterCondition({ ...plan, filters: plan.filters.filter((one) => leavesOutSessions([one])) })
  const traits = sql`(select visitor_id, timestamp, traits from events where ${beforeWindowEnd(plan)} and ${shown})`
  return context.rows(sql`
    select ${PERSON_COLUMNS}, min(timestamp) as first_seen,
      ${plan.dialect.lastBy(raw('traits'), raw('(timestamp, traits)'))} filter (where traits is not null) as traits
    from ${rowsOfPersons(some, traits, plan)} p group by 1, 2`)
}

/** Selects pageviews, country and browser, from hits in the window that pass the filters. */
const windowFacts = (context: ReadContext, some: PersonSet): Promise<ResultRow[]> => {
  const { plan } = context
  const hits = sql`(select visitor_id, timestamp, kind, country, browser from ${sourceRows('events', plan)} as e
    where ${whereClause(plan)})`
  const last = (name: string): Sql =>
    sql`${plan.dialect.lastBy(raw(name), raw(`(timestamp, ${name})`))} filter (where ${raw(name)} is not null) as ${raw(name)}`
  return context.rows(sql`
    select ${PERSON_COLUMNS}, count(*) filter (where kind = 'pageview') as pageviews, ${last('country')}, ${last('browser')}
    from ${rowsOfPersons(some, hits, plan)} p group by 1, 2`)
}

/** Counts the sessions that the metric `sessions` counts, so that the visitors' sessions add up to it. */
const sessionCounts = (context: ReadContext, some: PersonSet): Promise<ResultRow[]> => {
  const { plan } = context
  const sessions = rowsOfPersons(some, sql`(select session_id, visitor_id from (${sessionsInWindow(plan)}) s)`, plan)
  const passing =
    plan.filters.length === 0
      ? raw('')
      : sql`where session_id in (select session_id from ${sourceRows('events', plan)} as e
          where ${startedInWindow(plan)} and ${filterCondition(plan)}
            and session_id in (select session_id from ${sessions} o))`
  return context.rows(sql`select ${PERSON_COLUMNS}, count(*) as sessions from ${sessions} p ${passing} group by 1, 2`)
}
