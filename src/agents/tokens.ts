import type { Agent, Catalog } from './catalog.js'

/** A token of the catalog found in a user agent. */
export interface TokenMatch {
  agent: Agent
  token: string
  /** Position of its first character in the lower-cased user agent. */
  at: number
  /** Why the token does not count, in the words that `agents identify` prints; absent if it counts. */
  ignoredBecause?: string
}

interface TokenEntry {
  agent: Agent
  token: string
  exclude: readonly string[]
}

/** One node of the trie: the next nodes by character code, and the tokens that end here. */
interface TrieNode {
  next: Map<number, TrieNode>
  token?: TokenEntry
  substring?: TokenEntry
}

const isLetter = (code: number) => code >= 97 && code <= 122
const isAlphanumeric = (code: number) => isLetter(code) || (code >= 48 && code <= 57)

/** A comparison right before a token ("like Googlebot"): the token names another agent, not the sender. */
const LIKENESS = /(?:^|[^a-z0-9])(?:like|compatible with)[\s"'(]+$/

/**
 * Returns a function that finds all tokens of the catalog in a lower-cased user agent, in one pass. The result includes
 * tokens that do not count (vetoed, or part of a comparison) with the reason. A token inside another word is not a match.
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
  // A comparison begins at most 17 characters before the token, so 24 characters are enough.
  if (LIKENESS.test(userAgent.slice(Math.max(0, at - 24), at)))
    return { agent, token, at, ignoredBecause: 'named only in a comparison' }
  return { agent, token, at }
}
