import type { Agent } from '../agents/agent.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import type { DecidingRule, Identity } from './rule.js'

/** Fetches of the record that do not differ in what a decision depends on; where their order matters, one fetch. */
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

/** Fetches that a rule decides, and readers at risk. */
interface Effect {
  would: number
  readers: number
}
export interface PageEffect extends Effect {
  readonly hostname: string
  readonly pathname: string
}
interface AgentEffect {
  readonly agent: Agent | undefined
  readonly identity: Identity | undefined
  would: number
}

/** The effects of one rule. Readers are for the caller to add. */
export interface RuleTally extends Effect {
  readonly rule: DecidingRule
  /** The weight of the fetches. */
  bytes: number
  duration_ms: number
  readonly days: Map<number, Effect>
  readonly agents: Map<string, AgentEffect>
  readonly pages: Map<string, PageEffect>
  /** Readers by operator, of operators whose genuine agents it refuses. */
  readonly operators: Map<string, number>
  /** Fetches that it matches and an earlier rule decided, by that rule's place; of a rule that decides any, not all of them. */
  readonly takenBy: Map<number, number>
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

/** Names an agent with one identity. */
export const agentKey = (agent: Agent | undefined, identity: Identity | undefined): string =>
  `${agent?.id ?? UNKNOWN_AGENT.id} ${identity ?? ''}`
/** Names a page among those of a tally. */
export const pageKey = (hostname: string, pathname: string): string =>
  `${hostname}${pathname.startsWith('/') ? '' : ' '}${pathname}`

/** Counts what each of these rules decides. */
export function createTallies(rules: readonly DecidingRule[]) {
  const tallies = rules.map(
    (rule): RuleTally => ({
      ...{ rule, would: 0, readers: 0, bytes: 0, duration_ms: 0, days: new Map(), agents: new Map() },
      ...{ pages: new Map(), operators: new Map(), takenBy: new Map() },
    }),
  )
  let pageCharacters = 0
  return {
    tallies,
    /** Counts fetches that the rule of a tally decided. */
    addDecided(tally: RuleTally, fetch: RecordedFetches): void {
      const { agent, verification, hostname, pathname, fetches } = fetch
      const identity = identityOf(verification)
      tally.would += fetches
      tally.bytes += fetch.bytes
      tally.duration_ms += fetch.duration_ms
      entryOf(tally.days, fetch.day, () => ({ would: 0, readers: 0 })).would += fetches
      entryOf(tally.agents, agentKey(agent, identity), () => ({ agent, identity, would: 0 })).would += fetches
      if (agent && identity !== 'spoofed' && tally.rule.action !== 'allow') addTo(tally.operators, agent.operator, 0)
      const key = pageKey(hostname, pathname)
      if (!tally.pages.has(key)) pageCharacters += key.length
      if (pageCharacters > MAX_PAGE_CHARACTERS && !tally.pages.has(key)) return
      entryOf(tally.pages, key, () => ({ hostname, pathname, would: 0, readers: 0 })).would += fetches
    },
  }
}

/** Returns the value of a key; creates it if the key is absent. */
export function entryOf<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}

/** Adds to a count, which begins at 0. */
export function addTo<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
