import { z } from 'zod'
import { createAnswer, warningsOf } from './answer.js'
import { dashboardLink, viewLink } from './dashboard-link.js'
import {
  answerReport,
  answerSeveral,
  defineTool,
  queryOf,
  SITE,
  siteOf,
  type Tool,
  type ToolContext,
  WINDOW,
} from './tool.js'

const Window = z.object(WINDOW)

/** Rows of each list within an answer about one thing. */
const LIMIT = 5

/** Returns a function that makes questions about the rows that a filter passes. */
async function narrowedTo(
  { context, given, view }: { context: ToolContext; given: z.output<typeof Window>; view: string },
  filters: readonly object[],
) {
  const site = await siteOf(context, given.site)
  const { range, start, end } = given
  const query = queryOf({ range, start, end, filters })
  return {
    about: (report: string, more: Readonly<Record<string, string | number>> = {}) => ({
      site,
      report,
      query: { ...query, limit: LIMIT, ...more },
    }),
    link: dashboardLink(context.dashboard, { report: view, site, query }),
  }
}

const is = (dimension: string, value: string) => ({ dimension, op: 'is', value })

const page = defineTool({
  name: 'page',
  title: 'All about a page',
  description:
    'One page seen from both sides: people, where they came from, which agents fetched it, what AI read and sent, its text as machines get it, and which edition they hold.',
  input: z.object({
    ...WINDOW,
    path: z.string().startsWith('/').max(2000).describe('Such as /pricing.'),
    hostname: z.string().max(255).optional().describe('Only needed where a site has several.'),
  }),
  async run({ path, hostname, ...given }, context) {
    const filters = [is('pathname', path), ...(hostname === undefined ? [] : [is('hostname', hostname)])]
    const { about, link } = await narrowedTo({ context, given, view: 'pages' }, filters)
    return answerSeveral(
      context,
      {
        people: about('overview'),
        channels: about('breakdown', { dimension: 'channel' }),
        agents: about('agents/overview'),
        agents_by_name: about('agents/breakdown', { dimension: 'agent_id' }),
        read_and_sent: about('citation-gap'),
        answers: about('answers'),
        text_for_machines: about('blank-pages'),
        editions: about('editions'),
      },
      link,
    )
  },
})

const agent = defineTool({
  name: 'agent',
  title: 'All about an agent',
  description:
    'One agent: what it fetched, how it was verified, what robots.txt disallowed it, and which formats it asked for.',
  input: z.object({ ...WINDOW, agent_id: z.string().max(100).describe('Such as gptbot (tool list, agents).') }),
  async run({ agent_id, ...given }, context) {
    const { about, link } = await narrowedTo({ context, given, view: 'agents' }, [is('agent_id', agent_id)])
    return answerSeveral(
      context,
      {
        totals: about('agents/overview'),
        pages: about('agents/breakdown', { dimension: 'pathname' }),
        statuses: about('agents/breakdown', { dimension: 'status' }),
        violations: about('policy/violations/rules'),
        formats: about('agents/formats'),
      },
      link,
    )
  },
})

const policy = defineTool({
  name: 'policy',
  title: 'May an agent fetch a path?',
  description: 'Says what robots.txt and llms.txt tell each agent about one path, with the line that decides.',
  input: z.object({
    ...SITE,
    path: z.string().startsWith('/').max(2000).default('/'),
    hostname: z.string().max(255).optional(),
    agent_id: z.string().max(100).optional().describe('Only this agent.'),
  }),
  run: async (given, context) =>
    answerReport(context, { site: await siteOf(context, given.site), report: 'policy', query: queryOf(given) }),
})

const names = (most: number) => z.array(z.string().max(200)).max(most).default([])

const rehearseRule = defineTool({
  name: 'rehearse_rule',
  title: 'Try a rule for agents',
  description:
    'Decides recorded fetches again by a rule that is only tried: how many it would refuse, of which agents and pages, and how many readers would be at risk. Stores nothing.',
  input: z.object({
    ...WINDOW,
    agents: names(100).describe('Ids, such as gptbot.'),
    operators: names(100).describe('Such as OpenAI. With agents and purposes: any of them.'),
    purposes: names(50).describe('Such as training.'),
    except: names(100).describe('Ids of agents that the rule never matches.'),
    paths: names(100).describe('Patterns: * within a segment, ** across. Empty: every path.'),
    disallowed: z.boolean().default(false).describe('Only what robots.txt disallows.'),
  }),
  async run({ site: asked, range, start, end, ...rule }, { api, dashboard, ...context }) {
    const site = await siteOf({ api, ...context }, asked)
    const window = start === undefined || end === undefined ? { range } : { start, end }
    const body = { site, ...window, rules: [{ ...rule, action: 'block', state: 'rehearse' }] }
    const { data, meta = {} } = await api.post('/api/rules/rehearsal', body)
    return createAnswer({
      data,
      requests: [`POST /api/rules/rehearsal ${JSON.stringify(body)}`],
      warnings: warningsOf(meta),
      dashboard: viewLink(dashboard, site, 'rules', new URLSearchParams()),
    })
  },
})

/** The tools about one page, agent, path or rule. */
export const SUBJECT_TOOLS: readonly Tool[] = [page, agent, policy, rehearseRule]
