import { z } from 'zod'
import { quote } from '../analytics/query/dimensions.js'
import { type Filter, isBehavioural, listConditions, parseFilters } from '../analytics/query/filters.js'
import { operatorNamed } from '../analytics/query/operators.js'
import { ApiError } from '../base/errors.js'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import { FiltersColumn, FiltersOutput, JsonText, omitNulls, recordFields, SiteId, SomeFiltersInput } from './fields.js'

/** Dimensions that a flag's filters may use: those of the page, the request and its address, nothing that is stored. */
const FLAG_DIMENSIONS = [
  'hostname',
  'pathname',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_term',
  'language',
  'browser',
  'os',
  'device_type',
  'country',
] as const
export type FlagDimension = (typeof FLAG_DIMENSIONS)[number]
export const isFlagDimension = (dimension: string): dimension is FlagDimension =>
  FLAG_DIMENSIONS.some((known) => known === dimension)

/** Operators without patterns: only the store's engine matches patterns safely, and a flag does not wait for the store. */
const SUPPORTED_OPERATORS: readonly string[] = ['is', 'contains', 'starts_with', 'ends_with', 'is_set']

const Key = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'A key has 1 to 64 characters from a-z, 0-9, _ and -.')
const Variant = z.strictObject({
  key: Key,
  weight: z
    .number()
    .positive('A weight must be greater than 0.')
    .max(1_000_000)
    .describe('Its share of the visitors who get the flag, relative to the weights of all variants.'),
})
const shape = {
  key: Key.describe('The name by which the site asks for the flag: unique.'),
  enabled: z.boolean().describe('False: off for everyone.'),
  rollout: z.number().min(0).max(1).describe('The share of visitors who get the flag.'),
}
const Variants = z
  .array(Variant)
  .min(1)
  .max(20)
  .refine(
    (variants) => new Set(variants.map(({ key }) => key)).size === variants.length,
    'Each variant needs its own key.',
  )
const Filters = SomeFiltersInput.describe(
  `Visitors who can get the flag, as in the query parameter \`filters\`, by ${FLAG_DIMENSIONS.join(', ')}; without patterns.`,
)

/** A flag as the API shows it. */
export const Flag = z.object({
  ...recordFields,
  ...shape,
  variants: z.array(z.object({ key: z.string(), weight: z.number() })).optional(),
  filters: FiltersOutput.optional(),
})
/** A flag as it is stored: its key is its name. */
export interface Flag {
  readonly site: number
  readonly name: string
  readonly enabled: boolean
  readonly rollout: number
  readonly variants?: readonly z.infer<typeof Variant>[]
  readonly filters?: readonly Filter[]
}

/** The body of `POST /api/flags`. */
export const NewFlag = z.strictObject({
  site: SiteId,
  ...shape,
  rollout: shape.rollout.default(1),
  enabled: shape.enabled.default(false),
  variants: Variants.optional(),
  filters: Filters.optional(),
})
/** The body of `PATCH /api/flags/{id}`; null removes a field. */
export const FlagChange = z
  .strictObject({ ...shape, variants: Variants.nullable(), filters: Filters.nullable() })
  .partial()

const filterError = (message: string): ApiError => new ApiError('validation_error', message, 'filters')

/** Returns the flag with its filters in canonical names. Throws `validation_error`, field `filters`, if they cannot be evaluated. */
export function normaliseFlag({ key, variants, filters: given, ...flag }: z.infer<typeof NewFlag>): Flag {
  const filters = given === undefined ? undefined : parseFilters(given)
  if (filters?.some(isBehavioural))
    throw filterError('A flag is evaluated from a single page view: it cannot filter by what a visitor did before.')
  for (const { dimension, op } of listConditions(filters ?? [])) {
    if (!isFlagDimension(dimension))
      throw filterError(`A flag cannot filter by ${quote(dimension)}, only by ${FLAG_DIMENSIONS.join(', ')}.`)
    if (!SUPPORTED_OPERATORS.includes(operatorNamed(op).base))
      throw filterError(`A flag cannot use the operator ${op}.`)
  }
  return { ...flag, name: key, ...(variants ? { variants } : {}), ...(filters ? { filters } : {}) }
}

const StoredFlag = z
  .object({
    ...recordFields,
    name: z.string(),
    enabled: z.boolean(),
    rollout: z.number(),
    variants: JsonText.pipe(z.array(Variant)).nullable(),
    filters: FiltersColumn.nullable(),
  })
  .transform(omitNulls)

export const createFlags = (records: Records) =>
  createCollection<Flag>(records, {
    table: 'flags',
    label: 'flag',
    maxPerSite: 100,
    nameField: 'key',
    stored: StoredFlag,
    columns: ['enabled', 'rollout', 'variants', 'filters'],
  })
