import { z } from 'zod'
import type { Ask } from '../../query/ask.js'
import { sessions } from '../../query/metrics.js'
import { identified, PERSON, rowsOf, type Some } from '../../query/people.js'
import { defineRead } from '../../query/read.js'
import { filtered, rows, startedInWindow, upToEnd, where } from '../../query/where.js'
import { raw, type Sql, sql } from '../../sql.js'
import type { ResultRow } from '../../store.js'
import { Count, HexId, Instant, idOf, instants, objectOf } from '../shapes.js'

/**
 * GET /api/stats/visitors (spec 4.3): who had a hit in the window, the last seen first. Where the site identifies people,
 * visitor ids that it gave the same id are one person.
 */
export default defineRead({
  path: '/api/stats/visitors',
  summary: 'Visitors, their traits and counts, last seen first',
  params: {},
  list: true,
  audience: { unless_asked: 'human', among: ['human'] },
  compare: 'none',
  data: z.array(
    z.object({
      id: HexId.describe('Of several visitor ids of one person the one that was seen last.'),
      identified_id: z.string().optional().describe('What the site calls the person; the last that it said.'),
      traits: z.record(z.string(), z.unknown()).optional().describe('As the site said last.'),
      sessions: Count.describe('Those that started in the window.'),
      pageviews: Count,
      first_seen: Instant.describe('First hit ever, before the window too.'),
      last_seen: Instant.describe('Last hit in the window.'),
      country: z.string().optional().describe('This and the browser: as the last hit in the window that tells.'),
      browser: z.string().optional(),
    }),
  ),
  answer: async (ask) => {
    const { dialect } = ask
    const page = await ask.list({ key: 'id', order: ['last_seen desc'], metrics: [] }, (plan) => {
      const seen = sql`select visitor_id, max(timestamp) as seen from ${rows('events', plan, dialect)} as e
        where ${where(plan, dialect)} group by visitor_id`
      return sql`
        with seen as (${seen}), known as (${identified(plan, dialect)})
        select visitor_id as id, null as person, seen as last_seen from seen
          where visitor_id not in (select known_id from known)
        union all
        select ${dialect.last(raw('visitor_id'), raw('(seen, visitor_id)'))} as id, person, max(seen) as last_seen
          from seen join known on known_id = visitor_id group by person`
    })
    ask.warnOfSalt([ask.plan.window])
    const some: Some = {
      persons: page.flatMap(({ person }) => (typeof person === 'string' ? [person] : [])),
      visitors: page.flatMap(({ person, id }) => (person === undefined ? [idOf(id)] : [])),
    }
    const facts =
      page.length === 0 ? [] : [await everOf(ask, some), await windowOf(ask, some), await visitsOf(ask, some)]
    const byName = facts.map((found) => new Map(found.map((row) => [nameOf(row.person, row.visitor), row])))
    const data = page.map(({ id, person, last_seen }) => {
      const [ever, now, visits] = byName.map((found) => found.get(nameOf(person, id)))
      const { country, browser } = now ?? {}
      const traits = objectOf(ever?.traits)
      return instants({
        id,
        ...(person === undefined ? {} : { identified_id: person }),
        ...(traits ? { traits } : {}),
        ...{ sessions: visits?.sessions ?? 0, pageviews: now?.pageviews ?? 0 },
        ...{ first_seen: ever?.first_seen, last_seen },
        ...(country === undefined ? {} : { country }),
        ...(browser === undefined ? {} : { browser }),
      })
    })
    return { data, rows: data.length }
  },
})

/** An identified id may look like a visitor's. */
const nameOf = (person: unknown, visitor: unknown) => (person === undefined ? `v ${visitor}` : `p ${person}`)

/** `first_seen` and `traits`, of everything that is known up to the window's end. */
const everOf = (ask: Ask, some: Some): Promise<ResultRow[]> => {
  const { plan, dialect } = ask
  const known = sql`(select visitor_id, timestamp, traits from events where ${upToEnd(plan)})`
  return ask.rows(sql`
    select ${PERSON}, min(timestamp) as first_seen,
      ${dialect.last(raw('traits'), raw('(timestamp, traits)'))} filter (where traits is not null) as traits
    from ${rowsOf(some, known, plan, dialect)} p group by 1, 2`)
}

/** What they did in the window that passes the filters. */
const windowOf = (ask: Ask, some: Some): Promise<ResultRow[]> => {
  const { plan, dialect } = ask
  const hits = sql`(select visitor_id, timestamp, kind, country, browser from ${rows('events', plan, dialect)} as e
    where ${where(plan, dialect)})`
  const last = (name: string): Sql =>
    sql`${dialect.last(raw(name), raw(`(timestamp, ${name})`))} filter (where ${raw(name)} is not null) as ${raw(name)}`
  return ask.rows(sql`
    select ${PERSON}, count(*) filter (where kind = 'pageview') as pageviews, ${last('country')}, ${last('browser')}
    from ${rowsOf(some, hits, plan, dialect)} p group by 1, 2`)
}

/** The sessions that `sessions` counts, so that all visitors' add up to it. */
const visitsOf = (ask: Ask, some: Some): Promise<ResultRow[]> => {
  const { plan, dialect } = ask
  const own = rowsOf(some, sql`(select session_id, visitor_id from (${sessions(plan, dialect)}) s)`, plan, dialect)
  const passing =
    plan.filters.length === 0
      ? raw('')
      : sql`where session_id in (select session_id from ${rows('events', plan, dialect)} as e
          where ${startedInWindow(plan)} and ${filtered(plan, dialect)}
            and session_id in (select session_id from ${own} o))`
  return ask.rows(sql`select ${PERSON}, count(*) as sessions from ${own} p ${passing} group by 1, 2`)
}
