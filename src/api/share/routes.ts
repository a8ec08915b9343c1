import { z } from 'zod'
import { checkPatterns } from '../../analytics/query/check-patterns.js'
import { regexPatterns } from '../../analytics/query/conditions.js'
import { type Audience, audiencesWith, findDimension } from '../../analytics/query/dimensions.js'
import { isBehavioural, listConditions, parseFilters } from '../../analytics/query/filters.js'
import { resolveGoals } from '../../analytics/query/goals.js'
import type { ReadDependencies } from '../../analytics/query/prepare-read.js'
import { ApiError } from '../../base/errors.js'
import type { Collection, WithId } from '../../manage/collection.js'
import type { GoalRecord } from '../../manage/goals.js'
import { createSlug, isExpired, NewShare, SHARE_SCOPES, Share, ShareChange } from '../../manage/shares.js'
import type { Sites } from '../../manage/sites.js'
import { parseBody, type Route, routeMaker } from '../route.js'
import { recordRoutes } from '../site-records.js'
import { validate } from '../validation.js'
import type { ShareAccess } from './access.js'
import { badgeAudiences } from './badge.js'

interface ShareDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly shares: Collection<Share>
  readonly goals: Pick<Collection<GoalRecord>, 'list'>
  readonly access: Pick<ShareAccess, 'look' | 'unlock'>
  /** Checks the patterns of filters. */
  readonly store: ReadDependencies['store']
  /** A slow hash of a password, in PHC form. */
  hash(password: string): Promise<string>
  now(): Date
  random(bytes: number): Buffer
}

/** `/api/shares`, for signed-in admins: API keys do not manage share links. And the routes for readers of a link. */
export function shareRoutes({ sites, shares, goals, access, store, hash, now, random }: ShareDeps): Route[] {
  const parseEnd = (text: string | undefined) => {
    if (text === undefined) return {}
    const expires_at = new Date(text)
    if (!isExpired({ expires_at }, now())) return { expires_at }
    throw new ApiError('validation_error', 'expires_at must be in the future.', 'expires_at')
  }
  const readFilters = async (value: unknown, site: number) => {
    const filters = parseFilters(value)
    resolveGoals(filters, await goals.list(site), 'filters')
    await checkPatterns(regexPatterns(filters), store, 'filters')
    return filters
  }
  return [
    ...recordRoutes(sites, {
      shape: Share,
      newShape: NewShare,
      changeShape: ShareChange,
      records: shares,
      access: { read: 'admin', write: 'admin' },
      present: presentShare,
      async normalise({ password, expires_at, filters, ...share }) {
        const made = { ...share, filters: await readFilters(filters, share.site) }
        refuseEmptyBadge(made, password !== undefined)
        return {
          ...made,
          ...parseEnd(expires_at),
          ...(password === undefined ? {} : { password: await hash(password) }),
          slug: createSlug(random),
          created_at: now(),
        }
      },
      async applyChange({ id: _, version: __, password: currentHash, expires_at: currentEnd, ...share }, change) {
        const {
          password,
          expires_at,
          filters,
          name = share.name,
          scopes = share.scopes,
          embed = share.embed,
          badge = share.badge,
        } = validate(ShareChange, change)
        const newHash = password === null || password === undefined ? undefined : await hash(password)
        const storedHash = password === undefined ? currentHash : newHash
        const changed = {
          ...share,
          name,
          scopes,
          embed,
          badge,
          ...(filters === undefined ? {} : { filters: await readFilters(filters, share.site) }),
        }
        refuseEmptyBadge(changed, storedHash !== undefined)
        return {
          ...changed,
          ...(storedHash === undefined ? {} : { password: storedHash }),
          ...(expires_at === undefined ? currentEnd && { expires_at: currentEnd } : parseEnd(expires_at ?? undefined)),
        }
      },
    }),
    ...linkRoutes(access, sites),
  ]
}

/** Throws `validation_error` for a badge that could never be drawn: `badge.svg` would be 404, and the operator not know why. */
function refuseEmptyBadge(
  { badge, scopes, filters }: Pick<Share, 'badge' | 'scopes' | 'filters'>,
  hasPassword: boolean,
) {
  if (!badge) return
  const refuse = (message: string) => new ApiError('validation_error', message, 'badge')
  // An image cannot ask for it.
  if (hasPassword) throw refuse('A share link with a password has no badge, which everybody sees.')
  const counted = badgeAudiences(scopes)
  if (counted.length === 0)
    throw refuse(
      'A badge needs the scope `overview` for people and agents, or `agents` for agents alone; add one to `scopes`, or set `badge` to false.',
    )
  const conditions = listConditions(filters)
  const isCountable = (audience: Audience) =>
    conditions.every(({ dimension }) => audiencesWith(findDimension(dimension, 'filters')).includes(audience)) &&
    (audience === 'human' || !filters.some(isBehavioural))
  if (!counted.some(isCountable))
    throw refuse(
      `The badge of this link would count ${counted.length === 1 ? 'agents, which do not have' : 'people and agents, and neither have'} all dimensions of \`filters\`; change them, or set \`badge\` to false.`,
    )
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
    .describe('The token of an unlocked share.')
    .meta({ example: `svcs_1_t3ow4w_${'x'.repeat(43)}` }),
})
const Unlock = z.strictObject({ password: z.string().max(200) })
const ShareView = z.object({
  password: z.boolean().describe('Whether the link has a password; the only field while the link is locked.'),
  name: z.string().optional(),
  site: z.object({ id: z.int(), name: z.string(), timezone: z.string() }).optional(),
  scopes: z.array(z.enum(SHARE_SCOPES)).optional(),
  expires_at: z.iso.datetime().optional(),
})
const LINK_NOT_FOUND = 'This link does not exist, or has ended.'

const route = routeMaker('shares')

/** The routes that readers of a link use before they read. */
const linkRoutes = (access: ShareDeps['access'], sites: Pick<Sites, 'get'>): Route[] => [
  route('get', '/api/share/{slug}', 'public', {
    summary: 'Get what a share link shows: site, scopes and whether it has a password',
    pathParameter: SlugParameter,
    query: ShareQuery,
    data: ShareView,
    otherResponses: { 404: LINK_NOT_FOUND },
    run: async ({ params, query }) => {
      const { share, open } = await access.look(params.slug ?? '', query.get('share') ?? undefined)
      if (!open) return { password: true }
      const { name, scopes, expires_at, password } = presentShare(share)
      const site = await sites.get(share.site)
      if (!site) throw new ApiError('not_found', LINK_NOT_FOUND)
      return {
        password,
        name,
        site: { id: site.id, name: site.name, timezone: site.timezone },
        scopes,
        ...(expires_at === undefined ? {} : { expires_at }),
      }
    },
  }),
  route('post', '/api/share/{slug}/unlock', 'public', {
    summary: 'Unlock a share link with its password; returns a token that is valid for an hour',
    pathParameter: SlugParameter,
    body: Unlock,
    data: z.object({
      token: z.string().describe('Send it as `share` in place of the slug.'),
      expires_at: z.iso.datetime(),
    }),
    otherResponses: {
      401: 'The password is wrong.',
      404: LINK_NOT_FOUND,
      409: 'The link has no password.',
      422: 'A value is wrong.',
      429: 'Too many passwords were tried.',
    },
    run: async (call) => {
      const { password } = await parseBody(call, Unlock)
      return access.unlock(call.params.slug ?? '', password, call.ip)
    },
  }),
]
