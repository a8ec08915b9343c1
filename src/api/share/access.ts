import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { findReport } from '../../analytics/export/report-names.js'
import type { Filter } from '../../analytics/query/filters.js'
import { ApiError } from '../../base/errors.js'
import type { Collection, WithId } from '../../manage/collection.js'
import { isExpired, SHARE_SCOPES, type Share, type ShareScope, SLUG_PATTERN } from '../../manage/shares.js'
import type { RateLimit } from '../rate-limit.js'

/** The rights that a share link gives to one request. */
export interface ShareGrant {
  readonly id: number
  /** Counts the changes of the link. */
  readonly version: number
  readonly site: number
  /** Applied to every read; the reader cannot remove them. */
  readonly filters: readonly Filter[]
  includes(scope: ShareScope): boolean
  /** Whether the share's scopes include the URL. */
  allowsUrl(url: URL): boolean
  /** Throws `forbidden` for a dimension that the share does not show. */
  assertDimension(dimension: string, field: string): void
}

/** How long an unlocked share stays open. */
const UNLOCK_LIFETIME_MS = 3_600_000
/** Passwords tried on one share within `window` milliseconds: from one address, and from all. */
export const PASSWORD_ATTEMPTS = { each: 10, all: 100, window: 300_000 }

/** `svcs_`, the share's id and the second of its end in base 36, and the signature. */
const TOKEN_PATTERN = /^svcs_([0-9a-z]{1,6})_([0-9a-z]{1,8})_[\w-]{43}$/

/** Slugs are looked up by digest, so that the time of a look-up tells nothing about them. */
const digestOf = (slug: string) => createHash('sha256').update(slug).digest('hex')

export type ShareAccess = ReturnType<typeof createShareAccess>

/**
 * Share links as credentials. Tokens are not stored but signed, with the stored hash of the password: its random salt is as
 * long as a key and never leaves the records, every process that shares them accepts the token, and changing or removing the
 * password ends every earlier one.
 */
export function createShareAccess(deps: {
  shares: Pick<Collection<Share>, 'all'>
  /** Whether a password matches a hash. */
  verify(hash: string, password: string): Promise<boolean>
  /** Counts attempts over `PASSWORD_ATTEMPTS.window`. */
  limits: { each: RateLimit; all: RateLimit }
  now(): Date
}) {
  const { shares, verify, limits, now } = deps
  let indexed: readonly WithId<Share>[] = []
  let bySlug = new Map<string, WithId<Share>>()
  const find = async (slug: string): Promise<WithId<Share> | undefined> => {
    if (!SLUG_PATTERN.test(slug)) return undefined
    const all = await shares.all()
    if (all !== indexed) {
      bySlug = new Map(all.map((share) => [digestOf(share.slug), share]))
      indexed = all
    }
    const found = bySlug.get(digestOf(slug))
    return found && !isExpired(found, now()) ? found : undefined
  }
  const findByToken = async (token: string): Promise<WithId<Share> | undefined> => {
    const [, id = '', until = ''] = TOKEN_PATTERN.exec(token) ?? []
    const end = Number.parseInt(until, 36)
    const share = (await shares.all()).find((each) => each.id === Number.parseInt(id, 36))
    if (!share?.password || isExpired(share, now()) || end * 1000 <= now().getTime()) return undefined
    const [given, expected] = [Buffer.from(token), Buffer.from(tokenOf(share, share.password, end))]
    return given.length === expected.length && timingSafeEqual(given, expected) ? share : undefined
  }
  /**
   * Finds the share of a slug, and whether it is open: it has no password, or `token` unlocks it. Throws `not_found` for
   * unknown, deleted and expired links alike.
   */
  const look = async (slug: string, token?: string): Promise<{ share: WithId<Share>; open: boolean }> => {
    const share = await find(slug)
    if (!share) throw new ApiError('not_found', 'This link does not exist, or has ended.')
    const open = !share.password || (token !== undefined && (await findByToken(token))?.id === share.id)
    return { share, open }
  }

  return {
    look,
    /** Returns the grant for `?share=`, which is a slug or the token of an unlocked share. Throws `unauthorized`. */
    async authenticate(slugOrToken: string): Promise<ShareGrant> {
      const named = await find(slugOrToken)
      const share = named && !named.password ? named : await findByToken(slugOrToken)
      if (!share) throw new ApiError('unauthorized', 'This link does not exist, has ended, or requires a password.')
      const { id, version, site, filters, scopes } = share
      return {
        id,
        version,
        site,
        filters,
        includes: (scope) => scopes.includes(scope),
        allowsUrl: (url) => scopesAllow(scopes, url),
        assertDimension: (dimension, field) => assertDimension(scopes, dimension, field),
      }
    },
    /** The origins whose pages may show the link in a frame; none for links that do not exist or have ended. */
    embedOrigins: async (slug: string): Promise<readonly string[]> => (await find(slug))?.embed ?? [],
    /** Returns a token. Throws as `look`, `unauthorized`, `conflict` if the share has no password, `rate_limited`. */
    async unlock(slug: string, password: string, ip: string): Promise<{ token: string; expires_at: string }> {
      const { share } = await look(slug)
      if (!share.password) throw new ApiError('conflict', 'This link has no password; use its slug.')
      if (!limits.each.take(share.id, ip) || !limits.all.take(share.id, ''))
        throw new ApiError('rate_limited', 'Too many passwords were tried on this link; try again in five minutes.')
      if (!(await verify(share.password, password))) throw new ApiError('unauthorized', 'The password is wrong.')
      // A token never outlives its share.
      const most = share.expires_at?.getTime() ?? Number.POSITIVE_INFINITY
      const end = Math.floor(Math.min(now().getTime() + UNLOCK_LIFETIME_MS, most) / 1000)
      return { token: tokenOf(share, share.password, end), expires_at: new Date(end * 1000).toISOString() }
    },
  }
}

