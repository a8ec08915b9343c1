import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { expectation } from '../../base/expectation.js'
import { nearestName } from '../../base/nearest-name.js'
import { GRANULARITIES } from '../../storage/sql.js'
import { type LocalDay, parseDay, parseInstant, parseTimeZone, startOfDay } from './calendar.js'
import { AUDIENCES, lookUpDimension, quote } from './dimensions.js'
import { type Filter, parseFiltersJson } from './filters.js'
import { FOREIGN_PARAMETERS, foreignName } from './foreign-names.js'

/** The query parameters of every analytics read: syntax only, no clock and no store. */
export const RANGES = ['today', 'yesterday', '24h', '7d', '30d', '90d', '12mo', 'mtd', 'ytd', 'all'] as const
export type RangeName = (typeof RANGES)[number]

const EARLIEST = Date.UTC(1970, 0, 2)
const LATEST = Date.UTC(2200, 0, 1)

/** Parses an instant or a day; returns undefined for any other text, and outside of 1970 to 2199. */
export function parseMoment(text: string): Date | LocalDay | undefined {
  const read = parseDay(text) ?? parseInstant(text)
  const at = read && (read instanceof Date ? read : startOfDay(read, 'UTC')).getTime()
  return at !== undefined && at >= EARLIEST && at < LATEST ? read : undefined
}

/** An instant or a day. A plus sign that was not escaped in the URL arrives as a space. */
const moment = z.string().transform((text, context) => {
  const read = parseMoment(text.replace(/ (\d{2}:?\d{2})$/, '+$1'))
  if (read) return read
  context.addIssue(describeMoment(text))
  return z.NEVER
})

/** The predicate of the sentence about a text that is not a moment, with what to write instead. */
export function describeMoment(text: string): string {
  const form = 'an ISO-8601 instant such as 2026-11-21T08:00:00.000Z, or a day such as 2026-11-21, from 1970 to 2199'
  const [, day, clock] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?/.exec(text) ?? []
  if (day !== undefined && !parseDay(day)) return `the day ${day} does not exist; must be ${form}`
  if (clock !== undefined && text.length === `${day}T${clock}`.length && parseInstant(`${day}T${clock}Z`))
    return `has no time zone; write ${day}T${clock}Z for UTC, or with an offset ${day}T${clock}+01:00`
  const epoch = /^\d{10}$|^\d{13}$/.test(text) ? Number(text.padEnd(13, '0')) : undefined
  return epoch === undefined ? `must be ${form}` : `is a number; write ${new Date(epoch).toISOString()}`
}

