import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../errors.js'
import type { Collection, WithId } from '../../manage/collection.js'
import { isExpired, type Share, SLUG_PATTERN } from '../../manage/shares.js'
import type { Filter } from '../../query/filters.js'
import type { RateLimit } from '../rate-limit.js'
import { assertDimension, scopesAllow } from './scopes.js'

/** A share as one request has it. */
export interface ShareGrant {
  readonly id: number
  readonly site: number
  /** Nobody who looks through it can take them away. */
  readonly filters: readonly Filter[]
  /** Whether its scopes open what is asked for. */
  allowsUrl(url: URL): boolean
  /** Throws `forbidden` for a dimension that it is not asked by. */
  assertDimension(dimension: string, field: string): void
}

export interface ShareAccess {
  /** The share of `?share=`: a slug, or the token of one that was unlocked. Throws `unauthorized`. */
  authenticate(word: string): Promise<ShareGrant>
  /**
   * What a slug names, and whether it may be looked at: it has no password, or `word` is a token of it. Throws
   * `not_found` where there is none, or no longer.
   */
  look(slug: string, word?: string): Promise<{ share: WithId<Share>; open: boolean }>
  /** Throws as `look`, `unauthorized`, `conflict` where there is no password, `rate_limited`. */
  unlock(slug: string, password: string, ip: string): Promise<{ token: string; expires_at: string }>
}

/** How long an unlocked share stays open. */
const UNLOCK_LIFETIME_MS = 3_600_000
/** Passwords tried within `WINDOW` milliseconds, of one share: from one address, and from all. */
export const PASSWORD_ATTEMPTS = { each: 10, all: 100, window: 300_000 }

/** `svcs_`, the share's id and the second of its end in base 36, and what proves that we said so. */
const TOKEN_PATTERN = /^svcs_([0-9a-z]{1,6})_([0-9a-z]{1,8})_[\w-]{43}$/

/**
 * Shares as credentials (spec 5.1, 5.5). A token is signed and kept nowhere: the secret ends with the process, and what
 * is signed names the password, so that another one, or none, ends every token of the one before. `random(n)` gives n
 * bytes; `limits` count tries over `TRIES.window`.
 */
export function createShareAccess(deps: {
  shares: Pick<Collection<Share>, 'all'>
  /** Whether a password is the one of a hash. */
  verify(hash: string, password: string): Promise<boolean>
  limits: { each: RateLimit; all: RateLimit }
  now(): Date
  random(bytes: number): Buffer
}): ShareAccess {
  const { shares, verify, limits, now, random } = deps
  const secret = random(32)
  /** By digest: how long a look-up takes says nothing of a slug. */
  const digestOf = (slug: string) => createHash('sha256').update(slug).digest('hex')
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
  /** `end` in seconds since 1970. */
  const tokenOf = ({ id, slug, password }: WithId<Share>, end: number): string => {
    const proof = createHmac('sha256', secret)
      .update(JSON.stringify([id, slug, password, end]))
      .digest('base64url')
    return `svcs_${id.toString(36)}_${end.toString(36)}_${proof}`
  }
  const unlocked = async (word: string): Promise<WithId<Share> | undefined> => {
    const [, id = '', until = ''] = TOKEN_PATTERN.exec(word) ?? []
    const end = Number.parseInt(until, 36)
    const share = (await shares.all()).find((each) => each.id === Number.parseInt(id, 36))
    if (!share?.password || isExpired(share, now()) || end * 1000 <= now().getTime()) return undefined
    const [given, ours] = [Buffer.from(word), Buffer.from(tokenOf(share, end))]
    return given.length === ours.length && timingSafeEqual(given, ours) ? share : undefined
  }
  const look = async (slug: string, word?: string) => {
    const share = await find(slug)
    if (!share) throw new ApiError('not_found', 'There is no such link, or no longer.')
    const open = !share.password || (word !== undefined && (await unlocked(word))?.id === share.id)
    return { share, open }
  }

  return {
    look,
    async authenticate(word) {
      const named = await find(word)
      const share = named && !named.password ? named : await unlocked(word)
      if (!share) throw new ApiError('unauthorized', 'There is no such link, or no longer; or it asks for a password.')
      const { id, site, filters, scopes } = share
      return {
        ...{ id, site, filters },
        allowsUrl: (url) => scopesAllow(scopes, url),
        assertDimension: (dimension, field) => assertDimension(scopes, dimension, field),
      }
    },
    async unlock(slug, password, ip) {
      const { share } = await look(slug)
      if (!share.password) throw new ApiError('conflict', 'This link has no password: its slug opens it.')
      if (!limits.each.take(share.id, ip) || !limits.all.take(share.id, ''))
        throw new ApiError('rate_limited', 'Too many passwords were tried on this link; wait some minutes.')
      if (!(await verify(share.password, password))) throw new ApiError('unauthorized', 'That is not the password.')
      // Of a share that ends before the hour is over.
      const most = share.expires_at?.getTime() ?? Number.POSITIVE_INFINITY
      const end = Math.floor(Math.min(now().getTime() + UNLOCK_LIFETIME_MS, most) / 1000)
      return { token: tokenOf(share, end), expires_at: new Date(end * 1000).toISOString() }
    },
  }
}
