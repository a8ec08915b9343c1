import { z } from 'zod'
import { ApiError } from '../errors.js'
import { quoted } from '../query/dimensions.js'
import { conditionsOf, type Filter, isBehavioural, readFilters } from '../query/filters.js'
import { operator } from '../query/operators.js'
import type { Records } from '../store.js'
import { type Collection, collection, Json, SiteId, Version } from './collection.js'

/** What is known of a visitor when a flag is evaluated: the page and the request, and nothing that was stored. */
export const KNOWN = [
  ...['hostname', 'pathname', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'],
  ...['language', 'browser', 'os', 'device_type'],
] as const
export type Known = (typeof KNOWN)[number]
export const isKnown = (dimension: string): dimension is Known => KNOWN.some((known) => known === dimension)

/** Patterns are read safely by the store's engine alone, which nobody waits for here. */
const BASES: readonly string[] = ['is', 'contains', 'starts_with', 'ends_with', 'is_set']

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
  .describe(`Who can have it, as the parameter \`filters\` takes them, by ${KNOWN.join(', ')}; without patterns.`)

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

const refuse = (message: string): ApiError => new ApiError('validation_error', message, 'filters')

/** A flag that can be evaluated, its filters in canonical names. Throws `validation_error`, field `filters`. */
export function finishedFlag({ key, variants, filters: given, ...flag }: z.infer<typeof NewFlag>): Flag {
  const filters = given === undefined ? undefined : readFilters(given)
  if (filters?.some(isBehavioural)) throw refuse('A flag is decided by one page: it knows nothing of what was done.')
  for (const { dimension, op } of conditionsOf(filters ?? [])) {
    if (!isKnown(dimension)) throw refuse(`A flag knows nothing of ${quoted(dimension)}, but of ${KNOWN.join(', ')}.`)
    if (!BASES.includes(operator(op).base)) throw refuse(`A flag cannot compare by ${op}.`)
  }
  return { ...flag, name: key, ...(variants ? { variants } : {}), ...(filters ? { filters } : {}) }
}

const Stored = z
  .object({
    ...{ id: z.int(), version: Version, site: z.int(), name: z.string(), enabled: z.boolean(), rollout: z.number() },
    variants: Json.pipe(z.array(Variant)).nullable(),
    filters: Json.transform(readFilters).nullable(),
  })
  .transform(({ variants, filters, ...flag }) => ({
    ...flag,
    ...(variants === null ? {} : { variants }),
    ...(filters === null ? {} : { filters }),
  }))

/** The flags of this instance's sites, over its records. */
export const createFlags = (records: Records): Collection<Flag> =>
  collection<Flag>(records, {
    ...{ table: 'flags', one: 'flag', most: 100, named: 'key' },
    read: (row) => Stored.parse(row),
    write: ({ enabled, rollout, variants, filters }) => ({
      ...{ enabled, rollout },
      variants: variants ? JSON.stringify(variants) : null,
      filters: filters ? JSON.stringify(filters) : null,
    }),
  })
