import { MAX_CHARACTERS } from '../base/text-limits.js'
import { type Agent, verificationMethods } from './agent.js'
import type { Catalog } from './catalog.js'
import { findBotSign } from './general-pattern.js'
import { compileTokens, type TokenMatch } from './tokens.js'

/** The agent columns of a row whose agent is not in the catalog. */
export const UNKNOWN_AGENT = { id: 'other', name: 'Other', operator: 'Unknown', purpose: 'other' } as const

export interface Identification {
  /** The catalog's entry; absent if only a general rule or the missing user agent shows that the client is a bot. */
  agent?: Agent
  /** The token that matched, as the catalog spells it. */
  token?: string
}

/** Returns undefined for a person. The result is only a claim; `claim-check.ts` verifies it. */
type Identify = (userAgent: string) => Identification | undefined

/** Agents with these purposes decide only if no other agent matches. */
const FALLBACK_PURPOSES = new Set<Agent['purpose']>(['library', 'headless'])

/** Returns whether an agent is only the software that others build theirs with. */
export const isBuildingBlock = ({ purpose }: Pick<Agent, 'purpose'>): boolean => FALLBACK_PURPOSES.has(purpose)

/**
 * Returns a function that names the agent a `User-Agent` claims to be, by the rules of the catalog's `meta.matching`: the
 * longest token between word boundaries wins, and libraries and headless browsers win only if nothing else matches.
 * General rules and `isbot` find bots that are not in the catalog. Only the first 512 characters are read.
 */
export function createIdentify(catalog: Pick<Catalog, 'agents'>): Identify {
  const scan = compileTokens(catalog)
  return (userAgent) => {
    const ua = userAgent.slice(0, MAX_CHARACTERS.user_agent).trim()
    if (ua === '') return {}
    const matches = scan(ua.toLowerCase())
    const match = chooseMatch(matches)
    if (match) return isNamedOtherwise(ua, match, matches) ? {} : { agent: match.agent, token: match.token }
    return findBotSign(ua) === undefined ? undefined : {}
  }
}

/** The output of `readership agents identify` for one user agent. */
interface Explanation {
  user_agent: string
  audience: 'agent' | 'human'
  agent_id?: string
  name?: string
  operator?: string
  purpose?: string
  /** A page about the agent, or `undocumented`; absent if the catalog does not know the client. */
  docs_url?: string
  /** The evidence: a token of the catalog, a general rule or `isbot`, or the missing user agent. `nothing` means a person. */
  because: 'token' | 'isbot' | 'no_user_agent' | 'nothing'
  /** The text that decided. */
  token?: string
  /** The ways in which this claim could be verified; empty if the operator publishes none. */
  verification: ReturnType<typeof verificationMethods>
  /** Tokens of the catalog that occur in the user agent and did not decide. */
  others: { agent_id: string; token: string; why: string }[]
}

/** Returns the same judgement as `createIdentify`, with its reasons. Meant for the terminal; too slow for the write path. */
export function createExplain(catalog: Catalog): (userAgent: string) => Explanation {
  const identify = createIdentify(catalog)
  const scan = compileTokens(catalog)
  return (userAgent) => {
    const user_agent = userAgent.slice(0, MAX_CHARACTERS.user_agent).trim()
    const lower = user_agent.toLowerCase()
    const identified = identify(user_agent)
    const matches = scan(lower)
    const others = catalog.agents.flatMap((agent) =>
      [...agent.ua_tokens, ...(agent.ua_match === 'never' ? (agent.robots_tokens ?? []) : [])]
        .filter((token) => lower.includes(token.toLowerCase()) && token !== identified?.token)
        .map((token) => ({ agent_id: agent.id, token, why: ignoredReason(agent, token, matches, identified) })),
    )
    if (identified === undefined) return { user_agent, audience: 'human', because: 'nothing', verification: [], others }
    const { id: agent_id, name, operator, purpose } = identified.agent ?? UNKNOWN_AGENT
    const because = identified.agent ? 'token' : user_agent === '' ? 'no_user_agent' : 'isbot'
    const token = identified.token ?? (because === 'isbot' ? findBotSign(user_agent) : undefined)
    return {
      user_agent,
      audience: 'agent',
      agent_id,
      name,
      operator,
      purpose,
      ...(identified.agent && { docs_url: identified.agent.docs_url }),
      because,
      ...(token && { token }),
      verification: identified.agent ? verificationMethods(identified.agent) : [],
      others,
    }
  }
}

function ignoredReason(
  agent: Agent,
  token: string,
  matches: readonly TokenMatch[],
  identified: Identification | undefined,
): string {
  if (agent.ua_match === 'never') return 'a name in robots.txt that no User-Agent contains'
  if (agent.ua_match === 'exact-ua') return 'counts only as the whole User-Agent'
  const match = matches.find((one) => one.token === token && one.agent === agent)
  if (match === undefined) return 'part of another word'
  if (match.ignoredBecause !== undefined) return match.ignoredBecause
  if (FALLBACK_PURPOSES.has(agent.purpose) && identified?.agent && !FALLBACK_PURPOSES.has(identified.agent.purpose))
    return `a ${agent.purpose} counts only if nothing else matches`
  if (agent.purpose === 'library' && identified?.agent === undefined) return 'another name stands before the library'
  return 'a longer or earlier token decided'
}

/** Matches a name before the first slash, unless it is a programming language, a system, or the `Mozilla/` of browsers. */
const LEADING_NAME =
  /^(?:Mozilla\/[\d.]+ \(compatible; ?)?(?!(?:mozilla|opera|python|ruby|java|php|node(?:\.js)?|go|perl|lua|linux|windows|darwin)\/)[\w.+-]+(?: [\w.+-]+){0,3}?\//i

/** Returns whether a user agent begins with a name of its own, so that a library in it is only what it was built with. */
function isNamedOtherwise(userAgent: string, { agent }: TokenMatch, matches: readonly TokenMatch[]): boolean {
  if (agent.purpose !== 'library') return false
  const name = LEADING_NAME.exec(userAgent)?.[0]
  return name !== undefined && !matches.some((match) => isBuildingBlock(match.agent) && match.at < name.length)
}

/** Returns the match that decides: crawlers before libraries, then the longest token, then the first. */
function chooseMatch(matches: readonly TokenMatch[]): TokenMatch | undefined {
  let best: TokenMatch | undefined
  for (const match of matches)
    if (match.ignoredBecause === undefined && (best === undefined || outranks(match, best))) best = match
  return best
}

function outranks(match: TokenMatch, best: TokenMatch): boolean {
  const fallback = FALLBACK_PURPOSES.has(match.agent.purpose)
  if (fallback !== FALLBACK_PURPOSES.has(best.agent.purpose)) return !fallback
  return match.token.length > best.token.length || (match.token.length === best.token.length && match.at < best.at)
}
