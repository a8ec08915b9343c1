import { type Dialect, join, raw, type Sql, sql } from '../sql.js'

/** A page of the site, or anything else that was asked for there; without a query. */
export interface Url {
  readonly hostname: string
  readonly pathname: string
}

/** What a site's policy keeps agents from. */
export interface Blocked {
  /**
   * Where that can be: under these patterns of robots.txt (path, `*`, `$`) of a hostname, or anywhere on it where none
   * are given. What lies outside is not blocked; what lies within may be.
   */
  readonly within: readonly { readonly hostname: string; readonly patterns?: readonly string[] }[]
  /** Whether it is, exactly. Takes microseconds; never throws. */
  blocks(url: Url): boolean
}

/** More patterns than this are not worth telling apart in SQL. */
const PATTERNS = 100

/** A condition on `hostname` and `pathname` that holds for every URL that is blocked, and for some that are not. */
export function maybeBlocked({ within }: Blocked, dialect: Dialect): Sql {
  const places = within.map(({ hostname, patterns }) => {
    const prefixes = [...new Set(patterns?.map(prefixOf) ?? [''])]
    const on = sql`hostname = ${hostname}`
    if (prefixes.includes('') || prefixes.length > PATTERNS) return sql`(${on})`
    const under = [
      ...prefixes.map((prefix) => dialect.startsWith(raw('pathname'), sql`${prefix}`)),
      ...RESPELT.map((part) => dialect.contains(raw('pathname'), sql`${part}`)),
    ]
    return sql`(${on} and (${join(under, ' or ')}))`
  })
  return places.length === 0 ? raw('false') : sql`(${join(places, ' or ')})`
}

/** A path with one of these may come to any other when it is normalised: escapes, dot segments, backslashes. */
const RESPELT = ['%', '/.', '\\']

/** What a path that fits begins with, as far as path and pattern are sure to spell it alike. */
const prefixOf = (pattern: string): string => /^\/[\w/.~-]*/.exec(pattern)?.[0] ?? ''

/** So many are judged between two turns of the event loop, for the thread that asks serves the website. */
const SLICE = 20

/** Those that are blocked. */
export async function blockedAmong<U extends Url>(
  { blocks }: Pick<Blocked, 'blocks'>,
  urls: readonly U[],
): Promise<U[]> {
  const found: U[] = []
  for (let from = 0; from < urls.length; from += SLICE) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    for (const url of urls.slice(from, from + SLICE)) if (blocks(url)) found.push(url)
  }
  return found
}
