import { z } from 'zod'
import type { Filter } from '../query/filters.js'
import type { Records } from '../store.js'
import { createCollection } from './collection.js'
import { FiltersColumn, FiltersInput, FiltersOutput, JsonText, Name, omitNulls, SiteId, Version } from './fields.js'

/** Reads that a share link may open; `agents` opens every agent read. Single visitors and sessions are never among them. */
export const SHARE_SCOPES = [
  ...['overview', 'timeseries', 'realtime', 'pages', 'sources', 'locations', 'devices', 'breakdown', 'events'],
  ...['goals', 'funnel', 'journeys', 'retention', 'performance', 'errors', 'agents'],
] as const
export type ShareScope = (typeof SHARE_SCOPES)[number]

const Password = z
  .string()
  .min(8, 'A password has at least 8 characters.')
  .max(200, 'A password has at most 200 characters.')
  .describe('Required from visitors of the link; stored as a slow hash.')
const Instant = z.iso.datetime({
  offset: true,
  error: '`expires_at` must be an ISO-8601 date and time, such as 2026-11-21T08:00:00Z.',
})
const Scopes = z
  .array(z.enum(SHARE_SCOPES))
  .min(1, 'A share link needs at least one scope.')
  .transform((scopes) => SHARE_SCOPES.filter((one) => scopes.includes(one)))
  .describe('The reads that the link opens.')
const Filters = FiltersInput.describe(
  'As in the query parameter `filters`; they apply to every read through the link. Empty: none.',
)
const shape = { name: Name, scopes: Scopes }

/** A share link as the API shows it. */
export const Share = z.object({
  id: z.int(),
  version: Version,
  site: z.int(),
  name: z.string(),
  slug: z.string().describe('The secret part of the link: anyone who has it can open the link.'),
  scopes: z.array(z.enum(SHARE_SCOPES)),
  password: z.boolean().describe('Whether the link needs a password.'),
  filters: FiltersOutput,
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().optional(),
})
/** A share link as it is stored. */
export interface Share {
  readonly site: number
  readonly name: string
  readonly slug: string
  readonly scopes: readonly ShareScope[]
  /** A hash in PHC format. */
  readonly password?: string
  readonly filters: readonly Filter[]
  readonly created_at: Date
  readonly expires_at?: Date
}

/** The body of `POST /api/shares`. */
export const NewShare = z.strictObject({
  site: SiteId,
  ...shape,
  password: Password.optional(),
  expires_at: Instant.optional(),
  filters: Filters.default([]),
})
/** The body of `PATCH /api/shares/{id}`; null removes a field. */
export const ShareChange = z
  .strictObject({ ...shape, password: Password.nullable(), expires_at: Instant.nullable(), filters: Filters })
  .partial()

/** Returns a new slug of 144 random bits; `random(n)` gives n random bytes. */
export const createSlug = (random: (bytes: number) => Buffer): string => random(18).toString('base64url')
export const SLUG_PATTERN = /^[\w-]{24}$/

export const isExpired = ({ expires_at }: Pick<Share, 'expires_at'>, at: Date): boolean =>
  expires_at !== undefined && expires_at <= at

const StoredShare = z
  .object({
    id: z.int(),
    version: Version,
    site: z.int(),
    name: z.string(),
    slug: z.string(),
    scopes: JsonText.pipe(z.array(z.enum(SHARE_SCOPES))),
    password: z.string().nullable(),
    filters: FiltersColumn,
    created_at: z.date(),
    expires_at: z.date().nullable(),
  })
  .transform(omitNulls)

export const createShares = (records: Records) =>
  createCollection<Share>(records, {
    table: 'shares',
    label: 'share',
    maxPerSite: 100,
    fromRow: (row) => StoredShare.parse(row),
    toColumns: ({ slug, scopes, password, filters, created_at, expires_at }) => ({
      slug,
      scopes: JSON.stringify(scopes),
      password: password ?? null,
      filters: JSON.stringify(filters),
      created_at,
      expires_at: expires_at ?? null,
    }),
  })