/** A whole number in a query string, from `least` to `most`. */
export const wholeNumber = (most: number, least = 1) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`)
    // In the OpenAPI document it is the number it becomes.
    .meta({ type: 'integer', minimum: least, maximum: most })

export const ENVELOPE_SHAPE = {
  site: wholeNumber(2_147_483_647).describe('The id of the site.'),
  start: moment
    .optional()
    .describe(
      'First instant of the window, ISO-8601; a date alone is the first instant of that day in `tz`. Overrides `range`.',
    )
    .meta({ example: '2026-11-14T00:00:00.000Z' }),
  end: moment
    .optional()
    .describe('End of the window (exclusive), ISO-8601; a date alone includes that day in `tz`. Overrides `range`.')
    .meta({ example: '2026-11-21T00:00:00.000Z' }),
  range: z.enum(RANGES).default('30d').describe('The window, in `tz`.'),
  compare: z.enum(['none', 'previous', 'year']).default('none').describe('The window to compare with.'),
  tz: z
    .string()
    .transform((word, context) => {
      const name = parseTimeZone(word)
      if (name !== undefined) return name
      context.addIssue('must be an IANA time zone such as Europe/Berlin')
      return z.NEVER
    })
    .optional()
    .describe("IANA time zone; default the site's.")
    .meta({ example: 'Europe/Berlin' }),
  granularity: z
    .enum(GRANULARITIES)
    .optional()
    .describe('Size of the buckets; default the finest that gives at most 200.')
    .meta({ example: 'day' }),
  filters: z
    .string()
    .transform((json, context): Filter[] => {
      try {
        return parseFiltersJson(json)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        context.addIssue(error.message)
        return z.NEVER
      }
    })
    .optional()
    .describe(
      'JSON array of filters, all of which have to hold: `[{"dimension": "country", "op": "is", "value": ["DE", "AT"]}]`. Groups: `{"and": […]}`, `{"or": […]}`, `{"not": {…}}`, `{"has_done": {…}}`. Names: GET /api/stats/dimensions.',
    )
    .meta({
      example: '[{"dimension":"country","op":"is","value":["DE","AT"]}]',
      contentSchema: { $ref: '#/components/schemas/Filters' },
    }),
  segment: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('The id of a saved segment, whose filters also have to hold.')
    .meta({ example: '1' }),
  audience: z.enum(AUDIENCES).optional().describe('The audience: `human` (default), `agent` or `all`.'),
  suspected: z
    .enum(['include', 'exclude'])
    .default('include')
    .describe(
      '`exclude`: people without their suspected sessions. A session with a suspected view is left out whole; agents are counted as always.',
    ),
} as const

/** The parameters of a list, beside the envelope's. */
export const PAGING_SHAPE = {
  limit: wholeNumber(1000).default(50).describe('Rows per page, 1 to 1000; default 50.'),
  page: wholeNumber(1_000_000).default(1).describe('Page, from 1 (default).'),
} as const

export const Envelope = z.object(ENVELOPE_SHAPE)
export type Envelope = z.infer<typeof Envelope>

export const Paging = z.object(PAGING_SHAPE)

/**
 * Throws `validation_error` for the first parameter that is not one of `known`, and says what to write instead: a filter
 * that is ignored must not look like an answer. `others` are accepted and not proposed.
 */
export function checkParameterNames(
  query: URLSearchParams,
  names: readonly string[],
  others: readonly string[] = [],
): void {
  for (const [name, value] of query)
    if (!names.includes(name) && !others.includes(name))
      throw new ApiError('validation_error', unknownParameter(name, value, names), name.slice(0, 100))
}

function unknownParameter(name: string, value: string, names: readonly string[]): string {
  const list = names.length === 0 ? 'It takes no parameters.' : `The parameters are ${names.join(', ')}.`
  if (Object.hasOwn(ENVELOPE_SHAPE, name) || Object.hasOwn(PAGING_SHAPE, name))
    return `${name} does not apply here: ${name === 'page' ? 'only lists have pages' : 'this endpoint does not use it'}. ${list}`
  const unknown = `Unknown parameter ${quote(name)}`
  const ours = foreignName(name, FOREIGN_PARAMETERS)
  if (ours !== undefined && names.includes(ours)) return `${unknown}; write ${ours}${PARAMETER_EXAMPLES[ours] ?? ''}.`
  const dimension = lookUpDimension(name)
  if (dimension !== undefined && names.includes('filters')) {
    const filter = JSON.stringify([{ dimension, op: 'is', value: value.slice(0, 60) }])
    return `${unknown}; to filter, write filters=${filter}.`
  }
  const nearest = nearestName(name, names)
  return `${unknown}${nearest === undefined ? `; ${list[0]?.toLowerCase()}${list.slice(1)}` : `; did you mean ${nearest}?`}`
}

/** Values to copy, for parameters that other tools write in another form. */
const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = {
  range: ', such as range=30d',
  start: ', such as start=2026-11-01&end=2026-11-28',
  end: ', such as start=2026-11-01&end=2026-11-28',
  site: ', such as site=1',
  tz: ', such as tz=Europe/Berlin',
  granularity: ', such as granularity=day',
  compare: ', such as compare=previous',
  metric: ', such as metric=visitors',
  dimension: ', such as dimension=pathname',
  limit: ', such as limit=100',
  page: ', which counts from 1, such as page=2',
}

/**
 * Parses the parameters of a query string. Leaves out other parameters (see `checkParameterNames`). Throws `validation_error` with the parameter
 * as field if its value is invalid or if it occurs twice.
 */
export function parseParameters<P extends z.ZodObject>(parameters: P, query: URLSearchParams): z.output<P> {
  const given: Record<string, string> = {}
  for (const name of Object.keys(parameters.shape)) {
    const [value, ...more] = query.getAll(name)
    if (more.length > 0) throw new ApiError('validation_error', `${name} occurs twice.`, name)
    if (value !== undefined) given[name] = value
  }
  // The empty message marks issues for which the parameter has no message of its own.
  const result = parameters.safeParse(given, { error: () => '' })
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const name = String(issue?.path[0] ?? 'query')
  const value = given[name]
  const near = issue?.code === 'invalid_value' ? nearestChoice(value ?? '', issue.values.map(String)) : undefined
  const why = issue?.message || `${expectation(issue, given)}${name === 'range' ? OTHER_RANGES : ''}`
  throw new ApiError(
    'validation_error',
    issueMessage(name, value, near === undefined ? why : `did you mean ${near}? It ${why}`),
    name,
  )
}
const OTHER_RANGES = '; for other days, write start and end, such as start=2026-11-01&end=2026-11-28'

/** The nearest accepted value. Another number is another length, so `28d` is not near `24h`. */
function nearestChoice(value: string, choices: readonly string[]): string | undefined {
  const digits = (text: string) => text.replace(/\D/g, '')
  const near = nearestName(value, choices)
  return near !== undefined && digits(near) === digits(value) ? near : undefined
}

/**
 * Splits a query string if a read uses values of an envelope parameter for itself, such as a path as `start` of
 * journeys. `own` has those values and all parameters outside the envelope; `shared` has everything but those values.
 */
export function splitQuery(query: URLSearchParams, owns: (name: string, value: string) => boolean) {
  const [ownQuery, shared] = [new URLSearchParams(), new URLSearchParams()]
  for (const [name, value] of query) {
    const its = owns(name, value)
    if (its || !Object.hasOwn(ENVELOPE_SHAPE, name)) ownQuery.append(name, value)
    if (!its) shared.append(name, value)
  }
  return { own: ownQuery, shared }
}

const issueMessage = (name: string, value: string | undefined, why = 'not valid'): string => {
  if (value === undefined) return `${name} is missing.`
  return name === 'filters' ? why : `${name} ${quote(value)}: ${why}.`
}
