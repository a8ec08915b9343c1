import ipaddr from 'ipaddr.js'

/** An IP address as unsigned 32-bit words: one for IPv4, four for IPv6. IPv4-mapped IPv6 (`::ffff:…`) counts as IPv4. */
export type Address = { family: 4; words: readonly [number] } | { family: 6; words: readonly number[] }

/** A block of addresses: the words of its first address, host bits zero, and the number of bits that count. */
export interface Prefix {
  family: 4 | 6
  words: readonly number[]
  bits: number
}

/**
 * Parses an address; returns undefined for any other text. An IPv6 zone is ignored, because it names an interface of
 * another machine. Short, hexadecimal and octal forms of IPv4 are refused: other software reads them differently.
 */
export function parseAddress(text: string): Address | undefined {
  const v4 = parseV4(text)
  if (v4 !== undefined) return { family: 4, words: [v4] }
  if (!text.includes(':')) return undefined
  const zone = text.indexOf('%')
  const bare = zone < 0 ? text : text.slice(0, zone)
  const words = parseV6(bare)
  if (words === undefined) return undefined
  const [a, b, c, d] = words
  return a === 0 && b === 0 && c === 0xffff && d !== undefined ? { family: 4, words: [d] } : { family: 6, words }
}

/** Parses four decimal parts into one unsigned word. */
function parseV4(text: string): number | undefined {
  if (text.length < 7 || text.length > 15) return undefined
  let word = 0
  let part = -1
  let parts = 0
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? 46 : text.charCodeAt(i)
    if (code === 46) {
      if (part < 0) return undefined
      word = word * 256 + part
      parts++
      part = -1
    } else {
      // A leading zero is refused: some software reads it as octal.
      if (code < 48 || code > 57 || part === 0) return undefined
      part = (part < 0 ? 0 : part * 10) + code - 48
      if (part > 255) return undefined
    }
  }
  return parts === 4 ? word : undefined
}

/** Parses the text forms of RFC 4291 section 2.2 into four words. */
function parseV6(text: string): number[] | undefined {
  const [head = '', tail, more] = text.split('::')
  const left = parseGroups(head, tail === undefined)
  const right = parseGroups(tail ?? '', true)
  if (left === undefined || right === undefined || more !== undefined) return undefined
  const missing = 8 - left.length - right.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  const all = [...left, ...Array<number>(missing).fill(0), ...right]
  return [0, 2, 4, 6].map((i) => (all[i] ?? 0) * 65536 + (all[i + 1] ?? 0))
}

/** Parses groups of hexadecimal digits; at the end of an address the last two may be written as IPv4. */
function parseGroups(text: string, atEnd: boolean): number[] | undefined {
  const groups: number[] = []
  if (text === '') return groups
  const parts = text.split(':')
  for (const [i, part] of parts.entries()) {
    const v4 = atEnd && i === parts.length - 1 ? parseV4(part) : undefined
    if (v4 !== undefined) groups.push(Math.floor(v4 / 65536), v4 % 65536)
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

/** Formats an address; IPv6 in its shortest form, as RFC 5952 section 4 defines it. */
export function addressText({ family, words }: Address): string {
  if (family === 4) return [24, 16, 8, 0].map((shift) => (words[0] >>> shift) & 255).join('.')
  return new ipaddr.IPv6(words.flatMap((word) => [word >>> 16, word & 0xffff])).toRFC5952String()
}

/** Returns the same key for every spelling of one address, for hashing. */
export const addressKey = ({ words }: Address): string => (words.length === 1 ? `${words[0]}` : words.join(':'))

/**
 * Returns the key by which one client is counted: the IPv4 address, or the /64 network of an IPv6 address, which one
 * household or machine has to itself. Text that is not an address gives the empty string.
 */
export function networkKey(ip: string): string {
  const address = parseAddress(ip)
  if (address === undefined) return ''
  return address.family === 4 ? `${address.words[0]}` : `${address.words[0]}:${address.words[1]}`
}

/** Returns an IPv4 address in dotted form also where a dual-stack socket shows it as `::ffff:192.0.2.1`. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address

/** Parses `192.0.2.0/24` or a single address, and clears the host bits. Returns undefined for any other text. */
export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.indexOf('/')
  const address = text.includes('%') ? undefined : parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === undefined) return undefined
  const length = slash < 0 ? undefined : text.slice(slash + 1)
  const most = address.family === 4 ? 32 : 128
  // The prefix length of a mapped address (`::ffff:192.0.2.0/120`) counts 96 bits that `parseAddress` removed.
  const mapped = address.family === 4 && text.includes(':') ? 96 : 0
  const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) - mapped : -1
  if (bits < 0 || bits > most) return undefined
  return { family: address.family, bits, words: address.words.map((word, i) => (word & maskOf(bits - 32 * i)) >>> 0) }
}

