import type { ReadContext } from '../../analytics/query/read-context.js'
import { visitsFrom } from '../../analytics/query/rehearsal-rows.js'
import { SEARCH_SOURCES } from '../../base/search-sources.js'
import { createPageMatcher, type Rehearsal } from '../../rules/rehearse.js'
import { addTo, identityOf, pageKeyOf } from '../../rules/rule-tallies.js'
import { forEach, type StreamRows } from './recorded.js'

/** Readers at risk of one rule. */
export interface Readers {
  all: number
  readonly days: Map<number, number>
  readonly operators: Map<string, number>
  readonly pages: Map<string, number>
}
export const NO_READERS: Readers = { all: 0, days: new Map(), operators: new Map(), pages: new Map() }

/** Counts the visits that came from operators whose agents a rule would refuse, at the pages that it matches. */
export async function findReaders(
  { plan, assistants }: ReadContext,
  { tallies }: Rehearsal,
  sitemaps: readonly string[],
  stream: StreamRows,
): Promise<Readers[]> {
  const ofRules = tallies.map((): Readers => ({ all: 0, days: new Map(), operators: new Map(), pages: new Map() }))
  const atRisk = new Map<string, { readers: Readers; matches: (pathname: string) => boolean }[]>()
  for (const [place, { rule, agents }] of tallies.entries()) {
    const readers = ofRules[place]
    if (rule.action === 'allow' || !readers) continue
    const refused = [...agents.values()].filter(({ verification }) => identityOf(verification) !== 'spoofed')
    const one = { readers, matches: createPageMatcher(rule, sitemaps) }
    for (const operator of new Set(refused.map(({ agent }) => agent?.operator)))
      if (operator !== undefined) atRisk.set(operator, [...(atRisk.get(operator) ?? []), one])
  }
  const operators = new Map([...assistants, ...SEARCH_SOURCES].map(({ source, operator }) => [source, operator]))
  const senders = [...operators].flatMap(([source, operator]) => (atRisk.has(operator) ? source : []))
  if (senders.length === 0) return ofRules
  await forEach(stream(visitsFrom(plan, senders)), (row) => {
    const operator = operators.get(String(row.sender)) ?? ''
    const page = { hostname: String(row.hostname), pathname: String(row.pathname) }
    const visits = Number(row.visits)
    for (const { readers, matches } of atRisk.get(operator) ?? []) {
      if (!matches(page.pathname)) continue
      readers.all += visits
      addTo(readers.days, Number(row.day), visits)
      addTo(readers.operators, operator, visits)
      addTo(readers.pages, pageKeyOf(page), visits)
    }
  })
  return ofRules
}
