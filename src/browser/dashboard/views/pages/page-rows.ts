import type { DataOf } from '../../client/index.js'
import { pageNumber } from '../../parts/paging.js'
import { type Audience, place } from '../../state/address.js'
import { filtersWith } from '../../state/filters.js'
import { askable, type Pair, useOne, usePair } from '../../state/question.js'

type PageData = DataOf<'/api/stats/pages'>[number]

export const ROWS = 25
/** Fetches that the robots.txt of their time disallowed. */
export const DISALLOWED = { dimension: 'robots_allowed', op: 'is', value: false } as const
/** Longest list of paths in one address, characters: servers refuse addresses beyond 16 KB. */
const MAX_LIST = 8_000

/** One path as both readerships know it. A side is absent if it did not read the path. */
export interface PageRow {
  pathname: string
  human?: PageData | undefined
  agent?: PageData | undefined
  /** The last read by an agent; null: none read it. Absent until it is known. */
  lastRead?: string | null
  /** Fetches that robots.txt disallowed at their time. Absent until it is known. */
  disallowed?: number
}

/** The readership by which rows are sorted: `order=agent` in the address, or the one that has all filters. */
export function sortedBy(): Audience {
  const show = askable.value
  return show === 'both' ? (place.value.own.order === 'agent' ? 'agent' : 'human') : show
}

/**
 * The rows of one page of the list. The readership that they are sorted by is asked for its page; the other one is asked
 * about the same paths, so that no row lacks a number only because it is further down in the other list.
 */
export function usePageRows(): { pages: Pair<'/api/stats/pages'>; rows: PageRow[] } {
  const lead = sortedBy()
  const first = usePair('/api/stats/pages', (of) => (of === lead ? { limit: ROWS, page: pageNumber() } : undefined))
  const paths = listable(first[lead].data?.map(({ pathname }) => pathname) ?? [])
  const about = { filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }), limit: 2 * ROWS }
  const isAsked = paths.length > 0
  const second = usePair('/api/stats/pages', (of) => (of !== lead && isAsked ? about : undefined))
  const agentsAsked = isAsked && place.value.show !== 'human'
  const crawls = useOne('/api/agents/coverage', 'agent', { ...about, limit: 100, compare: undefined }, agentsAsked)
  const forbidden = usePair('/api/stats/pages', (of) =>
    of === 'agent' && isAsked
      ? {
          ...about,
          filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }, DISALLOWED),
          compare: undefined,
        }
      : undefined,
  )
  const pages =
    lead === 'human' ? { human: first.human, agent: second.agent } : { human: second.human, agent: first.agent }
  const rows = (first[lead].data ?? []).map(({ pathname }): PageRow => {
    const of = (list: readonly PageData[] | undefined) => list?.find((row) => row.pathname === pathname)
    const [human, agent] = [of(pages.human.data), of(pages.agent.data)]
    const reads = crawls.data?.filter((row) => row.pathname === pathname).flatMap(({ last_crawl }) => last_crawl ?? [])
    const lastRead = reads?.toSorted().at(-1)
    return {
      pathname,
      ...(human ? { human } : {}),
      ...(agent ? { agent } : {}),
      ...(crawls.data && !crawls.stale ? { lastRead: lastRead ?? null } : {}),
      ...(forbidden.agent.data && !forbidden.agent.stale ? { disallowed: of(forbidden.agent.data)?.fetches ?? 0 } : {}),
    }
  })
  return { pages, rows }
}

/** Leaves out paths that would make the address too long. */
function listable(paths: readonly string[]): string[] {
  let length = 0
  return paths.filter((path) => {
    length += encodeURIComponent(path).length + 16
    return length <= MAX_LIST
  })
}
