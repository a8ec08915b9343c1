import { z } from 'zod'
import { join, raw, type Sql, sql } from '../../../storage/sql.js'
import { wholeNumber } from '../../query/envelope.js'
import { TOTAL } from '../../query/grouping.js'
import { matchingSessions } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import { peopleOnly } from '../../query/read-audience.js'
import { sessionSteps, stepColumns } from '../../query/session-steps.js'
import { sessionsInWindow } from '../../query/sessions.js'
import { Visits } from '../shapes.js'

/** Paths of a step that are returned by name. */
const MAX_NAMED_PATHS = 20
const KINDS = ['page', 'other', 'exit'] as const
type Kind = (typeof KINDS)[number]

/**
 * GET /api/stats/journeys: the pages that sessions went through, step by step. The nodes of a step and the exits before
 * it add up to `sessions` of the overview; the links from a node add up to its sessions.
 */
export default defineRead({
  path: '/api/stats/journeys',
  summary: 'Paths through the site: the pages of each step and what leads from one to the next',
  params: {
    depth: wholeNumber(8, 2).default(4).describe('Number of steps, 2 to 8; default 4.'),
    start: z
      .string()
      .optional()
      .describe(
        'With a leading slash, the path from whose first view sessions are followed; otherwise the first instant of the window. May be given twice, once as each.',
      ),
  },
  ownsParameter: (name, value) => name === 'start' && value.startsWith('/'),
  audience: peopleOnly('/api/agents/coverage'),
  compare: 'none',
  data: z
    .object({
      nodes: z.array(
        z.object({
          id: z.string(),
          depth: z.int().min(1).max(8).describe('The step, from 1.'),
          kind: z.enum(KINDS),
          pathname: z.string().describe('A path; `other` for pages that are not named, `exit` for leaving.'),
          sessions: Visits,
        }),
      ),
      links: z.array(z.object({ source: z.string(), target: z.string(), sessions: Visits })),
    })
    .partial()
    .describe('Empty for agents, which have no sessions.'),
  run: async (context, { depth, start }) => {
    const { plan } = context
    const links = await context.rows(linkCounts(sessionSteps(plan, depth, start), depth))
    const nodes = new Map<string, ReturnType<typeof node> & { sessions: number }>()
    const reach = (at: ReturnType<typeof node>, sessions: number) => {
      nodes.set(at.id, { ...at, sessions: (nodes.get(at.id)?.sessions ?? 0) + sessions })
      return at.id
    }
    const followed = links.flatMap((row) => {
      const { step, ended } = row
      const [at, n] = [Number(step), Number(row.sessions)]
      const source = reach(node(at, row.source === undefined ? 'other' : 'page', row.source), n)
      if (at === depth) return []
      const kind: Kind = ended === 1 ? 'exit' : row.target === undefined ? 'other' : 'page'
      const to = node(at + 1, kind, row.target)
      // A page that is followed by another counts as the source of its own links.
      return [{ source, target: kind === 'exit' ? reach(to, n) : to.id, sessions: n }]
    })
    if (start === undefined) {
      const seen = [...nodes.values()].reduce((sum, at) => sum + (at.depth === 1 ? at.sessions : 0), 0)
      const all = plan.filters.length === 0 ? sessionsInWindow(plan) : matchingSessions(plan, TOTAL)
      const [row] = await context.rows(sql`select count(*) as n from (${all}) s`)
      const unseen = Number(row?.n ?? 0) - seen
      if (unseen > 0) reach(node(1, 'exit'), unseen)
    }
    const ranked = [...nodes.values()].sort(
      (a, b) =>
        a.depth - b.depth ||
        KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
        b.sessions - a.sessions ||
        (a.pathname < b.pathname ? -1 : 1),
    )
    const order = new Map(ranked.map(({ id }, i) => [id, i]))
    const place = (id: string) => order.get(id) ?? 0
    followed.sort((a, b) => place(a.source) - place(b.source) || place(a.target) - place(b.target))
    return {
      data: { nodes: ranked, links: followed },
      rows: ranked.length,
      ...(start === undefined ? {} : { query: { start_path: start } }),
    }
  },
})

/** The id of a node that is not a page cannot equal a path, even one without a slash from an import. */
const node = (depth: number, kind: Kind, path?: unknown) =>
  kind === 'page'
    ? { id: `${depth}:${String(path)}`, depth, kind, pathname: String(path) }
    : { id: `${kind}:${depth}`, depth, kind, pathname: kind }

/**
 * Selects `step, source, target, ended, sessions`. A path that is not named is null; `ended` is 1 if nothing follows.
 * Paths are named before they are paired, because there may be nearly as many pairs as sessions. `ways` is in the text only
 * once, and read three times: an engine may compute a common table as often as it is named.
 */
function linkCounts(ways: Sql, depth: number): Sql {
  const columns = stepColumns(depth)
  const number = (i: number) => raw(`${i + 1}`)
  const steps = join(
    columns.map((_, i) => sql`select ${number(i)} as step`),
    ' union all ',
  )
  const pathOf = (from: readonly Sql[]) =>
    sql`case step ${join(
      from.map((column, i) => sql`when ${number(i)} then ${column}`),
      ' ',
    )} end`
  return sql`
    with pages as (
      select * from (
        select step, ${pathOf(columns)} as source, ${pathOf(columns.slice(1))} as target
        from (${ways}) w cross join (${steps}) s) p
      where source is not null),
    shown as (
      select step, pathname from (
        select step, source as pathname, row_number() over (partition by step order by count(*) desc, source) as place
        from pages group by step, source) r
      where place <= ${MAX_NAMED_PATHS})
    select p.step as step, s.pathname as source, t.pathname as target,
      case when p.target is null then 1 else 0 end as ended, count(*) as sessions
    from pages p left join shown s on s.step = p.step and s.pathname = p.source
      left join shown t on t.step = p.step + 1 and t.pathname = p.target
    group by 1, 2, 3, 4`
}
