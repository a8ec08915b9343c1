import { type ButterflyRow, joinSides } from '../../parts/lists.js'
import { DisallowedTag } from '../../parts/tags.js'
import { type Audience, place, viewPath } from '../../state/address.js'
import { filtersWith } from '../../state/filters.js'
import { type Pair, useOne, usePair, useTogether } from '../../state/question.js'

const ROWS = 10
const METRICS = { human: 'pageviews', agent: 'fetches' } as const

/**
 * The pages that either readership reads most. Each side is also asked about those that only the other one reads most, so
 * that no row lacks a number.
 */
export function useTopPages(): { pages: Pair<'/api/stats/pages'>; rows: ButterflyRow[] } {
  const pages = useTogether(usePair('/api/stats/pages', { limit: ROWS, compare: undefined }))
  const pathOf = ({ pathname }: { pathname: string }) => pathname
  const joined = joinSides(pages.human.data, pages.agent.data, { human: pathOf, agent: pathOf }, ROWS)
  const isWhole = (of: Audience) => (pages[of].meta?.total ?? 0) <= (pages[of].data?.length ?? 0)
  const others = usePair('/api/stats/pages', (of) => {
    const paths = joined.filter((row) => row[of] === undefined).map(({ key }) => key)
    if (pages[of].data === undefined || isWhole(of) || paths.length === 0) return undefined
    return { filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }), limit: ROWS, compare: undefined }
  })
  const paths = joined.map(({ key }) => key)
  const asked = { filters: filtersWith({ dimension: 'pathname', op: 'is', value: paths }), limit: 100 }
  const isAsked = paths.length > 0 && place.value.show !== 'human'
  const violations = useOne('/api/policy/violations/pages', 'agent', { ...asked, compare: undefined }, isAsked)
  const disallowed = (path: string): number =>
    (violations.data ?? []).reduce((sum, { pathname, fetches }) => sum + (pathname === path ? fetches : 0), 0)
  const numberFor = (of: Audience, path: string): number | undefined => {
    const found = [...(pages[of].data ?? []), ...(others[of].data ?? [])].find(({ pathname }) => pathname === path)
    if (found) return found[METRICS[of]]
    return pages[of].data && (isWhole(of) || (others[of].data && !others[of].stale)) ? 0 : undefined
  }
  const rows = joined.map(({ key }) => ({
    key,
    label: key,
    human: numberFor('human', key),
    agent: numberFor('agent', key),
    tag: disallowed(key) > 0 && <DisallowedTag count={disallowed(key)} />,
    filter: ['pathname', key] as const,
    to: viewPath('pages', key),
  }))
  return { pages, rows }
}
