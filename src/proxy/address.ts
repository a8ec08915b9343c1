import ipaddr from 'ipaddr.js'

type Address = ReturnType<typeof ipaddr.parse>
type Range = readonly [network: Address, bits: number]

/** The networks whose word about a client's address is believed. Made by `parseTrust`. */
export interface Trust {
  readonly ranges: readonly Range[]
}

/**
 * Names for `--trust-proxy`. `private` is what can stand between a balancer and this process on one's own network:
 * RFC 1918, RFC 4193 (fc00::/7), and the machine itself.
 */
const NAMED_NETWORKS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', '127.0.0.0/8', '::1/128']],
])

/**
 * Entries of X-Forwarded-For that are looked at, from the right: a chain of more trusted hops than this is no chain.
 */
const MAX_FORWARDED_HOPS = 32

/**
 * Reads the values of `--trust-proxy` (contract 2): `cidr`, a single address, `loopback` or `private`.
 * Throws `Error` naming the value that is none of these.
 */
export function parseTrust(list: readonly string[]): Trust {
  return { ranges: list.flatMap((value) => (NAMED_NETWORKS.get(value.trim()) ?? [value]).map(parseRange)) }
}

/** Whether `ip` is inside one of the trusted networks; false for what is no address. */
export function isTrusted(ip: string, trust: Trust): boolean {
  const found = parse(ip)
  return found !== undefined && within(found.address, trust)
}

/**
 * The client's address: the peer's own unless the peer is trusted; then the right-most entry of X-Forwarded-For that is
 * not itself a trusted hop. An entry that is no address ends the walk at the last good hop, because nothing left of it
 * can be vouched for. `xff` is the header's value (several fields joined by commas, RFC 9110 5.3). The `Forwarded`
 * header (RFC 7239) is not read: two headers that can disagree would let a client choose. Returns the canonical text of
 * the address (IPv4-mapped IPv6 as IPv4, no zone), or the empty string where the peer has none.
 */
export function clientAddress(peer: string | undefined, xff: string | undefined, trust: Trust): string {
  let client = peer === undefined ? undefined : parse(peer)
  if (client === undefined) return ''
  let end = xff?.length ?? 0
  for (
    let hops = 0;
    xff !== undefined && end >= 0 && hops < MAX_FORWARDED_HOPS && within(client.address, trust);
    hops++
  ) {
    // From the right and no further than needed: the left of a long header is the client's own invention.
    const comma = end === 0 ? -1 : xff.lastIndexOf(',', end - 1)
    const hop = parseEntry(xff.slice(comma + 1, end))
    if (hop === undefined) break
    client = hop
    end = comma
  }
  return client.text
}

/** `1.2.3.4`, `1.2.3.4:8080`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`, with or without a zone. */
function parseEntry(entry: string): ParsedAddress | undefined {
  const text = entry.trim()
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed) return text.includes(':') ? parse(bracketed[1] ?? '') : undefined
  return parse(/^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text)
}

interface ParsedAddress {
  readonly address: Address
  /** Canonical. */
  readonly text: string
}

/** IPv6 takes 17 us to read and write, a fifth of a proxied request: what was read lately is remembered. */
const parsedAddresses = new Map<string, ParsedAddress | undefined>()
const MAX_CACHED_ADDRESSES = 4_096
const MAX_ADDRESS_LENGTH = 64

function parse(text: string): ParsedAddress | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined
  const before = parsedAddresses.get(text)
  if (before !== undefined || parsedAddresses.has(text)) return before
  const address = read(text)
  const made = address && { address, text: address.toString() }
  // Emptied whole: a stranger who sends many must not make each one cost a search for the oldest.
  if (parsedAddresses.size >= MAX_CACHED_ADDRESSES) parsedAddresses.clear()
  // A copy: what was cut out of a header would keep the whole of it.
  parsedAddresses.set(Buffer.from(text).toString(), made)
  return made
}

/** Strict: ipaddr.js alone also takes `1.2.3`, `0x7f.1` and octal, which other software reads as other addresses. */
function read(text: string): Address | undefined {
  // A zone names an interface of some other machine.
  const zone = text.indexOf('%')
  const bare = zone > 0 && text.includes(':') ? text.slice(0, zone) : text
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare)
  if (!bare.includes(':') || !ipaddr.IPv6.isValid(bare)) return undefined
  const address = ipaddr.IPv6.parse(bare)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function parseRange(value: string): Range {
  const text = value.trim()
  const slash = text.indexOf('/')
  const address = read(slash < 0 ? text : text.slice(0, slash))
  const prefix = slash < 0 ? undefined : text.slice(slash + 1)
  if (address !== undefined) {
    const most = address.kind() === 'ipv4' ? 32 : 128
    if (prefix === undefined) return [address, most]
    // `::ffff:10.0.0.0/104` became 10.0.0.0: its prefix counts the 96 bits that went.
    const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) - (most === 32 && text.includes(':') ? 96 : 0) : -1
    if (bits >= 0 && bits <= most) return [address, bits]
  }
  throw new Error(
    `trust-proxy: ${JSON.stringify(value)} is not an address, a network such as 10.0.0.0/8, "loopback" or "private"`,
  )
}

const within = (address: Address, trust: Trust): boolean =>
  trust.ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
