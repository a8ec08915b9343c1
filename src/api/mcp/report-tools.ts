import { z } from 'zod'
import { REPORT_NAMES } from '../../analytics/export/report-names.js'
import { AUDIENCES } from '../../analytics/query/dimensions.js'
import { GRANULARITIES } from '../../storage/sql.js'
import {
  answerReport,
  DESCRIBED_FILTERS,
  defineTool,
  FILTERS,
  queryOf,
  ROWS,
  siteOf,
  type Tool,
  type ToolContext,
  WINDOW,
} from './tool.js'

const SHARED = {
  audience: z.enum(AUDIENCES).optional().describe('People (human), agents (agent) or both (all).'),
  segment: z.string().max(100).optional().describe('Id of a saved segment.'),
  suspected: z.enum(['include', 'exclude']).optional().describe('exclude: people without suspected agents.'),
  dimension: z.string().max(200).optional().describe('For breakdown and agents/breakdown, such as country.'),
  metric: z.string().max(100).optional().describe('For timeseries, such as pageviews.'),
  granularity: z.enum(GRANULARITIES).optional().describe('For timeseries.'),
  ...ROWS,
  page: z.int().min(1).max(1000).optional().describe('Further rows of a list.'),
  other: z
    .record(z.string(), z.union([z.string().max(2000), z.number()]))
    .optional()
    .describe('Parameters of one report alone: {"steps":"/pricing"} for journeys/steps, {"minutes":30} for answers.'),
}
const Report = z.string().max(100)
const Question = z.object({
  report: Report.describe(`One of ${REPORT_NAMES.join(', ')}. What each answers: tool list.`),
  ...{ ...WINDOW, ...DESCRIBED_FILTERS, ...SHARED },
})
const Comparison = z.object({
  report: Report.describe('As in ask.'),
  with: z.enum(['previous', 'year']).default('previous'),
  ...{ ...WINDOW, ...FILTERS, ...SHARED },
})

/** Buckets of a line, so that it has at most some 31 points; other ranges are days. */
const BUCKETS: Readonly<Record<string, string>> = {
  ...{ today: 'hour', yesterday: 'hour', '24h': 'hour' },
  ...{ '90d': 'week', '12mo': 'month', ytd: 'month', all: 'month' },
}

async function answerQuestion(
  context: ToolContext,
  { report, other, ...given }: z.output<typeof Question>,
  compare?: string,
) {
  const isLine = report.endsWith('timeseries') && given.start === undefined
  const granularity = given.granularity ?? (isLine ? (BUCKETS[given.range] ?? 'day') : undefined)
  return answerReport(context, {
    site: await siteOf(context, given.site),
    report,
    query: { ...queryOf({ ...given, granularity, compare }), ...other },
  })
}

const AboutOneReadership = z.object({
  ...WINDOW,
  ...FILTERS,
  audience: z.enum(['human', 'agent']).default('human').describe('People or agents.'),
})

/** The tools that answer one read each. */
export const REPORT_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'ask',
    title: 'Ask a report',
    description:
      'Answers one report about people, agents or both: totals, ranked lists, lines over time, funnels, costs. Start here when no other tool fits.',
    input: Question,
    run: (given, context) => answerQuestion(context, given),
  }),
  defineTool({
    name: 'compare',
    title: 'Compare two times',
    description: 'Answers a report beside the time before it, or the same days a year before, with each change.',
    input: Comparison,
    run: ({ with: compare, ...given }, context) => answerQuestion(context, given, compare),
  }),
  defineTool({
    name: 'what_changed',
    title: 'What changed',
    description:
      'Says which pages, sources, agents, countries and campaigns made a total rise or fall, and whether chance explains it.',
    input: AboutOneReadership.extend({ with: z.enum(['previous', 'year']).default('previous') }),
    run: async ({ with: compare, ...given }, context) =>
      answerReport(context, {
        site: await siteOf(context, given.site),
        report: 'changes',
        query: queryOf({ ...given, compare }),
      }),
  }),
  defineTool({
    name: 'violations',
    title: 'Violations of robots.txt',
    description: 'Lists what agents fetched although robots.txt disallowed it at the time.',
    input: z.object({
      ...WINDOW,
      ...FILTERS,
      by: z.enum(['agents', 'pages', 'rules', 'fetches']).default('agents').describe('Rows: one each.'),
      ...ROWS,
    }),
    run: async ({ by, ...given }, context) =>
      answerReport(context, {
        site: await siteOf(context, given.site),
        report: by === 'fetches' ? 'policy/violations' : `policy/violations/${by}`,
        query: queryOf(given),
      }),
  }),
  defineTool({
    name: 'citation_gap',
    title: 'Pages that AI reads, and readers that it sends',
    description: 'Holds how often AI agents read each page against the readers that assistants sent to it.',
    input: z.object({
      ...WINDOW,
      ...FILTERS,
      operator: z.string().max(100).optional().describe('One operator, such as OpenAI.'),
      ...ROWS,
    }),
    run: async (given, context) =>
      answerReport(context, {
        site: await siteOf(context, given.site),
        report: 'citation-gap',
        query: queryOf(given),
      }),
  }),
  defineTool({
    name: 'live',
    title: 'Now',
    description: 'People and agents on the site in the last minutes, by page.',
    input: z.object({ site: WINDOW.site, audience: z.enum(AUDIENCES).default('all') }),
    run: async ({ audience, ...given }, context) =>
      answerReport(context, {
        site: await siteOf(context, given.site),
        report: 'realtime',
        query: { audience },
      }),
  }),
]
