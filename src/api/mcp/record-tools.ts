import { z } from 'zod'
import { findReport, REPORT_NAMES } from '../../analytics/export/report-names.js'
import { GOAL_TYPES } from '../../analytics/query/goals.js'
import { createAnswer } from './answer.js'
import { pathWith, type Query } from './api-client.js'
import { viewLink } from './dashboard-link.js'
import {
  answerReport,
  defineTool,
  FILTERS,
  queryOf,
  ROWS,
  SITE,
  siteOf,
  type Tool,
  type ToolContext,
  WINDOW,
} from './tool.js'

/** Fetches a list of the API and makes its answer; `view` shows it in the dashboard. */
async function answerList(
  { api, dashboard }: ToolContext,
  path: string,
  query: Query,
  view: readonly [number, string],
) {
  const { data } = await api.get(path, query)
  return createAnswer({
    data,
    requests: [pathWith(path, query)],
    dashboard: viewLink(dashboard, ...view, new URLSearchParams()),
  })
}

/** Every report with what it answers. */
const listReports = () => Object.fromEntries(REPORT_NAMES.map((name) => [name, findReport(name).read.summary]))

const AGENT_DIMENSIONS = /^(?:agent_id|operator|purpose|verification|status|robots_|llms_|spoofed|accepts)/

const list = defineTool({
  name: 'list',
  title: 'Sites, names and ids',
  description:
    'Lists sites, reports, dimensions with their operators, metrics with their meaning, agents, funnels and segments with their ids, or the values of one dimension.',
  input: z.object({
    what: z.enum(['sites', 'reports', 'dimensions', 'metrics', 'agents', 'funnels', 'segments', 'values']),
    dimension: z.string().max(200).optional().describe('For values: such as country or agent_id.'),
    audience: z.enum(['human', 'agent']).optional().describe('For values: whose.'),
    ...WINDOW,
    ...ROWS,
  }),
  async run({ what, dimension, audience, ...given }, context) {
    const { api } = context
    if (what === 'reports') return createAnswer({ data: listReports(), requests: [] })
    if (what === 'sites') return createAnswer({ data: (await api.get('/api/sites')).data, requests: ['/api/sites'] })
    if (what === 'dimensions' || what === 'metrics') {
      const all = z.record(z.string(), z.unknown()).parse((await api.get('/api/stats/dimensions')).data)
      return createAnswer({ data: all[what], requests: ['/api/stats/dimensions'] })
    }
    const site = await siteOf(context, given.site)
    if (what === 'agents')
      return answerReport(context, {
        site,
        report: 'agents/breakdown',
        query: { ...queryOf(given), dimension: 'agent_id' },
      })
    if (what === 'funnels' || what === 'segments')
      return answerList(context, `/api/${what}`, { site }, [site, what === 'funnels' ? what : ''])
    const isAgents = audience === 'agent' || (audience === undefined && AGENT_DIMENSIONS.test(dimension ?? ''))
    return answerReport(context, {
      site,
      report: isAgents ? 'agents/breakdown' : 'breakdown',
      query: { ...queryOf(given), dimension },
    })
  },
})

const notes = defineTool({
  name: 'notes',
  title: 'Notes on the time line',
  description:
    'Lists what happened: notes by hand, and those that readership writes itself (deployments, outages, changes).',
  input: z.object({ ...SITE, start: WINDOW.start, end: WINDOW.end }),
  async run(given, context) {
    const site = await siteOf(context, given.site)
    return answerList(context, '/api/annotations', { site, ...queryOf(given) }, [site, ''])
  },
})

const goals = defineTool({
  name: 'goals',
  title: 'Goals and conversions',
  description:
    'Each goal with its conversions and rate among people; funnels are reports of their own (ask funnel/<id>).',
  input: z.object({ ...WINDOW, ...FILTERS, ...ROWS }),
  run: async (given, context) =>
    answerReport(context, { site: await siteOf(context, given.site), report: 'goals', query: queryOf(given) }),
})

/** Stores a record through the API and returns it. */
async function store({ api, dashboard }: ToolContext, path: string, body: { site: number }, view: string) {
  const { data } = await api.post(path, body)
  return createAnswer({
    data,
    requests: [`POST ${path}`],
    dashboard: viewLink(dashboard, body.site, view, new URLSearchParams()),
  })
}

const addNote = defineTool({
  name: 'add_note',
  title: 'Write a note',
  description: 'Stores a note on the time line of a site. Ask the person before you call it.',
  writes: true,
  input: z.object({
    ...SITE,
    at: z.string().max(40).describe('A day (2026-11-21) or an instant, ISO-8601.'),
    text: z.string().min(1).max(1000),
  }),
  run: async ({ site, ...note }, context) =>
    store(context, '/api/annotations', { site: await siteOf(context, site), ...note }, ''),
})

const addGoal = defineTool({
  name: 'add_goal',
  title: 'Create a goal',
  description: 'Stores a goal that visits are counted against, past ones too. Ask the person before you call it.',
  writes: true,
  input: z.object({
    ...SITE,
    name: z.string().min(1).max(200),
    type: z.enum(GOAL_TYPES).describe('page: match is about the path; event: about the name of the event.'),
    match: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('{"op":"is","value":"/thanks"}; absent: every hit of the type.'),
  }),
  run: async ({ site, match, ...goal }, context) =>
    store(context, '/api/goals', { site: await siteOf(context, site), ...goal, ...(match && { match }) }, 'goals'),
})

/** The tools about what is stored beside the traffic, and about what can be asked. */
export const RECORD_TOOLS: readonly Tool[] = [list, notes, goals, addNote, addGoal]
