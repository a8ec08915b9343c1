import type { ReadContext } from '../../analytics/query/read-context.js'
import { visitsFrom } from '../../analytics/query/rehearsal-rows.js'
import { SEARCH_SOURCES } from '../../base/search-sources.js'
import { createPageMatcher } from '../../rules/decide.js'
import type { Rehearsal } from '../../rules/rehearse.js'
import { addTo, entryOf, pageKey } from '../../rules/rule-tallies.js'
import { forEach, type StreamRows } from './run.js'

/** Adds to each tally the visits that came from operators whose agents its rule would refuse, at the pages that it matches. */
export async function addReaders(
  { plan, assistants }: ReadContext,
  { tallies }: Rehearsal,
  sitemaps: readonly string[],
  stream: StreamRows,
): Promise<void> {
  const atRisk = tallies.flatMap((tally) =>
    tally.operators.size === 0 ? [] : { tally, matches: createPageMatcher(tally.rule, sitemaps) },
  )
  const operators = new Map([...assistants, ...SEARCH_SOURCES].map(({ source, operator }) => [source, operator]))
  const senders = [...operators].flatMap(([source, operator]) =>
    atRisk.some(({ tally }) => tally.operators.has(operator)) ? source : [],
  )
  if (senders.length === 0) return
  await forEach(stream(visitsFrom(plan, senders)), (row) => {
    const operator = operators.get(String(row.sender)) ?? ''
    const pathname = String(row.pathname)
    const visits = Number(row.visits)
    for (const { tally, matches } of atRisk) {
      if (!tally.operators.has(operator) || !matches(pathname)) continue
      tally.readers += visits
      addTo(tally.operators, operator, visits)
      entryOf(tally.days, Number(row.day), () => ({ would: 0, readers: 0 })).readers += visits
      const page = tally.pages.get(pageKey(String(row.hostname), pathname))
      if (page) page.readers += visits
    }
  })
}
