import { z } from 'zod'
import { join, type Sql, sql } from '../../../storage/sql.js'
import { filterCondition } from '../../query/conditions.js'
import { NOT_SPOOFED } from '../../query/metrics.js'
import { defineRead } from '../../query/read.js'
import type { ReadContext } from '../../query/read-context.js'
import { beforeWindowEnd } from '../../query/window-conditions.js'
import { Count, Instant } from '../shapes.js'

const KINDS = ['robots', 'llms'] as const
/** Agents that are named per version, the first to read it first. */
const MAX_READERS = 50

const Version = z.object({
  kind: z.enum(KINDS),
  since: Instant.describe('When it was first seen.'),
  until: Instant.optional().describe(
    'When the next version began, or 24 h after the last fetch; absent: it is active.',
  ),
  standing: z
    .enum(['served', 'unavailable', 'unreachable'])
    .describe('`unavailable`: there is no file; `unreachable`: the origin did not respond.'),
  status: z.int().describe('0: no response.'),
  sha256: z.string().optional(),
  truncated: z.boolean().optional().describe('The file is longer than the 512 KiB that are read.'),
  groups: Count.optional().describe('For robots.txt, like `rules`.'),
  rules: Count.optional(),
  links: Count.optional().describe('For llms.txt.'),
  text: z.string().optional().describe('Absent if nothing was served, or beyond 512 KiB in one answer.'),
})
const Report = z.object({ hostname: z.string().optional(), versions: z.array(Version) })
type Version = z.output<typeof Version>
const Reader = z.object({
  agent_id: z.string(),
  name: z.string(),
  reads: Count,
  first_read: Instant,
  last_read: Instant,
})

/** GET /api/policy/versions: the versions of robots.txt and llms.txt, and which agents read each of them. */
export default defineRead({
  path: '/api/policy/versions',
  summary: 'Versions of robots.txt and llms.txt: when each was active, its text, and when each agent first read it',
  params: {
    hostname: z.string().min(1).max(255).optional().describe('A hostname of the site; default its first.'),
    kind: z.enum(KINDS).optional().describe('Only this file; default both.'),
  },
  list: true,
  compare: 'none',
  audience: { only: 'agent' },
  data: z.array(
    Version.extend({
      hostname: z.string(),
      reads: Count.describe(
        "Fetches of the file by GET while the version was active, up to the window's end and without spoofed ones, that did not fail; if the file does not exist, those that learnt so.",
      ),
      readers: Count.describe('Distinct agents among them.'),
      first_read: Instant.optional(),
      last_read: Instant.optional(),
      agents: z.array(Reader).describe(`The first ${MAX_READERS} agents to read it, in this order.`),
    }),
  ),
  run: async (context, { hostname, kind }) => {
    const { plan, paging } = context
    const { end } = plan.window
    const report = Report.parse(
      await context.policyVersions({
        ...(hostname === undefined ? {} : { hostname }),
        ...(kind === undefined ? {} : { kind }),
        before: end.getTime(),
        ...(paging ? { offset: (paging.page - 1) * paging.limit, limit: paging.limit } : {}),
      }),
    )
    const now = context.now.toISOString()
    const page = context.page(report.versions)
    const readers = await readersOf(context, report.hostname ?? '', page)
    const data = page.map(({ until = now, ...version }, i) => {
      const agents = readers.get(i) ?? []
      const last = agents.map(({ last_read }) => last_read).sort()
      return {
        hostname: report.hostname,
        ...version,
        ...(until < now ? { until } : {}),
        reads: agents.reduce((sum, { reads }) => sum + reads, 0),
        readers: agents.length,
        ...(agents[0] ? { first_read: agents[0].first_read, last_read: last.at(-1) } : {}),
        agents: agents.slice(0, MAX_READERS),
      }
    })
    if (data.some(({ sha256, text }) => sha256 !== undefined && text === undefined))
      context.warn({
        code: 'text_left_out',
        message: 'Texts beyond 512 KiB are left out, and those of very old versions; ask for fewer rows with `limit`.',
      })
    return { data, rows: data.length }
  },
})

/** The agents that read each version, by its place in `page`, the first first. */
async function readersOf(context: ReadContext, hostname: string, page: readonly Version[]) {
  const readers = new Map<number, z.output<typeof Reader>[]>()
  if (page.length === 0) return readers
  const { plan } = context
  const [earliest = ''] = page.map(({ since }) => since).sort()
  const rows = await context.rows(sql`
    select n, agent_id, count(*) as reads, min(timestamp) as first_read, max(timestamp) as last_read
    from (
      select agent_id, pathname, status, timestamp from agent_events
      where ${beforeWindowEnd(plan)} and timestamp >= ${new Date(earliest)} and hostname = ${hostname}
        and pathname in ('/robots.txt', '/llms.txt') and method = 'GET' and ${NOT_SPOOFED} and ${filterCondition(plan)}) e
      join (${join(
        page.map((version, n) => versionRow(version, n, plan.window.end)),
        ' union all ',
      )}) v
      on file = pathname and timestamp >= since and timestamp < until and status >= low and status < high
    group by n, agent_id order by first_read, agent_id`)
  for (const { n, agent_id, reads, first_read, last_read } of rows) {
    if (!(first_read instanceof Date && last_read instanceof Date)) continue
    const id = String(agent_id)
    const times = { first_read: first_read.toISOString(), last_read: last_read.toISOString() }
    const own = readers.get(Number(n)) ?? []
    own.push({ agent_id: id, name: context.agentNames(id).name, reads: Number(reads), ...times })
    readers.set(Number(n), own)
  }
  return readers
}

/** A version as a row. A served file was read unless the fetch failed; else the status said that it does not exist. */
const versionRow = ({ kind, since, until, standing }: Version, n: number, end: Date): Sql => {
  const [low, high] = standing === 'served' ? [200, 400] : [300, 600]
  return sql`select ${n} as n, ${`/${kind}.txt`} as file, ${new Date(since)} as since,
    ${until === undefined ? end : new Date(until)} as until, ${low} as low, ${high} as high`
}
