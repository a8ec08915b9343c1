import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { suggestName } from '../../base/nearest-name.js'
import { quote } from '../query/dimensions.js'
import { ENVELOPE_SHAPE, PAGING_SHAPE } from '../query/envelope.js'
import { METRIC_INFO } from '../query/metrics.js'
import type { Read } from '../query/read.js'
import { reads } from '../reads/index.js'

/** A read requested as a report. */
export interface NamedReport {
  /** The requested name: `pages`, `agents/coverage`, `funnel/12`. */
  readonly name: string
  readonly read: Read
  /** Values of the path's parameters, by name. */
  readonly words: Readonly<Record<string, string>>
}

/** Returns `pages` for `/api/stats/pages`, `agents/coverage` for `/api/agents/coverage`. */
const reportName = (read: Read): string => read.path.replace(/^\/api\/(stats\/)?/, '')

/** Reads whose response depends on a site, by report name. */
const reports = new Map(reads.filter((read) => !read.staticResult).map((read) => [reportName(read), read]))

/** All report names; `{id}` stands for a path parameter. */
export const REPORT_NAMES: readonly string[] = [...reports.keys()]

/** Returns the report of a name. Throws `validation_error`, field `report`, for an unknown one. */
export function findReport(asked = 'overview'): NamedReport {
  const name = asked.replace(/^\/?(api\/)?(stats\/)?/, '')
  for (const [pattern, read] of reports) {
    const words = matchPath(pattern, name)
    if (words) return { name, read, words }
  }
  throw new ApiError(
    'validation_error',
    `There is no report ${quote(asked)}${suggestName(name, REPORT_NAMES, `; the reports are ${REPORT_NAMES.join(', ')}.`)}`,
    'report',
  )
}

function matchPath(pattern: string, name: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), name.split('/')]
  if (wanted.length !== given.length) return undefined
  const words: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const word = given[i] ?? ''
    const [, key] = /^\{(\w+)\}$/.exec(part) ?? []
    if (key === undefined ? part !== word : word === '') return undefined
    if (key !== undefined) words[key] = word
  }
  return words
}

/** Reports that include the response of a second read, as a chart. */
const COMPANION_READS: Readonly<Record<string, string>> = { overview: 'timeseries' }

/** Returns the report's own read, then the read that is drawn as its chart, if it has one. */
export const listReportReads = (report: NamedReport): readonly NamedReport[] => {
  const course = COMPANION_READS[report.name]
  return course === undefined ? [report] : [report, findReport(course)]
}

/** The parameters of a report: those of its reads. */
export const listParameters = (report: NamedReport): string[] => [
  ...new Set(listReportReads(report).flatMap(({ read }) => Object.keys(read.query))),
]

/** The names of all metrics. */
export const METRIC_NAMES: ReadonlySet<string> = new Set(Object.keys(METRIC_INFO))

/** A value of each parameter that only some reports take, for the API document. */
const EXAMPLES: Readonly<Record<string, string>> = {
  align: 'ids',
  steps: '/pricing',
  metric: 'pageviews',
  dimension: 'country',
  name: 'signup',
  property: 'plan',
  depth: '4',
  per: 'session',
  step: '1',
  outcome: 'reached',
  order: 'fetches',
  operator: 'OpenAI',
  hostname: 'example.com',
  agent_id: 'gptbot',
  path: '/',
  severity: 'breach',
  kind: 'robots',
  minutes: '10',
  by: 'page',
  hours: '24',
}

/** Parameters of single reports, for the API document; the reads check them. */
const OWN_PARAMETERS: z.ZodRawShape = Object.fromEntries(
  [...new Set([...reports.values()].flatMap((read) => Object.keys(read.query)))]
    .filter((name) => !(name in ENVELOPE_SHAPE) && !(name in PAGING_SHAPE))
    .map((name) => [
      name,
      z
        .string()
        .optional()
        .describe(`For ${[...reports].flatMap(([report, read]) => (name in read.query ? [report] : [])).join(', ')}.`)
        .meta({ example: EXAMPLES[name] }),
    ]),
)

export const ReportParameter = z
  .string()
  .max(200)
  .optional()
  .describe(
    `The path of a read below \`/api/stats\` or \`/api\`: ${REPORT_NAMES.join(', ')}. Default \`overview\`, with its timeseries.`,
  )

/** The parameters of both file endpoints. */
export const ExportQuery = z.object({
  ...ENVELOPE_SHAPE,
  report: ReportParameter,
  limit: PAGING_SHAPE.limit.describe('Rows of a page; without it, lists are returned whole.').optional(),
  page: PAGING_SHAPE.page.optional(),
  ...OWN_PARAMETERS,
})

/** Returns the last fixed word of a read's path: the name of its first table. */
export const readTitle = ({ path }: Read): string => path.split('/').findLast((word) => !word.startsWith('{')) ?? ''
