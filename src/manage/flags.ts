import { z } from 'zod'
import { ApiError } from '../errors.js'
import { quote } from '../query/dimensions.js'
import { type Filter, isBehavioural, listConditions, parseFilters } from '../query/filters.js'
import { operatorNamed } from '../query/operators.js'
import type { Records } from '../store.js'
import { type Collection, createCollection, JsonText, SiteId, Version } from './collection.js'

/** What is known of a visitor when a flag is evaluated: the page and the request, and nothing that was stored. */
export const FLAG_DIMENSIONS = [
  ...['hostname', 'pathname', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'],
  ...['language', 'browser', 'os', 'device_type'],
] as const
export type FlagDimension = (typeof FLAG_DIMENSIONS)[number]
export const isFlagDimension = (dimension: string): dimension is FlagDimension =>
  FLAG_DIMENSIONS.some((known) => known === dimension)

/** Patterns are read safely by the store's engine alone, which nobody waits for here. */
const SUPPORTED_OPERATORS: readonly string[] = ['is', 'contains', 'starts_with', 'ends_with', 'is_set']

const Key = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'A key is 1 to 64 of a-z, 0-9, _ and -.')
const Variant = z.strictObject({
  key: Key,
  weight: z
    .number()
    .positive('A weight is over 0.')
    .max(1_000_000)
    .describe('Its part of those who are in, among the weights of all.'),
})
const shape = {
  key: Key.describe('What the site asks for it by: unique.'),
  enabled: z.boolean().describe('False: off for everybody.'),
  rollout: z.number().min(0).max(1).describe('The share of visitors that it is on for.'),
}
const Variants = z
  .array(Variant)
  .min(1)
  .max(20)
  .refine((variants) => new Set(variants.map(({ key }) => key)).size === variants.length, 'Two have the same key.')
const Filters = z
  .union([z.array(z.unknown()).min(1), z.record(z.string(), z.unknown())])
  .describe(
    `Who can have it, as the parameter \`filters\` takes them, by ${FLAG_DIMENSIONS.join(', ')}; without patterns.`,
  )

/** A flag as the API shows it (contract 7). */
export const Flag = z.object({
  ...{ id: z.int(), version: Version, site: z.int(), ...shape },
  variants: z.array(z.object({ key: z.string(), weight: z.number() })).optional(),
  filters: z.array(z.record(z.string(), z.unknown())).optional().describe('In canonical names.'),
})
/** As it is kept: its key is its name. */
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
  ...{ site: SiteId, ...shape, rollout: shape.rollout.default(1), enabled: shape.enabled.default(false) },
  ...{ variants: Variants.optional(), filters: Filters.optional() },
})
/** The body of `PATCH /api/flags/{id}`; null takes away. */
export const FlagChange = z
  .strictObject({ ...shape, variants: Variants.nullable(), filters: Filters.nullable() })
  .partial()

const filterError = (message: string): ApiError => new ApiError('validation_error', message, 'filters')

/** A flag that can be evaluated, its filters in canonical names. Throws `validation_error`, field `filters`. */
export function normaliseFlag({ key, variants, filters: given, ...flag }: z.infer<typeof NewFlag>): Flag {
  const filters = given === undefined ? undefined : parseFilters(given)
  if (filters?.some(isBehavioural))
    throw filterError('A flag is decided by one page: it knows nothing of what was done.')
  for (const { dimension, op } of listConditions(filters ?? [])) {
    if (!isFlagDimension(dimension))
      throw filterError(`A flag knows nothing of ${quote(dimension)}, but of ${FLAG_DIMENSIONS.join(', ')}.`)
    if (!SUPPORTED_OPERATORS.includes(operatorNamed(op).base)) throw filterError(`A flag cannot compare by ${op}.`)
  }
  return { ...flag, name: key, ...(variants ? { variants } : {}), ...(filters ? { filters } : {}) }
}

const StoredFlag = z
  .object({
    ...{ id: z.int(), version: Version, site: z.int(), name: z.string(), enabled: z.boolean(), rollout: z.number() },
    variants: JsonText.pipe(z.array(Variant)).nullable(),
    filters: JsonText.transform(parseFilters).nullable(),
  })
  .transform(({ variants, filters, ...flag }) => ({
    ...flag,
    ...(variants === null ? {} : { variants }),
    ...(filters === null ? {} : { filters }),
  }))

/** The flags of this instance's sites, over its records. */
export const createFlags = (records: Records): Collection<Flag> =>
  createCollection<Flag>(records, {
    ...{ table: 'flags', label: 'flag', maxPerSite: 100, nameField: 'key' },
    fromRow: (row) => StoredFlag.parse(row),
    toColumns: ({ enabled, rollout, variants, filters }) => ({
      ...{ enabled, rollout },
      variants: variants ? JSON.stringify(variants) : null,
      filters: filters ? JSON.stringify(filters) : null,
    }),
  })
