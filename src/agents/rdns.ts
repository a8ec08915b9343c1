import { LRUCache } from 'lru-cache'
import { type Address, addressKey, parseAddress } from '../address.js'
import type { Agent } from './catalog.js'

/** What of `node:dns/promises` is asked; a `Resolver` is one. Not its `reverse`, for which a failure is no such name. */
export interface DnsResolver {
  resolvePtr(hostname: string): Promise<string[]>
  resolve4(hostname: string): Promise<string[]>
  resolve6(hostname: string): Promise<string[]>
}

/** `transient`: the DNS gave no answer, or there was no time to ask. */
export type RdnsResult = 'true' | 'false' | 'transient'

export interface Rdns {
  /**
   * Whether the address has a name of the agent's operator that leads back to it: at once where it is known, otherwise
   * within `timeout`. The promise never rejects.
   */
  lookUp(agent: Agent, address: Address): RdnsResult | Promise<RdnsResult>
}

interface RdnsDeps {
  resolver: DnsResolver
  /** Milliseconds of a clock that never jumps. */
  clock: () => number
  /** Milliseconds for one answer, the wait for its turn included. */
  timeoutMs?: number
  /** Questions under way, and behind them. */
  maxConcurrent?: number
  maxQueued?: number
  /** Answers remembered. */
  maxCached?: number
}

const HOUR_MS = 3_600_000
/** How long an answer holds (`reference/agents.md` 2.2). */
const CACHE_MS = { true: 24 * HOUR_MS, false: HOUR_MS, transient: HOUR_MS / 12 }
/** Names of one address that are looked up: its owner may have given it a thousand. */
const MAX_NAMES_PER_ADDRESS = 4
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/** Forward-confirmed reverse DNS, cached, with a bounded queue: what does not fit in is `transient`, and not remembered. */
export function createRdns(deps: RdnsDeps): Rdns {
  const {
    resolver: names,
    clock,
    timeoutMs: timeout = 2_000,
    maxConcurrent: asking = 32,
    maxQueued: waiting = 1_000,
    maxCached: remembered = 20_000,
  } = deps
  const known = new LRUCache<string, { confirmed: RdnsResult; until: number }>({ max: remembered })
  const underway = new Map<string, Promise<RdnsResult>>()
  const queue: (() => void)[] = []
  let busy = 0

  const remember = (key: string, confirmed: RdnsResult) => {
    known.set(key, { confirmed, until: clock() + CACHE_MS[confirmed] })
    return confirmed
  }

  /** Waits for a turn until `until`; false where it did not come. */
  const turn = async (until: number): Promise<boolean> => {
    if (busy >= asking) {
      let mine: () => void = () => {}
      const called = new Promise<boolean>((resolve) => {
        mine = () => resolve(true)
        queue.push(mine)
      })
      if (!(await withTimeout(until - clock(), called, false))) {
        const at = queue.indexOf(mine)
        if (at >= 0) queue.splice(at, 1)
        // Called in the moment it gave up: the turn is the next one's.
        else release()
        return false
      }
      return true
    }
    busy++
    return true
  }
  const release = () => {
    const next = queue.shift()
    if (next) next()
    else busy--
  }

  const settle = async (key: string, rule: NameRule, address: Address): Promise<RdnsResult> => {
    const until = clock() + timeout
    if (!(await turn(until))) return 'transient'
    try {
      const found = confirmAddress(rule, address, names)
      // An answer that comes too late for this row is in time for the next.
      const kept = found.then((confirmed) => remember(key, confirmed))
      return await withTimeout(until - clock(), kept, undefined).then(
        (confirmed) => confirmed ?? remember(key, 'transient'),
      )
    } finally {
      release()
    }
  }

  return {
    lookUp(agent, address) {
      const rule = nameRuleOf(agent)
      if (!rule) return 'false'
      const key = `${rule.key} ${addressKey(address)}`
      const before = known.get(key)
      if (before && before.until > clock()) return before.confirmed
      const same = underway.get(key)
      if (same) return same
      if (busy >= asking && queue.length >= waiting) return 'transient'
      const answer = settle(key, rule, address).finally(() => underway.delete(key))
      underway.set(key, answer)
      return answer
    },
  }
}

/** What `work` gives within `ms`, otherwise `late`. Leaves no timer behind. */
async function withTimeout<T, L>(ms: number, work: Promise<T>, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), Math.max(0, ms))
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}

/** Which names are an operator's. Agents of one operator often share them. */
interface NameRule {
  key: string
  matches(name: string): boolean
}

const nameRules = new WeakMap<Agent, NameRule>()

function nameRuleOf(agent: Agent): NameRule | undefined {
  const { rdns_suffixes: suffixes, rdns_masks: masks } = agent
  if (!suffixes) return undefined
  const known = nameRules.get(agent)
  if (known) return known
  const shapes = masks?.map((mask) => new RegExp(`^${mask.replaceAll('.', '\\.').replaceAll('*', '[a-z0-9-]+')}$`))
  const rule: NameRule = {
    key: [...suffixes, ...(masks ?? [])].join(' '),
    // A suffix begins with its dot: `evilgooglebot.com` does not end in it.
    matches: (name) =>
      suffixes.some((suffix) => name.length > suffix.length && name.endsWith(suffix)) &&
      (!shapes || shapes.some((shape) => shape.test(name))),
  }
  nameRules.set(agent, rule)
  return rule
}

/** The name that an address's names stand under (RFC 1035 3.5, RFC 3596 2.5). */
function reverseName({ family, words }: Address): string {
  const [size, base, zone] = family === 4 ? ([8, 10, 'in-addr'] as const) : ([4, 16, 'ip6'] as const)
  const parts = words.flatMap((word) =>
    Array.from({ length: 32 / size }, (_, i) => ((word >>> (32 - size * (i + 1))) & (2 ** size - 1)).toString(base)),
  )
  return `${parts.reverse().join('.')}.${zone}.arpa`
}

const HOSTNAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/

async function confirmAddress(rule: NameRule, address: Address, names: DnsResolver): Promise<RdnsResult> {
  const found = await resolveOrNone(() => names.resolvePtr(reverseName(address)))
  if (!found) return 'transient'
  const candidates = [...new Set(found.map((name) => name.toLowerCase().replace(/\.$/, '')))]
    .filter((name) => name.length <= 253 && HOSTNAME.test(name) && rule.matches(name))
    .slice(0, MAX_NAMES_PER_ADDRESS)
  const key = addressKey(address)
  const forward = address.family === 4 ? names.resolve4.bind(names) : names.resolve6.bind(names)
  const leads = await Promise.all(
    candidates.map(async (name): Promise<RdnsResult> => {
      const addresses = await resolveOrNone(() => forward(name))
      if (!addresses) return 'transient'
      return addresses.some((one) => isSame(one, key)) ? 'true' : 'false'
    }),
  )
  return leads.includes('true') ? 'true' : leads.includes('transient') ? 'transient' : 'false'
}

const isSame = (text: string, key: string): boolean => {
  const address = parseAddress(text)
  return address !== undefined && addressKey(address) === key
}

/** The answer; none where the DNS says that there is none, undefined where it says nothing. */
async function resolveOrNone(question: () => Promise<string[]>): Promise<string[] | undefined> {
  try {
    return await question()
  } catch (error) {
    return error instanceof Error && 'code' in error && NO_SUCH_NAME.has(String(error.code)) ? [] : undefined
  }
}
