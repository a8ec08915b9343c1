import { z } from 'zod'
import type { Filter } from '../analytics/query/filters.js'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import {
  FiltersColumn,
  FiltersInput,
  FiltersOutput,
  JsonText,
  Name,
  omitNulls,
  recordFields,
  SiteId,
} from './fields.js'

/** Reads that a share link may open; `agents` opens every agent read. Single visitors and sessions are never among them. */
export const SHARE_SCOPES = [
  'overview',
  'timeseries',
  'realtime',
  'pages',
  'sources',
  'locations',
  'devices',
  'breakdown',
  'changes',
  'hours',
  'events',
  'goals',
  'funnel',
  'journeys',
  'retention',
  'performance',
  'errors',
  'agents',
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
/** Written into a header, so that no letter with a meaning there may pass: `URL` accepts `;` in a host. */
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/
const Embed = z
  .array(
    z.string().transform((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : undefined
      if (url && url.href === `${url.origin}/` && ORIGIN.test(url.origin)) return url.origin
      context.addIssue('`embed` has origins, such as https://www.example.com.')
      return z.NEVER
    }),
  )
  .max(20, 'A share link can be embedded by at most 20 origins.')
  .transform((origins) => [...new Set(origins)])
  .describe('Origins whose pages may show the link in a frame. Empty: none.')
const Badge = z
  .boolean()
  .describe(
    'Whether `badge.svg` of the link tells everybody how many people and agents read the site this month. Needs the scope `overview`, or `agents` for agents alone, and no password.',
  )
const shape = { name: Name, scopes: Scopes }

/** A share link as the API shows it. */
export const Share = z.object({
  ...recordFields,
  name: z.string(),
  slug: z.string().describe('The secret part of the link: anyone who has it can open the link.'),
  scopes: z.array(z.enum(SHARE_SCOPES)),
  password: z.boolean().describe('Whether the link needs a password.'),
  filters: FiltersOutput,
  embed: z.array(z.string()).describe('Origins whose pages may show the link in a frame.'),
  badge: z.boolean().describe('Whether the link has a badge.'),
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
  readonly embed: readonly string[]
  readonly badge: boolean
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
  embed: Embed.default([]),
  badge: Badge.default(false),
})
/** The body of `PATCH /api/shares/{id}`; null removes a field. */
export const ShareChange = z
  .strictObject({
    ...shape,
    password: Password.nullable(),
    expires_at: Instant.nullable(),
    filters: Filters,
    embed: Embed,
    badge: Badge,
  })
  .partial()

/** Returns a new slug of 144 random bits; `random(n)` gives n random bytes. */
export const createSlug = (random: (bytes: number) => Buffer): string => random(18).toString('base64url')
export const SLUG_PATTERN = /^[\w-]{24}$/

export const isExpired = ({ expires_at }: Pick<Share, 'expires_at'>, at: Date): boolean =>
  expires_at !== undefined && expires_at <= at

const StoredShare = z
  .object({
    ...recordFields,
    name: z.string(),
    slug: z.string(),
    scopes: JsonText.pipe(z.array(z.enum(SHARE_SCOPES))),
    password: z.string().nullable(),
    filters: FiltersColumn,
    embed: JsonText.pipe(z.array(z.string())).nullable(),
    badge: z.boolean().nullable(),
    created_at: z.date(),
    expires_at: z.date().nullable(),
  })
  .transform((row) => ({ ...omitNulls(row), embed: row.embed ?? [], badge: row.badge ?? false }))

export const createShares = (records: Records) =>
  createCollection<Share>(records, {
    table: 'shares',
    label: 'share',
    maxPerSite: 100,
    stored: StoredShare,
    columns: ['slug', 'scopes', 'password', 'filters', 'embed', 'badge', 'created_at', 'expires_at'],
  })
