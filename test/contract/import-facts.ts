import type { SessionMove } from '../../src/storage/event-store.js'
import type { Arrival, EventRow } from '../../src/storage/rows.js'
import { hashSessionId } from '../../src/worker/ingest/session-memory.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/* Things that people did, recorded live or in logs, and the rows that a store has of them. */

const MINUTE = 60_000

/** A thing that a person did, recorded live or in a log. */
export interface Fact {
  person: number
  /** Minutes after 21:00 UTC: at 180 people get other visitor ids. */
  minute: number
  /** A report prolongs its session; one that is aside only lies in it. */
  kind: 'view' | 'report' | 'aside'
  part: 'before' | 'first' | 'second' | 'after'
  path: number
  source: number
  engaged: number
}
export interface DatedFact extends Fact {
  at: number
  visitor: bigint
  /** Tells facts of one minute apart. */
  n: number
}
interface Session {
  id: bigint
  start: number
  last: number
  arrival: Arrival
}

const arrivalOf = ({ path, source }: Fact): Arrival => ({
  ...{ entry_page: `/${path}`, referrer: null, source: ['Bing', null, 'x.example'][source] ?? null },
  channel: source === 0 ? 'AI Assistants' : 'Referral',
  ...{ utm_source: null, utm_medium: null, utm_campaign: null, utm_content: null, utm_term: null },
})

/**
 * The session of each fact, by the rule of sessions as it is stated, for facts in any order. Reports that find no running
 * session are left out: the store would have them elsewhere.
 */
export function findSessions(facts: readonly DatedFact[]): Map<DatedFact, Session> {
  const found = new Map<DatedFact, Session>()
  const sessions: (Session & { person: number })[] = []
  const viewOf = (report: DatedFact) =>
    facts
      .filter(
        ({ person, kind, path, at }) =>
          person === report.person && kind === 'view' && path === report.path && at <= report.at,
      )
      .map(({ at }) => at)
      .reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const steps = facts
    .filter(({ kind }) => kind !== 'aside')
    .map((fact) => ({
      fact,
      from: fact.kind === 'view' ? fact.at : Math.max(viewOf(fact), fact.at - fact.engaged * MINUTE),
    }))
    .sort((a, b) => a.from - b.from || a.fact.at - b.fact.at)
  for (const { fact, from } of steps) {
    const last = sessions.findLast(({ person }) => person === fact.person)
    const runs = last !== undefined && from - last.last < 30 * MINUTE
    if (fact.kind === 'report' && (!runs || viewOf(fact) < last.start)) continue
    const { person, at, visitor } = fact
    const session = runs
      ? last
      : { person, id: hashSessionId(visitor, at), start: at, last: at, arrival: arrivalOf(fact) }
    if (!runs) sessions.push(session)
    session.last = Math.max(session.last, at)
    found.set(fact, session)
  }
  for (const fact of facts.filter(({ kind }) => kind === 'aside')) {
    const session = sessions.findLast(({ person, start }) => person === fact.person && start <= fact.at)
    if (session && fact.at - session.last < MINUTE) found.set(fact, session)
  }
  return found
}

export function toRow(
  site: number,
  fact: DatedFact,
  { id, start, arrival }: Session,
  importId: number | null,
): EventRow {
  const { at, visitor, kind, path, engaged, n } = fact
  return eventRow({
    ...{ site_id: site, timestamp: new Date(at), visitor_id: visitor, session_id: id, session_start: new Date(start) },
    ...{
      ...arrival,
      pathname: `/${path}`,
      kind: kind === 'view' ? 'pageview' : 'engagement',
      country: ['DE', 'FR'][fact.person] ?? null,
    },
    ...(kind === 'view' ? {} : { engaged_ms: engaged * MINUTE, status: null, duration_ms: null }),
    ...{ reported_at: kind === 'aside' ? new Date(at + 3 * 60 * MINUTE) : null },
    ...{ import_id: importId, import_key: importId === null ? null : 2n ** 64n - BigInt(n) },
  })
}

export const fetchOf = (site: number, { at, path, n }: DatedFact, importId: number | null) =>
  agentRow({
    ...{
      site_id: site,
      timestamp: new Date(at),
      pathname: `/${path}`,
      agent_id: n % 2 ? 'gptbot' : 'claudebot',
      bytes: n,
    },
    ...{ import_id: importId, import_key: importId === null ? null : BigInt(n) },
  })

/** The changes of stored sessions when the facts of `now` are known instead of those of `before`. */
export function findMoves(site: number, before: ReadonlyMap<DatedFact, Session>, now: ReadonlyMap<DatedFact, Session>) {
  const moves = new Map<bigint, SessionMove & { was: Session[] }>()
  for (const [fact, was] of before) {
    const session = now.get(fact)
    if (session === undefined || session.id === was.id) continue
    const at = new Date(fact.at)
    const move = moves.get(session.id) ?? {
      ...{ site_id: site, session_ids: [], was: [], first: at, last: at },
      to: { session_id: session.id, session_start: new Date(session.start), arrival: session.arrival },
    }
    const isNew = !move.was.includes(was)
    const [first, last] = [at < move.first ? at : move.first, at > move.last ? at : move.last]
    moves.set(session.id, {
      ...{ ...move, first, last },
      ...(isNew ? { session_ids: [...move.session_ids, was.id], was: [...move.was, was] } : {}),
    })
  }
  return [...moves.values()]
}

/** Facts with their times, and without the reports that live recording would not have stored so. */
export function knowFacts(given: readonly Fact[], base: number): DatedFact[] {
  const all = given.map((fact, n): DatedFact => {
    const at = base + 21 * 60 * MINUTE + fact.minute * MINUTE + n
    // Live reports are about live pages.
    const path = fact.part === 'before' ? fact.path : fact.path + 3
    return { ...fact, path, at, n: n + 1, visitor: BigInt(100 + fact.person * 2 + (fact.minute < 180 ? 0 : 1)) }
  })
  const isView = ({ kind }: Fact) => kind === 'view'
  const live = all.filter(({ part }) => part === 'before')
  let kept = live
  // A report that is left out may have been what another one found running.
  for (let size = -1; size !== kept.length; ) {
    size = kept.length
    const sessions = findSessions(kept)
    kept = kept.filter((fact) => sessions.has(fact))
  }
  return all.filter((fact) => (fact.part === 'before' ? kept.includes(fact) : isView(fact)))
}
