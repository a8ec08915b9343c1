import { type Dialect, join, raw, type Sql, sql } from '../sql.js'

/** A page of the site, or anything else that was asked for there; without a query. */
export interface Url {
  readonly hostname: string
  readonly pathname: string
}

/** What a site's policy keeps agents from. */
export interface BlockedUrls {
  /**
   * Where that can be: under these patterns of robots.txt (path, `*`, `$`) of a hostname, or anywhere on it where none
   * are given. What lies outside is not blocked; what lies within may be.
   */
  readonly candidates: readonly { readonly hostname: string; readonly patterns?: readonly string[] }[]
  /** Whether each of these is, exactly; asked for at most `AT_ONCE` of them. */
  areBlocked(urls: readonly Url[]): Promise<readonly boolean[]>
}

/** More patterns than this are not worth telling apart in SQL. */
const MAX_PATTERNS_IN_SQL = 100

/** A condition on `hostname` and `pathname` that holds for every URL that is blocked, and for some that are not. */
export function mayBeBlocked({ candidates: within }: BlockedUrls, dialect: Dialect): Sql {
  const places = within.map(({ hostname, patterns }) => {
    const prefixes = [...new Set(patterns?.map(literalPrefix) ?? [''])]
    const on = sql`hostname = ${hostname}`
    if (prefixes.includes('') || prefixes.length > MAX_PATTERNS_IN_SQL) return sql`(${on})`
    const under = [
      ...prefixes.map((prefix) => dialect.startsWith(raw('pathname'), sql`${prefix}`)),
      ...NORMALISED_PARTS.map((part) => dialect.contains(raw('pathname'), sql`${part}`)),
    ]
    return sql`(${on} and (${join(under, ' or ')}))`
  })
  return places.length === 0 ? raw('false') : sql`(${join(places, ' or ')})`
}

/** A path with one of these may come to any other when it is normalised: escapes, dot segments, backslashes. */
const NORMALISED_PARTS = ['%', '/.', '\\']

/** What a path that fits begins with, as far as path and pattern are sure to spell it alike. */
const literalPrefix = (pattern: string): string => /^\/[\w/.~-]*/.exec(pattern)?.[0] ?? ''

/** They are judged by another process, which has more to do. */
export const MAX_URLS_AT_ONCE = 1_000

/** Those that are blocked. */
export async function filterBlocked<U extends Url>(
  { areBlocked }: Pick<BlockedUrls, 'areBlocked'>,
  urls: readonly U[],
): Promise<U[]> {
  const found: U[] = []
  for (let from = 0; from < urls.length; from += MAX_URLS_AT_ONCE) {
    const some = urls.slice(from, from + MAX_URLS_AT_ONCE)
    const said = await areBlocked(some)
    found.push(...some.filter((_, n) => said[n]))
  }
  return found
}
