import { type Address, addressKey, parseAddress } from '../base/address.js'
import { createRecentCache } from '../base/cache.js'
import { createSlots } from '../base/slots.js'
import { HOUR_MS } from '../base/time-units.js'
import { waitAtMost } from '../base/wait-at-most.js'
import type { Agent } from './catalog.js'

/**
 * The functions of `node:dns/promises` that are used; a `Resolver` has them all. `reverse` is not used, because it reports
 * a failure of the DNS as if the name did not exist.
 */
export interface DnsResolver {
  resolvePtr(hostname: string): Promise<string[]>
  resolve4(hostname: string): Promise<string[]>
  resolve6(hostname: string): Promise<string[]>
}

/** `transient`: the DNS did not answer, or there was no time to ask. */
export type RdnsResult = 'true' | 'false' | 'transient'

interface RdnsDeps {
  resolver: DnsResolver
  /** Monotonic milliseconds. */
  clock: () => number
  /** Milliseconds for one lookup, including its wait in the queue. */
  timeoutMs?: number
  maxConcurrent?: number
  maxQueued?: number
  maxCached?: number
}

/** How long each result is cached. */
const CACHE_MS = { true: 24 * HOUR_MS, false: HOUR_MS, transient: HOUR_MS / 12 }
/** An address can have a thousand names; its owner chooses how many. */
const MAX_NAMES_PER_ADDRESS = 4
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

export type Rdns = ReturnType<typeof createRdns>

/**
 * Forward-confirmed reverse DNS with a cache and a bounded queue. A lookup that does not fit into the queue is `transient`
 * and is not cached.
 */
export function createRdns(deps: RdnsDeps) {
  const { resolver, clock, timeoutMs = 2_000, maxConcurrent = 32, maxQueued = 1_000, maxCached = 20_000 } = deps
  const cache = createRecentCache<string, { result: RdnsResult; until: number }>(maxCached)
  const pending = new Map<string, Promise<RdnsResult>>()
  const slots = createSlots(maxConcurrent)

  const remember = (key: string, result: RdnsResult): RdnsResult => {
    cache.set(key, { result, until: clock() + CACHE_MS[result] })
    return result
  }

  /** A lookup without a slot until its timeout is transient and is not cached. */
  const runLookup = (key: string, rule: NameRule, address: Address): Promise<RdnsResult> => {
    const until = clock() + timeoutMs
    const work = async () => {
      // A result that arrives after the timeout is cached all the same, for the next request of the address.
      const lookup = confirmAddress(rule, address, resolver).then((result) => remember(key, result))
      return (await waitAtMost(until - clock(), lookup)) ?? remember(key, 'transient')
    }
    return slots(work, { wait_ms: timeoutMs }).catch(() => 'transient')
  }

  return {
    /**
     * Checks that the address has a name of the agent's operator which resolves to the address: at once if the result is
     * cached, otherwise within `timeoutMs`. The promise never rejects.
     */
    lookUp(agent: Agent, address: Address): RdnsResult | Promise<RdnsResult> {
      const rule = nameRuleOf(agent)
      if (!rule) return 'false'
      const key = `${rule.key} ${addressKey(address)}`
      const cached = cache.get(key)
      if (cached && cached.until > clock()) return cached.result
      const same = pending.get(key)
      if (same) return same
      if (pending.size >= maxConcurrent + maxQueued) return 'transient'
      const lookup = runLookup(key, rule, address).finally(() => pending.delete(key))
      pending.set(key, lookup)
      return lookup
    },
  }
}

/** Decides which names are an operator's. Agents of one operator often share the rule, and so share cached results. */
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
    // A suffix begins with its dot, so `evilgooglebot.com` does not end with `.googlebot.com`.
    matches: (name) =>
      suffixes.some((suffix) => name.length > suffix.length && name.endsWith(suffix)) &&
      (!shapes || shapes.some((shape) => shape.test(name))),
  }
  nameRules.set(agent, rule)
  return rule
}

/** Returns the name under which the PTR records of an address stand (RFC 1035 3.5, RFC 3596 2.5). */
function reverseName(address: Address): string {
  const bytes = address.toByteArray().reverse()
  if (address.kind() === 'ipv4') return `${bytes.join('.')}.in-addr.arpa`
  const digits = bytes.flatMap((byte) => [byte & 15, byte >> 4].map((digit) => digit.toString(16)))
  return `${digits.join('.')}.ip6.arpa`
}

const HOSTNAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/

async function confirmAddress(rule: NameRule, address: Address, resolver: DnsResolver): Promise<RdnsResult> {
  const pointers = await resolveOrNone(() => resolver.resolvePtr(reverseName(address)))
  if (!pointers) return 'transient'
  const names = [...new Set(pointers.map((name) => name.toLowerCase().replace(/\.$/, '')))]
    .filter((name) => name.length <= 253 && HOSTNAME.test(name) && rule.matches(name))
    .slice(0, MAX_NAMES_PER_ADDRESS)
  const key = addressKey(address)
  const results = await Promise.all(
    names.map(async (name): Promise<RdnsResult> => {
      const resolved = await resolveOrNone(() =>
        address.kind() === 'ipv4' ? resolver.resolve4(name) : resolver.resolve6(name),
      )
      if (!resolved) return 'transient'
      return resolved.some((text) => hasKey(parseAddress(text), key)) ? 'true' : 'false'
    }),
  )
  return results.includes('true') ? 'true' : results.includes('transient') ? 'transient' : 'false'
}

const hasKey = (address: Address | undefined, key: string): boolean =>
  address !== undefined && addressKey(address) === key

/** Returns the records, an empty list if the name has no such records, or undefined if the DNS does not answer. */
async function resolveOrNone(resolve: () => Promise<string[]>): Promise<string[] | undefined> {
  try {
    return await resolve()
  } catch (error) {
    return error instanceof Error && 'code' in error && NO_SUCH_NAME.has(String(error.code)) ? [] : undefined
  }
}
