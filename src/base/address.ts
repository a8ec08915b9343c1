import ipaddr from 'ipaddr.js'

/** An IP address as ipaddr.js holds it. IPv4-mapped IPv6 (`::ffff:…`) counts as IPv4. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A block of addresses: its first address, host bits zero, and the number of bits that count. */
export type Prefix = [first: Address, bits: number]

/**
 * Parses an address; returns undefined for any other text. An IPv6 zone is ignored, because it names an interface of
 * another machine. Short, hexadecimal and octal forms of IPv4 are refused, although ipaddr.js reads them: other software
 * reads them differently.
 */
export function parseAddress(text: string): Address | undefined {
  const v4 = parseV4(text)
  if (v4 !== undefined) return v4
  const zone = text.indexOf('%')
  const bare = zone < 0 ? text : text.slice(0, zone)
  const groups = withoutDottedTail(bare)
  if (!isGroups(groups)) return undefined
  const address = ipaddr.IPv6.parse(groups)
  return address.match(MAPPED) ? address.toIPv4Address() : address
}

/**
 * Writes the IPv4 part at the end of an IPv6 address as two groups: ipaddr.js reads `::192.0.2.1` as `::ffff:192.0.2.1`,
 * which is another address (RFC 4291 2.5.5), and octal parts.
 */
function withoutDottedTail(text: string): string {
  const tail = text.slice(text.lastIndexOf(':') + 1)
  const v4 = parseV4(tail)
  if (v4 === undefined) return text
  const [a = 0, b = 0, c = 0, d = 0] = v4.octets
  return `${text.slice(0, -tail.length)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

/**
 * Tells whether a text is eight groups, or fewer with one `::` (RFC 4291 2.2). ipaddr.js also reads groups of five digits,
 * and a `::` that stands for none. Node's `isIP` would tell too, but this file also runs where Node does not.
 */
function isGroups(text: string): boolean {
  const halves = text.split('::')
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const isWhole = halves.length === 1 ? groups.length === 8 : halves.length === 2 && groups.length < 8
  return isWhole && groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
}

const MAPPED: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('::ffff:0:0/96')

/**
 * Parses four decimal parts. Written by hand, because each request and each row of a log comes here: ipaddr.js, after a
 * check that refuses octal forms, takes 3 to 5 times as long (`npm run bench -- ranges`).
 */
function parseV4(text: string): ipaddr.IPv4 | undefined {
  if (text.length < 7 || text.length > 15) return undefined
  const octets: number[] = []
  let part = -1
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? 46 : text.charCodeAt(i)
    if (code === 46) {
      if (part < 0) return undefined
      octets.push(part)
      part = -1
    } else {
      // A leading zero is refused: some software reads it as octal.
      if (code < 48 || code > 57 || part === 0) return undefined
      part = (part < 0 ? 0 : part * 10) + code - 48
      if (part > 255) return undefined
    }
  }
  return octets.length === 4 ? new ipaddr.IPv4(octets) : undefined
}

/** Returns an address as unsigned 32-bit words, the form of tables that are searched: one for IPv4, four for IPv6. */
export function wordsOf(address: Address): number[] {
  if ('octets' in address) {
    const [a = 0, b = 0, c = 0, d = 0] = address.octets
    return [((a * 256 + b) * 256 + c) * 256 + d]
  }
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address.parts
  return [a * 65536 + b, c * 65536 + d, e * 65536 + f, g * 65536 + h]
}

/** Returns the same key for every spelling of one address, for hashing. */
export const addressKey = (address: Address): string => wordsOf(address).join(':')

/**
 * Returns the key by which one client is counted: the IPv4 address, or the /64 network of an IPv6 address, which one
 * household or machine has to itself. Text that is not an address gives the empty string.
 */
export function networkKey(ip: string): string {
  const address = parseAddress(ip)
  return address === undefined ? '' : wordsOf(address).slice(0, 2).join(':')
}

/** Returns an IPv4 address in dotted form also where a dual-stack socket shows it as `::ffff:192.0.2.1`. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address

/** Parses `192.0.2.0/24` or a single address, and clears the host bits. Returns undefined for any other text. */
export function parsePrefix(text: string): Prefix | undefined {
  const [, base = '', length] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAddress(base)
  if (address === undefined) return undefined
  const { most, family } = 'octets' in address ? { most: 32, family: ipaddr.IPv4 } : { most: 128, family: ipaddr.IPv6 }
  // The prefix length of a mapped address (`::ffff:192.0.2.0/120`) counts 96 bits that `parseAddress` removed.
  const bits = length === undefined ? most : Number(length) - (most === 32 && base.includes(':') ? 96 : 0)
  if (bits < 0 || bits > most) return undefined
  const mask = family.subnetMaskFromPrefixLength(bits).toByteArray()
  return [ipaddr.fromByteArray(address.toByteArray().map((byte, i) => byte & (mask[i] ?? 0))), bits]
}

/** Formats a prefix as `parsePrefix` reads it; IPv6 in its shortest form, as RFC 5952 section 4 defines it. */
export const formatPrefix = (prefix: Prefix): string => prefix.join('/')

const isInside = (address: Address, inside: Prefix[]): boolean =>
  ipaddr.subnetMatch(address, { inside }, 'outside') === 'inside'

const prefixes = (...texts: string[]): Prefix[] => texts.map(parsePrefix).filter((prefix) => prefix !== undefined)

/** Blocks of RFC 6890 and its successors from which no host on the internet sends. */
const NOT_GLOBAL = prefixes(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '2001:db8::/32',
)
const GLOBAL_V6 = prefixes('2000::/3')

/** Returns whether an address can have a geographic place: global unicast, neither private nor for documentation. */
export const isLocatable = (address: Address): boolean =>
  (address.kind() === 'ipv4' || isInside(address, GLOBAL_V6)) && !isInside(address, NOT_GLOBAL)

/** Blocks that are global unicast by number, but hold no server of a third party. */
const NOT_PUBLIC = prefixes(
  // Relays of 6to4 (RFC 7526), and the platform address of Azure, which hands its secrets to every machine there.
  '192.88.99.0/24',
  '168.63.129.16/32',
  // IETF protocol assignments with Teredo and ORCHID, 6to4, documentation.
  '2001::/23',
  '2002::/16',
  '3fff::/20',
)

/**
 * Returns whether readership may send a request to an address that a third party named: global unicast, and not a
 * stand-in for an address that is not. NAT64 (64:ff9b::/96, RFC 6052) counts as the IPv4 address inside, because
 * networks without IPv4 depend on it.
 */
export function isPublic(address: Address): boolean {
  if (isInside(address, NAT64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)))
  return isLocatable(address) && !isInside(address, NOT_PUBLIC)
}

const NAT64 = prefixes('64:ff9b::/96')

/** The networks whose statements about a client's address are believed. Made by `parseTrust`. */
export interface Trust {
  readonly ranges: Prefix[]
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
  return parsed !== undefined && isInside(parsed.address, trust.ranges)
}

const LOOPBACK = parseTrust(['loopback'])

/** Returns whether an address or a URL's hostname means this machine: `localhost`, 127.0.0.0/8 or `[::1]`. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || isTrusted(hostname.replace(/^\[|\]$/g, ''), LOOPBACK)

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
  for (
    let i = 0;
    xff !== undefined && end >= 0 && i < MAX_FORWARDED_HOPS && isInside(client.address, trust.ranges);
    i++
  ) {
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
  return { text: Buffer.from(text).toString(), parsed: address && { address, text: address.toString() } }
}