/** Returns the word whose first `bits` bits are set; all or none of them where `bits` is out of range. */
export function maskOf(bits: number): number {
  return (bits <= 0 ? 0 : bits >= 32 ? 0xffffffff : ~(0xffffffff >>> bits)) >>> 0
}

/** Formats a prefix as `parsePrefix` reads it. */
export const prefixText = ({ family, words, bits }: Prefix): string =>
  `${addressText(family === 4 ? { family, words: [words[0] ?? 0] } : { family, words })}/${bits}`

function isInPrefix(address: Address, { family, words, bits }: Prefix): boolean {
  if (address.family !== family) return false
  for (let i = 0; i < words.length && bits > 32 * i; i++)
    if (((address.words[i] ?? 0) & maskOf(bits - 32 * i)) >>> 0 !== words[i]) return false
  return true
}

const prefixes = (...texts: string[]): Prefix[] => texts.flatMap((text) => parsePrefix(text) ?? [])

/** Blocks of RFC 6890 and its successors from which no host on the internet sends. */
const NOT_GLOBAL = prefixes(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  '2001:db8::/32',
)
const [GLOBAL_V6] = prefixes('2000::/3')

/** Returns whether an address can have a geographic place: global unicast, neither private nor for documentation. */
export const isGlobal = (address: Address): boolean =>
  (address.family === 4 || (GLOBAL_V6 !== undefined && isInPrefix(address, GLOBAL_V6))) &&
  !NOT_GLOBAL.some((prefix) => isInPrefix(address, prefix))

/** Blocks that are global unicast by number, but hold no server of a third party. */
const NOT_PUBLIC = prefixes(
  // Relays of 6to4 (RFC 7526), and the platform address of Azure, which hands its secrets to every machine there.
  ...['192.88.99.0/24', '168.63.129.16/32'],
  // IETF protocol assignments with Teredo and ORCHID, 6to4, documentation.
  ...['2001::/23', '2002::/16', '3fff::/20'],
)

/**
 * Returns whether readership may send a request to an address that a third party named: global unicast, and not a
 * stand-in for an address that is not. NAT64 (64:ff9b::/96, RFC 6052) counts as the IPv4 address inside, because
 * networks without IPv4 depend on it.
 */
export function isPublic(address: Address): boolean {
  const [first, second, third, fourth = 0] = address.words
  if (address.family === 6 && first === 0x0064ff9b && second === 0 && third === 0)
    return isPublic({ family: 4, words: [fourth] })
  return isGlobal(address) && !NOT_PUBLIC.some((prefix) => isInPrefix(address, prefix))
}

/** The networks whose statements about a client's address are believed. Made by `parseTrust`. */
export interface Trust {
  readonly ranges: readonly Prefix[]
}

/**
 * Names for `--trust-proxy`. `private` covers what can stand between a load balancer and this process on an operator's
 * network: RFC 1918, RFC 4193 (fc00::/7), and the machine itself.
 */
const NAMED_NETWORKS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', '127.0.0.0/8', '::1/128']],
])

/**
 * Parses the values of `--trust-proxy`: a network in CIDR notation, a single address, `loopback` or `private`.
 * Throws an `Error` that names the first other value.
 */
