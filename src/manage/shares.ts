import { z } from 'zod'
import { type Filter, parseFilters } from '../query/filters.js'
import type { Records } from '../store.js'
import { type Collection, createCollection, JsonText, Name, SiteId, Version } from './collection.js'

/** What a share may show (contract 7): a read each, `agents` all of spec 4.5. Who visited is never among them. */
export const SHARE_SCOPES = [
  ...['overview', 'timeseries', 'realtime', 'pages', 'sources', 'locations', 'devices', 'breakdown', 'events'],
  ...['goals', 'funnel', 'journeys', 'retention', 'performance', 'errors', 'agents'],
] as const
export type ShareScope = (typeof SHARE_SCOPES)[number]

const Password = z
  .string()
  .min(8, 'A password has at least 8 characters.')
  .max(200, 'A password has at most 200 characters.')
  .describe('Asked of whoever has the link; kept as a slow hash.')
const Instant = z.iso.datetime({ offset: true, error: 'expires_at is an ISO-8601 instant.' })
const Scopes = z
  .array(z.enum(SHARE_SCOPES))
  .min(1, 'A share shows something.')
  .transform((scopes) => SHARE_SCOPES.filter((one) => scopes.includes(one)))
  .describe('What it shows.')
const Filters = z
  .union([z.array(z.unknown()), z.record(z.string(), z.unknown())])
  .describe('As the parameter `filters` takes them; they hold whatever is asked through the link. Empty: none.')
const shape = { name: Name, scopes: Scopes }

/** A share link as the API shows it (contract 7). */
export const Share = z.object({
  ...{ id: z.int(), version: Version, site: z.int(), name: z.string() },
  slug: z.string().describe('The secret part of the link: who has it is let in.'),
  scopes: z.array(z.enum(SHARE_SCOPES)),
  password: z.boolean().describe('Whether it has one.'),
  filters: z.array(z.record(z.string(), z.unknown())).describe('In canonical names.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().optional(),
})
/** As it is kept. */
export interface Share {
  readonly site: number
  readonly name: string
  readonly slug: string
  readonly scopes: readonly ShareScope[]
  /** In PHC form. */
  readonly password?: string
  readonly filters: readonly Filter[]
  readonly created_at: Date
  readonly expires_at?: Date
}

/** The body of `POST /api/shares`. */
export const NewShare = z.strictObject({
  ...{ site: SiteId, ...shape, password: Password.optional(), expires_at: Instant.optional() },
  filters: Filters.default([]),
})
/** The body of `PATCH /api/shares/{id}`; null takes away. */
export const ShareChange = z
  .strictObject({ ...shape, password: Password.nullable(), expires_at: Instant.nullable(), filters: Filters })
  .partial()

/** 144 bits: nobody guesses one, and nobody chooses one. `random(n)` gives n random bytes. */
export const createSlug = (random: (bytes: number) => Buffer): string => random(18).toString('base64url')
export const SLUG_PATTERN = /^[\w-]{24}$/

export const isExpired = ({ expires_at }: Pick<Share, 'expires_at'>, at: Date): boolean =>
  expires_at !== undefined && expires_at <= at

const StoredShare = z
  .object({
    ...{ id: z.int(), version: Version, site: z.int(), name: z.string(), slug: z.string() },
    scopes: JsonText.pipe(z.array(z.enum(SHARE_SCOPES))),
    password: z.string().nullable(),
    filters: JsonText.transform(parseFilters),
    created_at: z.date(),
    expires_at: z.date().nullable(),
  })
  .transform(({ password, expires_at, ...share }) => ({
    ...share,
    ...(password === null ? {} : { password }),
    ...(expires_at === null ? {} : { expires_at }),
  }))

/** The share links of this instance's sites, over its records. */
export const createShares = (records: Records): Collection<Share> =>
  createCollection<Share>(records, {
    ...{ table: 'shares', label: 'share', maxPerSite: 100 },
    fromRow: (row) => StoredShare.parse(row),
    toColumns: ({ slug, scopes, password, filters, created_at, expires_at }) => ({
      ...{ slug, scopes: JSON.stringify(scopes), password: password ?? null, filters: JSON.stringify(filters) },
      ...{ created_at, expires_at: expires_at ?? null },
    }),
  })
