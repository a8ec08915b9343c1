import { z } from 'zod'
import { parseFilters } from '../analytics/query/filters.js'

/** One line of text, trimmed and not empty, without control characters that a terminal or a page would act on. */
const line = (what: string, most: number) =>
  z
    .string()
    .trim()
    .min(1, `${what} is required.`)
    .max(most, `${what} has at most ${most} characters.`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u, `${what} must not contain control characters.`)
/** Accepts a name: one line of 1 to 100 characters. */
export const Name = line('A name', 100)
/** Accepts a file's name as it is shown: one line of 1 to 200 characters. */
export const FileName = line('A name', 200)
/** Accepts the name of another analytics tool. */
export const ToolName = line('A name', 50)
/** Accepts a note's text: one line of 1 to 500 characters. */
export const NoteText = line('A text', 500)
/** A record's number of changes, starting at 1. */
export const Version = z.int().describe('Number of changes, from 1: the value of `ETag`, accepted by `If-Match`.')
/** A site's id: a positive 32-bit integer. */
export const SiteId = z.int().positive().max(2_147_483_647)

/** The fields that every record of a site has. */
export const recordFields = { id: z.int(), version: Version, site: z.int() }

/** Parses a column of JSON text. */
export const JsonText = z.string().transform((text): unknown => JSON.parse(text))

type ApiField<V> = V extends Date ? string : V
/** A stored row as the API shows it. */
type ApiFields<T> = { [K in keyof T as null extends T[K] ? never : K]: ApiField<T[K]> } & {
  [K in keyof T as null extends T[K] ? K : never]?: ApiField<NonNullable<T[K]>>
}

/** Returns a row's fields without the nulls, dates as ISO-8601 text. */
export function toApiFields<T extends object>(row: T): ApiFields<T>
export function toApiFields(row: object): object {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) =>
      value === null ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
    ),
  )
}

type Present<T> = { [K in keyof T as null extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>
}

/** Returns a row's fields without the nulls: an absent setting is absent, not null. */
export function omitNulls<T extends object>(row: T): Present<T>
export function omitNulls(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
}

const FILTERS_MESSAGE = '`filters` must be a list of filters or one group of them.'
/** Accepts `filters` as the query parameter of that name does; `parseFilters` checks them. */
export const FiltersInput = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())], FILTERS_MESSAGE)
/** Accepts `filters` that are not empty. */
export const SomeFiltersInput = z.union(
  [z.array(z.unknown()).min(1), z.record(z.string(), z.unknown())],
  'At least one filter is required: a list of filters or one group of them.',
)
/** `filters` as the API shows them. */
export const FiltersOutput = z.array(z.record(z.string(), z.unknown())).describe('In canonical names.')
/** Parses a column of filters. */
export const FiltersColumn = JsonText.transform(parseFilters)