/** `end` in seconds since 1970. */
function tokenOf({ id, slug }: WithId<Share>, password: string, end: number): string {
  const signature = createHmac('sha256', password)
    .update(JSON.stringify([id, slug, end]))
    .digest('base64url')
  return `svcs_${id.toString(36)}_${end.toString(36)}_${signature}`
}

/** The scope `agents` covers these areas. */
const AGENT_PATHS: readonly string[] = [
  'agents',
  'answers',
  'citation-gap',
  'editions',
  'policy',
  'content',
  'phantom-links',
  'blank-pages',
]
/** Lists dimensions and operators, and nothing of the site. */
const DIMENSIONS_PATH = '/api/stats/dimensions'
const EXPORT_PATHS: readonly string[] = ['/api/stats/export.csv', '/api/stats/export.pdf']

/** The scope that includes a path; undefined if none does. */
function scopeOf(path: string): ShareScope | undefined {
  const [, api, area = '', name = ''] = path.split('/')
  if (api !== 'api') return undefined
  if (area === 'stats') return SHARE_SCOPES.find((scope) => scope === name && scope !== 'agents')
  return AGENT_PATHS.includes(area) ? 'agents' : undefined
}

/** Whether scopes include a URL: a read that they name, or its export. Throws `validation_error` for an unknown report. */
function scopesAllow(scopes: readonly ShareScope[], { pathname, searchParams }: URL): boolean {
  const has = (path: string) => scopes.some((scope) => scope === scopeOf(path))
  if (pathname === DIMENSIONS_PATH) return true
  if (!EXPORT_PATHS.includes(pathname)) return has(pathname)
  const reports = searchParams.getAll('report')
  return (reports.length === 0 ? ['overview'] : reports).every((name) => has(findReport(name).read.path))
}

/** Throws `forbidden` for a dimension that identifies people, and for event properties without the scope `events`. */
function assertDimension(scopes: readonly ShareScope[], dimension: string, field: string): void {
  if (dimension === 'identified_id' || dimension === 'visitor_id')
    throw new ApiError('forbidden', 'Share links do not show who a visitor is.', field)
  if (dimension.startsWith('prop:') && !scopes.includes('events'))
    throw new ApiError('forbidden', 'This share link does not show event properties.', field)
}
