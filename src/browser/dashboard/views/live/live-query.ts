import { type Audience, place } from '../../state/address.js'
import { audiences, obstacle, siteQuery } from '../../state/question.js'

/** The question of one readership without a window; undefined if it is not on screen or lacks a filter. */
export function liveQuery(of: Audience) {
  const { filters, segment, suspected } = place.value
  if (!audiences.value.includes(of) || obstacle(of) !== undefined) return undefined
  return {
    ...siteQuery.value,
    filters: filters.length > 0 ? JSON.stringify(filters) : undefined,
    segment,
    suspected: of === 'human' ? suspected : undefined,
    audience: of,
  }
}
