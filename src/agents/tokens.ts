import type { Agent, Catalog } from './catalog.js'

/** A token of the catalog found in a user agent. */
export interface TokenMatch {
  agent: Agent
  token: string
  /** Where it begins in the lower-cased user agent. */
  at: number
  /** Why it does not count, in the words `agents identify` prints; absent when it does. */
  ignoredBecause?: string
}

interface TokenEntry {
  agent: Agent
  token: string
  exclude: readonly string[]
}

/** One step of the walk: the next step by character code, and the tokens that end here. */
interface TrieNode {
  next: Map<number, TrieNode>
  token?: TokenEntry
  substring?: TokenEntry
}

const isLetter = (code: number) => code >= 97 && code <= 122
const isAlphanumeric = (code: number) => isLetter(code) || (code >= 48 && code <= 57)

/** A word of likeness right before a token: what follows is whom the sender resembles, not who it is. */
const LIKENESS = /(?:^|[^a-z0-9])(?:like|compatible with)[\s"'(]+$/

/**
 * All tokens of a catalog in one walk over a lower-cased user agent. What comes back includes those that do not count
 * (vetoed, or named only in likeness) with the reason. A token off its boundaries is no hit.
 */
export function compileTokens(catalog: Pick<Catalog, 'agents'>): (userAgent: string) => TokenMatch[] {
  const root: TrieNode = { next: new Map() }
  const exact = new Map<string, TokenEntry>()
  for (const agent of catalog.agents) {
    const exclude = (agent.ua_exclude ?? []).map((word) => word.toLowerCase())
    for (const token of agent.ua_tokens) {
      const terminal = { agent, token, exclude }
      if (agent.ua_match === 'exact-ua') exact.set(token.toLowerCase(), terminal)
      if (agent.ua_match === 'token') addToken(root, token).token = terminal
      if (agent.ua_match === 'substring') addToken(root, token).substring = terminal
    }
  }
  return (userAgent) => {
    const hits: TokenMatch[] = []
    const whole = exact.get(userAgent)
    if (whole) hits.push(toMatch(whole, userAgent, 0))
    for (let at = 0; at < userAgent.length; at++) {
      const bounded = at === 0 || !isAlphanumeric(userAgent.charCodeAt(at - 1))
      let node = root.next.get(userAgent.charCodeAt(at))
      for (let end = at + 1; node !== undefined; end++) {
        if (node.token && bounded && !isLetter(userAgent.charCodeAt(end))) hits.push(toMatch(node.token, userAgent, at))
        if (node.substring) hits.push(toMatch(node.substring, userAgent, at))
        node = node.next.get(userAgent.charCodeAt(end))
      }
    }
    return hits
  }
}

function addToken(root: TrieNode, token: string): TrieNode {
  let node = root
  for (const char of token.toLowerCase()) {
    let next = node.next.get(char.charCodeAt(0))
    if (next === undefined) {
      next = { next: new Map() }
      node.next.set(char.charCodeAt(0), next)
    }
    node = next
  }
  return node
}

function toMatch({ agent, token, exclude }: TokenEntry, userAgent: string, at: number): TokenMatch {
  const veto = exclude.find((word) => userAgent.includes(word))
  if (veto !== undefined) return { agent, token, at, ignoredBecause: `vetoed by "${veto}"` }
  // The words of likeness are at most 17 characters before the token: a longer look back would cost for nothing.
  if (LIKENESS.test(userAgent.slice(Math.max(0, at - 24), at)))
    return { agent, token, at, ignoredBecause: 'named as a likeness' }
  return { agent, token, at }
}
