import { z } from 'zod'
import { ApiError } from '../errors.js'
import { quote } from '../query/dimensions.js'
import { ENVELOPE_SHAPE, PAGING_SHAPE } from '../query/envelope.js'
import { METRIC_INFO } from '../query/metrics.js'
import type { Read } from '../query/read.js'
import { reads } from '../reads/index.js'

/** A read as a file is asked for it. */
export interface NamedReport {
  /** As asked for: `pages`, `agents/coverage`, `funnel/12`. */
  readonly name: string
  readonly read: Read
  /** Of the read's path, by name. */
  readonly words: Readonly<Record<string, string>>
}

/** `/api/stats/pages` is `pages`, `/api/agents/coverage` is `agents/coverage`. */
const reportName = (read: Read): string => read.path.replace(/^\/api\/(stats\/)?/, '')

/** What a site can be asked is a report; what answers the same of every site is none. */
const reports = new Map(reads.filter((read) => !read.staticResult).map((read) => [reportName(read), read]))

/** The names of all reports; `{id}` stands for a word of one's own. */
export const REPORT_NAMES: readonly string[] = [...reports.keys()]

/** Throws `validation_error`, field `report`, for a name that is none. */
export function findReport(asked = 'overview'): NamedReport {
  const name = asked.replace(/^\/?(api\/)?(stats\/)?/, '')
  for (const [pattern, read] of reports) {
    const words = matchPath(pattern, name)
    if (words) return { name, read, words }
  }
  throw new ApiError(
    'validation_error',
    `There is no report ${quote(asked)}: it is one of ${REPORT_NAMES.join(', ')}.`,
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

/** A report that shows the course of time has another read's beside its own. */
const COMPANION_READS: Readonly<Record<string, string>> = { overview: 'timeseries' }

/** The reads that a report is made of: its own first. */
export const listReportReads = (report: NamedReport): readonly NamedReport[] => {
  const course = COMPANION_READS[report.name]
  return course === undefined ? [report] : [report, findReport(course)]
}

/** Every name that is a metric's. */
export const METRIC_NAMES: ReadonlySet<string> = new Set(Object.keys(METRIC_INFO))

/** What any report takes besides the envelope, for whoever reads the document: the reports check it themselves. */
const OWN_PARAMETERS: z.ZodRawShape = Object.fromEntries(
  [...new Set([...reports.values()].flatMap((read) => Object.keys(read.query)))]
    .filter((name) => !(name in ENVELOPE_SHAPE) && !(name in PAGING_SHAPE))
    .map((name) => [
      name,
      z
        .string()
        .optional()
        .describe(`Of ${[...reports].flatMap(([report, read]) => (name in read.query ? [report] : [])).join(', ')}.`),
    ]),
)

export const ReportParameter = z
  .string()
  .max(200)
  .optional()
  .describe(
    `A read by its path below \`/api/stats\` or \`/api\`: ${REPORT_NAMES.join(', ')}. Default \`overview\`, with its timeseries.`,
  )

/** The parameters of both files. */
export const ExportQuery = z.object({
  ...ENVELOPE_SHAPE,
  report: ReportParameter,
  limit: PAGING_SHAPE.limit.describe('Rows of a page, where a list is not wanted whole.').optional(),
  page: PAGING_SHAPE.page.optional(),
  ...OWN_PARAMETERS,
})

/** The last word of a read's path that is no word of one's own: what its first table is called. */
export const readTitle = ({ path }: Read): string => path.split('/').findLast((word) => !word.startsWith('{')) ?? ''
