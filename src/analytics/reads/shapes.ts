import { z } from 'zod'
import type { ResultRow } from '../../storage/store.js'
import { findDimension } from '../query/dimensions.js'
import { METRIC_INFO, METRICS, type Metric, VERIFICATION_COUNTS } from '../query/metrics.js'
import { SEVERITIES } from '../query/violations.js'

/** The shape of one metric. Optional, because a metric that cannot be computed is absent. */
const metricShape = (metric: Metric): z.ZodType => {
  const { type, meaning } = METRIC_INFO[metric]
  const number = type === 'count' || type === 'bytes' ? z.int().nonnegative() : z.number().nonnegative()
  return (type === 'share' ? number.max(1) : number).optional().describe(meaning)
}
export const metricShapes = (metrics: readonly Metric[]): z.ZodRawShape =>
  Object.fromEntries(metrics.map((name) => [name, metricShape(name)]))

/** A row with its metrics in the other window and the relative change, if a comparison is requested. */
export const comparableRow = <S extends z.ZodRawShape>(own: S) =>
  z.object({
    ...own,
    comparison: z.record(z.string(), z.number()).optional().describe('The same metrics in the window compared with.'),
    change: z.record(z.string(), z.number()).optional().describe('Relative: 0.5 is an increase by half.'),
  })

/** A row with the metrics of the requested audience. */
export const metricsRow = <S extends z.ZodRawShape>(own: S) =>
  comparableRow({ ...own, ...metricShapes([...METRICS.human, ...METRICS.agent]) })

/** A dimension's value in a row. */
export const DimensionValue = z.union([z.string(), z.number(), z.boolean()])
export const metricsRows = z.array(
  metricsRow({ value: DimensionValue.optional().describe('Absent: hits without a value.') }),
)

export const DimensionName = z
  .string()
  .transform((name) => findDimension(name, 'dimension').name)
  .describe('A dimension of the audience; GET /api/stats/dimensions lists them.')
export const Instant = z.iso.datetime()
export const Partial = z
  .literal(true)
  .optional()
  .describe('The bucket is not whole: recorded in part, cut by the window, or not over yet.')
/** The buckets of one metric. The counts stand beside the share `verified` alone. */
export const Series = z.array(
  z.object({
    t: Instant,
    value: z.number().optional().describe('Absent if nothing was recorded, or it cannot be computed.'),
    ...metricShapes(VERIFICATION_COUNTS),
    partial: Partial,
    imported: z
      .literal(true)
      .optional()
      .describe('The value has days that another tool counted; `meta.warnings` says which.'),
  }),
)
export const Count = z.int().nonnegative()
export const Visits = Count.describe('Visits of people, that is sessions.')
export const Pageviews = Count.describe('Pageviews of people.')
export const Fetches = Count.describe('Fetches by agents.')
export const Share = z.number().min(0).max(1)
/** A 64-bit id as the API returns it. */
export const HexId = z.string().regex(/^[0-9a-f]{16}$/)

/** A session over its whole length. */
export const sessionShape = {
  id: HexId,
  visitor_id: HexId,
  started_at: Instant,
  ended_at: Instant.describe('Its last hit, engagement included.'),
  duration: z.number().nonnegative().describe('Seconds from its first to its last hit.'),
  pageviews: Pageviews,
  events: Count.describe('Custom events, outbound links, downloads and forms.'),
  entry_page: z.string().optional(),
  exit_page: z.string().optional().describe('The last pageview; in a session without pageviews the last event.'),
  channel: z.string().optional(),
  source: z.string().optional(),
  utm_campaign: z.string().optional(),
  country: z.string().optional().describe('From its first hit that has it, like the device and the language.'),
  browser: z.string().optional(),
  os: z.string().optional(),
  device_type: z.string().optional(),
  screen_class: z.string().optional().describe('Only if the script reported it.'),
  language: z.string().optional(),
  identified_id: z.string().optional().describe('Given by the site; the latest one.'),
}

/** The fields of the citation gap and of answers. */
export const Operator = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("One operator's agents and assistants, by the catalog's name; default all.")
export const PageReads = Count.describe(
  'Successful page reads by agents of purpose `search` or `assistant`, without spoofed ones.',
)
export const Arrivals = Count.describe('Sessions of people that entered here from an AI assistant.')
export const Ratio = z.number().nonnegative().optional().describe('Fetches per arrival; absent without an arrival.')

const OnlySeverity = z.enum(SEVERITIES).optional().describe('Only this severity; default all, the most serious first.')
/** The parts that the definitions of all reads about violations share. */
export const VIOLATIONS_READ = { params: { severity: OnlySeverity }, list: true, audience: { only: 'agent' } } as const
/** The fields at the end of a row that sums violations. */
export const violationSumShapes = {
  rule: z
    .string()
    .optional()
    .describe('The pattern that disallowed most of them; absent if everything was disallowed without a rule.'),
  line: Count.optional().describe('Line of that pattern in the version active at the time.'),
  first_seen: Instant,
  last_seen: Instant,
}

/** Parses an id of the API to an SQL parameter. */
export const parseHexId = (hex: unknown): bigint => BigInt(`0x${String(hex)}`)

const AnyObject = z.record(z.string(), z.unknown())
/** Parses JSON text that a browser or the site sent; undefined unless it is an object that can be serialised again. */
export function parseJsonObject(json: unknown): Record<string, unknown> | undefined {
  if (typeof json !== 'string') return undefined
  try {
    const parsed = AnyObject.parse(JSON.parse(json))
    // Throws if it is nested too deep to serialise.
    JSON.stringify(parsed)
    return parsed
  } catch {
    return undefined
  }
}

/** Identifies a URL among rows. */
export const urlKey = ({ hostname, pathname }: ResultRow): string => JSON.stringify([hostname, pathname])

/** Groups rows by URL, in their order; returns the function that finds those of a URL. */
export function groupByUrl<V>(rows: readonly ResultRow[], toValue: (row: ResultRow) => V): (url: ResultRow) => V[] {
  const groups = new Map<string, V[]>()
  for (const row of rows) groups.set(urlKey(row), [...(groups.get(urlKey(row)) ?? []), toValue(row)])
  return (url) => groups.get(urlKey(url)) ?? []
}

/** Returns a row with its instants as ISO-8601 text. */
export const formatInstants = (row: ResultRow): ResultRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  )
