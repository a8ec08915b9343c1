import { z } from 'zod'
import { findReport } from '../../analytics/export/report-names.js'
import { RANGES } from '../../analytics/query/envelope.js'
import { ApiError } from '../../base/errors.js'
import { type Answer, createAnswer, warningsOf } from './answer.js'
import { type ApiClient, pathWith, type Query } from './api-client.js'
import { dashboardLink } from './dashboard-link.js'

/** The surroundings of a tool: the API with the caller's rights, and where the dashboard is. */
export interface ToolContext {
  readonly api: ApiClient
  /** The address of the dashboard, with a slash at its end. */
  readonly dashboard: string
}

/** One tool of the MCP server: its name is the word that a model calls it by. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  /** The tool stores something; only keys with `manage:write` have it. */
  readonly writes?: true
  /** Answers arguments that have not been checked. */
  call(given: unknown, context: ToolContext): Promise<Answer>
}

/** Creates a tool, whose arguments are checked by its schema. */
export function defineTool<T extends z.ZodObject>({
  run,
  ...tool
}: Omit<Tool, 'call' | 'input'> & {
  input: T
  run(given: z.output<T>, context: ToolContext): Promise<Answer>
}): Tool {
  return { ...tool, call: (given, context) => run(tool.input.parse(given), context) }
}

const Site = z.int().positive().optional().describe('Site id (tool list); not needed if there is only one.')

/** The site and the window of a question. */
export const WINDOW = {
  site: Site,
  range: z.enum(RANGES).default('30d'),
  start: z.string().max(40).optional().describe('A day (2026-11-01) or instant; with end, in place of range.'),
  end: z.string().max(40).optional().describe('The last day, included; or an instant, excluded.'),
}
/** The site alone. */
export const SITE = { site: Site }

const Filters = z.array(z.record(z.string(), z.unknown())).max(50).optional()
/** Filters as the API takes them, without its string of JSON. */
export const FILTERS = { filters: Filters.describe('As in ask.') }
/** The same with the words that the other tools refer to. */
export const DESCRIBED_FILTERS = {
  filters: Filters.describe(
    'All must hold: [{"dimension":"pathname","op":"is","value":"/pricing"}]. Groups: {"or":[…]}, {"not":{…}}, {"has_done":{…}}, {"has_not_done":{…}}. Dimensions and operators: tool list.',
  ),
}
/** Rows of a list. */
export const ROWS = { limit: z.int().min(1).max(50).default(10).describe('Rows.') }

const SiteList = z.array(z.looseObject({ id: z.int(), name: z.string() }))

/** Returns the id of the site that is asked about: the named one, or the only one. Throws `validation_error` if it is open. */
export async function siteOf({ api }: Pick<ToolContext, 'api'>, site: number | undefined): Promise<number> {
  if (site !== undefined) return site
  const sites = SiteList.parse((await api.get('/api/sites')).data)
  const [first] = sites
  if (first && sites.length === 1) return first.id
  const ids = sites
    .map(({ id }) => id)
    .slice(0, 20)
    .join(', ')
  throw new ApiError('validation_error', `There are ${sites.length} sites: name one as site (${ids}).`, 'site')
}

/** A question to one read. */
interface Question {
  readonly site: number
  /** The name of the read in the API: `pages`, `agents/coverage`. */
  readonly report: string
  readonly query: Query
}

/** Arguments of a tool that become parameters of the API by the same name. */
type Arguments = Readonly<Record<string, Query[string] | readonly unknown[]>>

/** Writes the window, filters and further arguments of a tool as parameters of the API; the days replace the range. */
export function queryOf({ site: _, ...given }: Arguments): Query {
  const hasDays = given.start !== undefined && given.end !== undefined
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      if (value === undefined || (name === 'range' && hasDays)) return []
      return [[name, typeof value === 'object' ? JSON.stringify(value) : value]]
    }),
  )
}

/** Asks a read by its name in the API and returns its data with the request, what it is based on, and its view. */
async function askReport({ api, dashboard }: ToolContext, { site, report, query }: Question) {
  const { name, read, words } = findReport(report)
  const path = read.path.replace(/\{(\w+)\}/g, (_, word: string) => encodeURIComponent(words[word] ?? ''))
  const { limit, ...rest } = query
  const asked = { site, ...rest, ...(read.list && { limit }) }
  const { data, meta = {} } = await api.get(path, asked)
  return {
    data,
    request: pathWith(path, asked),
    warnings: warningsOf(meta),
    link: dashboardLink(dashboard, { report: name, site, query }),
  }
}

/** Asks one read and makes its answer. */
export async function answerReport(context: ToolContext, question: Question): Promise<Answer> {
  const { data, request, warnings, link } = await askReport(context, question)
  return createAnswer({ data, requests: [request], warnings, dashboard: link })
}

/** Asks several reads at once; each part of the data has the name of its question. */
export async function answerSeveral(
  context: ToolContext,
  parts: Readonly<Record<string, Question>>,
  dashboard: string,
): Promise<Answer> {
  const answers = await Promise.all(
    Object.entries(parts).map(async ([name, question]) => ({ name, ...(await askReport(context, question)) })),
  )
  return createAnswer({
    data: Object.fromEntries(answers.map(({ name, data }) => [name, data])),
    requests: answers.map(({ request }) => request),
    warnings: answers.flatMap(({ warnings }) => warnings),
    dashboard,
  })
}
