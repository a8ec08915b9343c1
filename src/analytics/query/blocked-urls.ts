import { type Dialect, join, raw, type Sql, sql } from '../../storage/sql.js'

/** A page of the site, or any other URL requested there, without its query. */
export interface Url {
  readonly hostname: string
  readonly pathname: string
}

/** The URLs that a site's policy disallows for agents. */
export interface BlockedUrls {
  /**
   * The places where URLs can be blocked: under these robots.txt patterns (path, `*`, `$`) of a hostname, or anywhere on it if
   * there are no patterns. URLs outside are not blocked; URLs inside may be.
   */
  readonly candidates: readonly { readonly hostname: string; readonly patterns?: readonly string[] }[]
  /** Tells exactly which of these are blocked; at most `MAX_URLS_AT_ONCE` at a time. */
  areBlocked(urls: readonly Url[]): Promise<readonly boolean[]>
}

/** With more patterns, SQL only compares the hostname. */
const MAX_PATTERNS_IN_SQL = 100

/** A condition on `hostname` and `pathname` that holds for every blocked URL, and for some others. */
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

/** Normalising a path with one of these (escapes, dot segments, backslashes) may turn it into any other path. */
const NORMALISED_PARTS = ['%', '/.', '\\']

/** The start that a matching path shares with the pattern, as far as both are sure to spell it alike. */
const literalPrefix = (pattern: string): string => /^\/[\w/.~-]*/.exec(pattern)?.[0] ?? ''

/** Bounds a call, because the process that judges URLs has other work too. */
const MAX_URLS_AT_ONCE = 1_000

/** Returns the URLs that are blocked. */
export async function filterBlocked<U extends Url>(
  { areBlocked }: Pick<BlockedUrls, 'areBlocked'>,
  urls: readonly U[],
): Promise<U[]> {
  const matching: U[] = []
  for (let from = 0; from < urls.length; from += MAX_URLS_AT_ONCE) {
    const some = urls.slice(from, from + MAX_URLS_AT_ONCE)
    const said = await areBlocked(some)
    matching.push(...some.filter((_, n) => said[n]))
  }
  return matching
}
