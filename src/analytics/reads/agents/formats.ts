import { z } from 'zod'
import { sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { formatFetches, pagesWithoutMarkdown, SERVED_FORMATS, twinFetches } from '../../query/format-fetches.js'
import { defineRead } from '../../query/read.js'
import { Count, Fetches, Share } from '../shapes.js'

/** Agents and pages in the answer, those with most fetches first; every agent that asked for a format is one of them. */
const MAX_ROWS = 50

const Cell = z.object({
  accepts: z.string().optional().describe('The format asked for. Absent: no Accept header, or it was not recorded.'),
  served: z
    .enum(SERVED_FORMATS)
    .optional()
    .describe('Absent: no Content-Type header was sent, or it was not recorded.'),
  fetches: Count,
})
type Cell = z.output<typeof Cell>
const sums = {
  fetches: Fetches.describe('Fetches by GET that got a body (200 or 206), without spoofed and refused ones.'),
  unknown: Count.optional().describe('Those without a known Accept header. Absent: none.'),
  markdown_asked: Count.optional().describe('Those that asked for Markdown. Absent if no Accept header is known.'),
  markdown_served: Count.optional().describe('Those of them that got Markdown.'),
  markdown_share: Share.optional().describe(
    '`markdown_served` of those of `markdown_asked` whose format is known. Absent without any.',
  ),
  twins: Count.describe('Fetches of Markdown twins: a path in `.md` whose page was read in the window.'),
}
const Url = { hostname: z.string(), pathname: z.string() }

/** GET /api/agents/formats: the formats that agents ask for, and those that they get. */
export default defineRead({
  path: '/api/agents/formats',
  summary: 'Formats that agents ask for and get: Markdown, HTML, JSON, text; Markdown twins; pages without Markdown',
  params: {},
  compare: 'none',
  audience: { only: 'agent' },
  data: z.object({
    ...sums,
    pairs: z.array(Cell).describe('Fetches by the format asked for and the format served.'),
    agents: z.array(z.object({ agent_id: z.string(), name: z.string(), ...sums, pairs: z.array(Cell) })),
    pages: z
      .array(z.object({ ...Url, fetches: Count, agents: Count }))
      .describe('Pages that were asked for as Markdown and served as HTML.'),
    twin_pages: z.array(z.object({ ...Url, fetches: Count, agents: Count })),
  }),
  run: async (context) => {
    const { plan } = context
    const rows = await context.rows(
      sql`${formatFetches(plan)} order by fetches desc, agent_id, accepts nulls last, served nulls last`,
    )
    const twins = twinFetches(plan)
    const byAgent = await context.rows(
      sql`select agent_id, sum(fetches) as fetches from (${twins}) t group by agent_id order by agent_id`,
    )
    const top = (pages: typeof twins) =>
      context.rows(sql`select * from (${pages}) p order by fetches desc, hostname, pathname limit ${MAX_ROWS}`)
    const pages = await top(pagesWithoutMarkdown(plan))
    const twinPages = await top(sql`
      select hostname, pathname, sum(fetches) as fetches, count(distinct agent_id) as agents from (${twins}) t
      group by hostname, pathname`)
    const twinsOf = new Map(byAgent.map(({ agent_id, fetches }) => [String(agent_id), Number(fetches)]))
    const agents = [...groupByAgent(rows)].map(([agent_id, cells]) => ({
      agent_id,
      name: context.agentNames(agent_id).name,
      ...sumUp(cells, twinsOf.get(agent_id) ?? 0),
      pairs: cells,
    }))
    agents.sort((a, b) => b.fetches - a.fetches || (a.agent_id < b.agent_id ? -1 : 1))
    const pairs = addUp(agents.flatMap((agent) => agent.pairs))
    const imported = rows.reduce((sum, row) => sum + Number(row.imported), 0)
    if (imported > 0)
      context.warn({
        code: 'accept_not_logged',
        message: `${imported} fetches come from access logs, which have no Accept header.`,
      })
    const twinTotal = [...twinsOf.values()].reduce((sum, n) => sum + n, 0)
    const data = {
      ...sumUp(pairs, twinTotal),
      pairs,
      agents: agents.filter((agent, i) => i < MAX_ROWS || agent.pairs.some(isChoice)),
      pages,
    }
    return { data: { ...data, twin_pages: twinPages }, rows: agents.length }
  },
})

/** Whether a format was asked for that browsers do not ask for. */
const isChoice = ({ accepts = 'any' }: Cell): boolean => accepts !== 'any' && accepts !== 'html'

const toCell = ({ accepts, served, fetches }: ResultRow): Cell =>
  Cell.parse({ accepts: accepts ?? undefined, served: served ?? undefined, fetches })

function groupByAgent(rows: readonly ResultRow[]): Map<string, Cell[]> {
  const agents = new Map<string, Cell[]>()
  for (const row of rows) agents.set(String(row.agent_id), [...(agents.get(String(row.agent_id)) ?? []), toCell(row)])
  return agents
}

/** Adds the cells of all agents, the largest first. */
function addUp(cells: readonly Cell[]): Cell[] {
  const all = new Map<string, Cell>()
  for (const cell of cells) {
    const key = `${cell.accepts ?? '-'} ${cell.served ?? '-'}`
    all.set(key, { ...cell, fetches: cell.fetches + (all.get(key)?.fetches ?? 0) })
  }
  const name = ({ accepts, served }: Cell) => `${accepts ?? '~'} ${served ?? '~'}`
  return [...all.values()].sort((a, b) => b.fetches - a.fetches || (name(a) < name(b) ? -1 : 1))
}

function sumUp(cells: readonly Cell[], twins: number) {
  const count = (passes: (cell: Cell) => boolean) => cells.filter(passes).reduce((sum, { fetches }) => sum + fetches, 0)
  const fetches = count(() => true)
  const unknown = count(({ accepts }) => accepts === undefined)
  const asked = count(({ accepts }) => accepts === 'markdown')
  const served = count((cell) => cell.accepts === 'markdown' && cell.served === 'markdown')
  const typed = count((cell) => cell.accepts === 'markdown' && cell.served !== undefined)
  return {
    fetches,
    ...(unknown > 0 ? { unknown } : {}),
    ...(fetches > unknown ? { markdown_asked: asked, markdown_served: served } : {}),
    ...(typed > 0 ? { markdown_share: served / typed } : {}),
    twins,
  }
}