export function parseTrust(list: readonly string[]): Trust {
  const ranges = list.flatMap((value) => {
    const text = value.trim()
    const parsed = prefixes(...(NAMED_NETWORKS.get(text) ?? [text.includes(':') ? text.replace(/%[^/]*/, '') : text]))
    if (parsed.length > 0) return parsed
    throw new Error(
      `trust-proxy: ${JSON.stringify(value)} is not an address, a network such as 10.0.0.0/8, "loopback" or "private"`,
    )
  })
  return { ranges }
}

/** Returns whether `ip` lies inside a trusted network; false for text that is not an address. */
export function isTrusted(ip: string, trust: Trust): boolean {
  const parsed = parseCached(ip)
  return parsed !== undefined && isInTrust(parsed.address, trust)
}

const isInTrust = (address: Address, trust: Trust): boolean => trust.ranges.some((range) => isInPrefix(address, range))

/** Entries of X-Forwarded-For that are read, from the right. A longer chain of trusted proxies does not occur. */
const MAX_FORWARDED_HOPS = 32

/**
 * Returns the client's address: the peer's address unless the peer is trusted; otherwise the right-most entry of
 * X-Forwarded-For that is not itself a trusted proxy. An entry that is not an address ends the walk at the last good
 * entry, because no trusted proxy vouches for anything further left. `xff` is the header's value, several fields joined
 * by commas (RFC 9110 5.3). The `Forwarded` header (RFC 7239) is not read: two headers that can disagree would let a
 * client choose. The result is canonical (IPv4-mapped IPv6 as IPv4, no zone), or empty if the peer has no address.
 */
export function clientAddress(peer: string | undefined, xff: string | undefined, trust: Trust): string {
  let client = peer === undefined ? undefined : parseCached(peer)
  if (client === undefined) return ''
  let end = xff?.length ?? 0
  for (let i = 0; xff !== undefined && end >= 0 && i < MAX_FORWARDED_HOPS && isInTrust(client.address, trust); i++) {
    // Reads from the right and no further than needed: a client can make the left side as long as it likes.
    const comma = end === 0 ? -1 : xff.lastIndexOf(',', end - 1)
    const hop = parseEntry(xff.slice(comma + 1, end))
    if (hop === undefined) break
    client = hop
    end = comma
  }
  return client.text
}

/** Parses `1.2.3.4`, `1.2.3.4:8080`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`, with or without a zone. */
function parseEntry(entry: string): ParsedAddress | undefined {
  const text = entry.trim()
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed) return text.includes(':') ? parseCached(bracketed[1] ?? '') : undefined
  return parseCached(/^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text)
}

interface ParsedAddress {
  readonly address: Address
  readonly text: string
}

/** A text, as a string of its own, and its address if it is one. */
interface CachedAddress {
  readonly text: string
  readonly parsed: ParsedAddress | undefined
}

/**
 * Caches recent results, in two generations: parsing and formatting IPv6 for each request would be a measurable part of
 * its cost. Clients that send many addresses fill the current generation, and the one before it is then dropped.
 */
let currentAddresses = new Map<string, CachedAddress>()
let previousAddresses = new Map<string, CachedAddress>()
const MAX_ADDRESSES_OF_A_GENERATION = 4_096
const MAX_ADDRESS_LENGTH = 64

function parseCached(text: string): ParsedAddress | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined
  const cached = currentAddresses.get(text)
  if (cached !== undefined) return cached.parsed
  const entry = previousAddresses.get(text) ?? parseEntryText(text)
  if (currentAddresses.size >= MAX_ADDRESSES_OF_A_GENERATION) {
    previousAddresses = currentAddresses
    currentAddresses = new Map()
  }
  currentAddresses.set(entry.text, entry)
  return entry.parsed
}

function parseEntryText(text: string): CachedAddress {
  const address = parseAddress(text)
  // A copy of the text: a slice of a header would keep the whole header in memory.
  return { text: Buffer.from(text).toString(), parsed: address && { address, text: addressText(address) } }
}
