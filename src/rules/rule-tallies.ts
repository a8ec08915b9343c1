import type { Agent } from '../agents/agent.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import type { DecidingRule, Identity } from './rule.js'

/** Fetches of the record that do not differ in what a decision depends on; where a rule has a budget, one fetch. */
export interface RecordedFetches {
  /** Undefined for an agent that is not in the catalogue. */
  agent: Agent | undefined
  /** The value of the row's column. */
  verification: string | undefined
  method: string
  hostname: string
  pathname: string
  disallowed: boolean
  /** Names the address in budgets, such as its hash. */
  address: string
  /** Milliseconds since 1970. */
  at: number
  /** Names the day. */
  day: number
  /** No other fetch of the address and agent came within an hour before, so nothing was known of the claim. */
  isFirst: boolean
  fetches: number
  /** Together; unknown weights count nothing. */
  bytes: number
  duration_ms: number
}

/** The fetches that one rule decided. */
export interface RuleTally {
  readonly rule: DecidingRule
  /** Fetches that it decided, with their weight. */
  fetches: number
  bytes: number
  duration_ms: number
  readonly days: Map<number, number>
  readonly agents: Map<string, { agent: Agent | undefined; verification: string | undefined; fetches: number }>
  readonly pages: Map<string, PageCount>
  /** Fetches that it matches and an earlier rule decided, by that rule's place; of a rule that decides any, not all of them. */
  readonly takenBy: Map<number, number>
}

export interface PageCount {
  readonly hostname: string
  readonly pathname: string
  fetches: number
}

/** Pages are chosen by clients: characters of the pages that are kept. Fetches of others count without a page. */
const MAX_PAGE_CHARACTERS = 32_000_000

const IDENTITIES: Readonly<Record<string, Identity>> = {
  ...{ web_bot_auth: 'verified', ranges: 'verified', rdns: 'verified' },
  ...{ spoofed: 'spoofed', unverifiable: 'unverifiable' },
}
/** Returns the identity that a row's verdict is; undefined for a claim that could not be checked. */
export const identityOf = (verification: string | undefined): Identity | undefined =>
  verification === undefined ? undefined : IDENTITIES[verification]

/** Names a page among those of a tally. */
export const pageKeyOf = ({ hostname, pathname }: { hostname: string; pathname: string }): string =>
  `${hostname}${pathname.startsWith('/') ? '' : ' '}${pathname}`

/** Counts what each of these rules decides. */
export function createTallies(rules: readonly DecidingRule[]) {
  const tallies = rules.map(
    (rule): RuleTally => ({
      ...{ rule, fetches: 0, bytes: 0, duration_ms: 0 },
      ...{ days: new Map(), agents: new Map(), pages: new Map(), takenBy: new Map() },
    }),
  )
  const refusedDays = new Map<number, number>()
  let pageCharacters = 0
  return {
    tallies,
    /** Refused fetches by day, whatever rule refused them. */
    refusedDays,
    /** Counts fetches that the rule at a place decided. */
    addDecided(place: number, fetch: RecordedFetches): void {
      const tally = tallies[place]
      if (!tally) return
      const { agent, verification, hostname, pathname, day, fetches } = fetch
      tally.fetches += fetches
      tally.bytes += fetch.bytes
      tally.duration_ms += fetch.duration_ms
      addTo(tally.days, day, fetches)
      const agentKey = `${agent?.id ?? UNKNOWN_AGENT.id} ${verification ?? ''}`
      const ofAgent = tally.agents.get(agentKey)
      if (ofAgent) ofAgent.fetches += fetches
      else tally.agents.set(agentKey, { agent, verification, fetches })
      if (tally.rule.action !== 'allow') addTo(refusedDays, day, fetches)
      const key = pageKeyOf(fetch)
      const page = tally.pages.get(key)
      if (page === undefined) pageCharacters += key.length
      if (page === undefined && pageCharacters > MAX_PAGE_CHARACTERS) return
      if (page) page.fetches += fetches
      else tally.pages.set(key, { hostname, pathname, fetches })
    },
  }
}

/** Adds to a count, which begins at 0. */
export function addTo<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
