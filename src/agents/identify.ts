import { isbot, isbotMatch } from 'isbot'
import type { Agent, Catalog } from './catalog.js'
import { compileTokens, type TokenMatch } from './tokens.js'
import { verificationMethods } from './verify.js'

/** User agents are stored and read up to this many characters: parsing a hostile one of 8 KB costs as much as a page. */
export const MAX_USER_AGENT_CHARS = 512

/** What a row says of an agent that the catalog does not know (contract 3). */
export const UNKNOWN_AGENT = { id: 'other', name: 'Other', operator: 'Unknown', purpose: 'other' } as const

export interface Identification {
  /** The catalog's entry; absent for a bot that only `isbot`, or the lack of a user agent, gives away. */
  agent?: Agent
  /** The token that matched, as the catalog spells it. */
  token?: string
}

/** `undefined` is a person. A match is a claim: verification is another matter. */
export type Identify = (userAgent: string) => Identification | undefined

/**
 * Browsers of people whose user agents have no more than a bot's: text browsers, small ones, old telephones. `isbot`
 * takes them for bots, by their form or by a word in them.
 */
const PLAIN_BROWSER =
  /^(?!.*(?:bot|crawl|spider|agent))(?:(?:w3m|NetSurf|nook browser|Avant Browser|SonyEricsson\w*|BlackBerry\w*)\/|Mozilla\/[\d.]+ \(compatible; (?:Dillo|Konqueror)[ /]|.*\bFirePHP\/)/i

const FALLBACK_PURPOSES = new Set<Agent['purpose']>(['library', 'headless'])

/**
 * Who a `User-Agent` claims to be, by the rules of the catalog's `meta.matching`: the longest token on its boundaries
 * wins, libraries and headless browsers only where nothing else matches; bots that are in no catalog by `isbot`.
 * Only the first 512 characters are read.
 */
export function createIdentify(catalog: Pick<Catalog, 'agents'>): Identify {
  const scan = compileTokens(catalog)
  return (userAgent) => {
    const ua = userAgent.slice(0, MAX_USER_AGENT_CHARS).trim()
    if (ua === '') return {}
    const hit = chooseMatch(scan(ua.toLowerCase()))
    if (hit) return { agent: hit.agent, token: hit.token }
    return isbot(ua) && !PLAIN_BROWSER.test(ua) ? {} : undefined
  }
}

/** What `readership agents identify` tells of one user agent. */
interface Explanation {
  user_agent: string
  audience: 'agent' | 'human'
  agent_id?: string
  name?: string
  operator?: string
  purpose?: string
  docs_url?: string
  /** How it was found: by a token of the catalog, by `isbot`'s pattern, by having no user agent; `nothing` is a person. */
  because: 'token' | 'isbot' | 'no_user_agent' | 'nothing'
  /** The text that decided. */
  token?: string
  /** By what a request that claims this could be verified; empty where nothing is published. */
  verification: ('ranges' | 'rdns' | 'web_bot_auth')[]
  /** Tokens of the catalog that stand in the user agent and did not decide. */
  others: { agent_id: string; token: string; why: string }[]
}

/** The same judgement as `createIdentify`, with its reasons. For people at a terminal, not for the write path. */
export function createExplain(catalog: Catalog): (userAgent: string) => Explanation {
  const identify = createIdentify(catalog)
  const scan = compileTokens(catalog)
  return (userAgent) => {
    const user_agent = userAgent.slice(0, MAX_USER_AGENT_CHARS).trim()
    const lower = user_agent.toLowerCase()
    const found = identify(user_agent)
    const net = isbotMatch(user_agent) ?? undefined
    const hits = scan(lower)
    const others = catalog.agents.flatMap((agent) =>
      [...agent.ua_tokens, ...(agent.ua_match === 'never' ? (agent.robots_tokens ?? []) : [])]
        .filter((token) => lower.includes(token.toLowerCase()) && token !== found?.token)
        .map((token) => ({ agent_id: agent.id, token, why: ignoredReason(agent, token, hits, found) })),
    )
    if (found === undefined) return { user_agent, audience: 'human', because: 'nothing', verification: [], others }
    const { id: agent_id, name, operator, purpose } = found.agent ?? UNKNOWN_AGENT
    const because = found.agent ? 'token' : user_agent === '' ? 'no_user_agent' : 'isbot'
    const token = found.token ?? (because === 'isbot' ? net : undefined)
    return {
      user_agent,
      audience: 'agent',
      agent_id,
      name,
      operator,
      purpose,
      ...(found.agent?.docs_url && { docs_url: found.agent.docs_url }),
      because,
      ...(token !== undefined && { token }),
      verification: found.agent ? verificationMethods(found.agent) : [],
      others,
    }
  }
}

function ignoredReason(
  agent: Agent,
  token: string,
  hits: readonly TokenMatch[],
  found: Identification | undefined,
): string {
  if (agent.ua_match === 'never') return 'a robots.txt switch that no User-Agent carries'
  if (agent.ua_match === 'exact-ua') return 'only as the whole User-Agent'
  const hit = hits.find((one) => one.token === token && one.agent === agent)
  if (hit === undefined) return 'inside another word'
  if (hit.ignoredBecause !== undefined) return hit.ignoredBecause
  if (FALLBACK_PURPOSES.has(agent.purpose) && found?.agent && !FALLBACK_PURPOSES.has(found.agent.purpose))
    return `a ${agent.purpose} counts only where nothing else matches`
  return 'a longer or earlier token decided'
}

/** The hit that decides: of a crawler before one of a library, then the longest, then the first. */
function chooseMatch(hits: readonly TokenMatch[]): TokenMatch | undefined {
  let best: TokenMatch | undefined
  for (const hit of hits)
    if (hit.ignoredBecause === undefined && (best === undefined || outranks(hit, best))) best = hit
  return best
}

function outranks(hit: TokenMatch, best: TokenMatch): boolean {
  const fallback = FALLBACK_PURPOSES.has(hit.agent.purpose)
  if (fallback !== FALLBACK_PURPOSES.has(best.agent.purpose)) return !fallback
  return hit.token.length > best.token.length || (hit.token.length === best.token.length && hit.at < best.at)
}
