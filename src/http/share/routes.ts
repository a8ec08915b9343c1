import { z } from 'zod'
import { ApiError } from '../../errors.js'
import type { Collection, WithId } from '../../manage/collection.js'
import type { Goal } from '../../manage/goals.js'
import { createSlug, isExpired, NewShare, SHARE_SCOPES, Share, ShareChange } from '../../manage/shares.js'
import type { Sites } from '../../manage/sites.js'
import { regexPatterns } from '../../query/conditions.js'
import { parseFilters } from '../../query/filters.js'
import { resolveGoals } from '../../query/goals.js'
import { checkPatterns, type ReadDependencies } from '../../query/read.js'
import { validate } from '../error-response.js'
import { jsonResponse, parseBody, type Route } from '../route.js'
import { recordRoutes } from '../site-records.js'
import type { ShareAccess } from './access.js'

export interface ShareDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly shares: Collection<Share>
  readonly goals: Pick<Collection<Goal>, 'list'>
  /** What is let in by them. */
  readonly access: Pick<ShareAccess, 'look' | 'unlock'>
  /** Where patterns are tried before they are kept. */
  readonly store: ReadDependencies['store']
  /** A slow hash of a password, in PHC form. */
  hash(password: string): Promise<string>
  now(): Date
  /** So many random bytes. */
  random(bytes: number): Buffer
}

/** `/api/shares` (contract 7): of admins who are signed in; no key manages links (spec 5.3 rule 3). */
export function shareRoutes({ sites, shares, goals, access, store, hash, now, random }: ShareDeps): Route[] {
  const instant = (given: string | undefined) => {
    if (given === undefined) return {}
    const expires_at = new Date(given)
    if (!isExpired({ expires_at }, now())) return { expires_at }
    throw new ApiError('validation_error', 'expires_at is in the past.', 'expires_at')
  }
  const filtersOf = async (given: unknown, site: number) => {
    const filters = parseFilters(given)
    resolveGoals(filters, await goals.list(site), 'filters')
    await checkPatterns(regexPatterns(filters), store, 'filters')
    return filters
  }
  return [
    ...recordRoutes(sites, {
      ...{ name: 'shares', one: 'share', shape: Share, made: NewShare, changed: ShareChange, all: shares },
      access: { read: 'admin', write: 'admin' },
      shown: presentShare,
      async finish({ password, expires_at, filters, ...share }) {
        return {
          ...share,
          ...instant(expires_at),
          filters: await filtersOf(filters, share.site),
          ...(password === undefined ? {} : { password: await hash(password) }),
          ...{ slug: createSlug(random), created_at: now() },
        }
      },
      async become({ id: _, version: __, password: before, expires_at: until, ...share }, change) {
        const {
          password,
          expires_at,
          filters,
          name = share.name,
          scopes = share.scopes,
        } = validate(ShareChange, change)
        const kept = password === undefined ? before : password === null ? undefined : await hash(password)
        return {
          ...share,
          ...{ name, scopes },
          ...(filters === undefined ? {} : { filters: await filtersOf(filters, share.site) }),
          ...(kept === undefined ? {} : { password: kept }),
          ...(expires_at === undefined ? until && { expires_at: until } : instant(expires_at ?? undefined)),
        }
      },
    }),
    ...linkRoutes(access, sites),
  ]
}

const presentShare = ({ password, created_at, expires_at, ...share }: WithId<Share>) => ({
  ...share,
  password: password !== undefined,
  created_at: created_at.toISOString(),
  ...(expires_at ? { expires_at: expires_at.toISOString() } : {}),
})

const SlugParameter = z.string().describe('The slug of the link.')
const ShareQuery = z.object({
  share: z
    .string()
    .optional()
    .describe('The token, of one that was unlocked.')
    .meta({ example: `svcs_1_t3ow4w_${'x'.repeat(43)}` }),
})
const Unlock = z.strictObject({ password: z.string().max(200) })
const ShareView = z.object({
  password: z.boolean().describe('Whether it has one; alone where it has not been given.'),
  name: z.string().optional(),
  site: z.object({ id: z.int(), name: z.string(), timezone: z.string() }).optional(),
  scopes: z.array(z.enum(SHARE_SCOPES)).optional(),
  expires_at: z.iso.datetime().optional(),
})
const NOT_FOUND_RESPONSE = { 404: 'There is no such link, or no longer.' }

/** What whoever has a link asks before anything else (spec 4.10). */
const linkRoutes = (access: ShareDeps['access'], sites: Pick<Sites, 'get'>): Route[] => [
  {
    method: 'get',
    path: '/api/share/{slug}',
    access: 'public',
    tag: 'shares',
    summary: 'What a link shows: all that a page needs to draw it',
    pathParameter: SlugParameter,
    query: ShareQuery,
    data: ShareView,
    otherResponses: NOT_FOUND_RESPONSE,
    run: async ({ params, query }) => {
      const { share, open } = await access.look(params.slug ?? '', query.get('share') ?? undefined)
      if (!open) return jsonResponse({ password: true })
      const { name, scopes, expires_at, password } = presentShare(share)
      const site = await sites.get(share.site)
      if (!site) throw new ApiError('not_found', 'There is no such link, or no longer.')
      const { id, timezone } = site
      return jsonResponse({
        ...{ password, name, site: { id, name: site.name, timezone }, scopes },
        ...(expires_at === undefined ? {} : { expires_at }),
      })
    },
  },
  {
    method: 'post',
    path: '/api/share/{slug}/unlock',
    access: 'public',
    tag: 'shares',
    summary: 'A token for a link with a password, good for an hour',
    pathParameter: SlugParameter,
    body: Unlock,
    data: z.object({ token: z.string().describe('For `share` in place of the slug.'), expires_at: z.iso.datetime() }),
    otherResponses: {
      ...NOT_FOUND_RESPONSE,
      401: 'That is not the password.',
      409: 'It has no password.',
      422: 'A value is wrong.',
      429: 'Too many were tried.',
    },
    run: async (call) => {
      const { password } = await parseBody(call, Unlock)
      return jsonResponse(await access.unlock(call.params.slug ?? '', password, call.ip))
    },
  },
]
