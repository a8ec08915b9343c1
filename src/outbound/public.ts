import { type Address, isGlobal } from '../address.js'

/** First word and prefix length of what is global unicast by its number and still no one else's server. */
const NOT_PUBLIC_4: readonly (readonly [number, number])[] = [
  // The relays of 6to4 (RFC 7526), and Azure's own platform, which answers every machine there with its secrets.
  [0xc0586300, 24],
  [0xa83f8110, 32],
]

/** IETF protocol assignments with Teredo and ORCHID (2001::/23), 6to4 (2002::/16), documentation (3fff::/20). */
const NOT_PUBLIC_6: readonly (readonly [number, number])[] = [
  [0x20010000, 23],
  [0x20020000, 16],
  [0x3fff0000, 20],
]

const isInBlocks = (word: number, blocks: typeof NOT_PUBLIC_4) =>
  blocks.some(([block, bits]) => word >= block && word < block + 2 ** (32 - bits))

/**
 * Whether an address may be asked on behalf of a stranger: global unicast, and none that stands for another address
 * that is not. NAT64 (64:ff9b::/96, RFC 6052) counts as the IPv4 address in it: networks without IPv4 live by it.
 */
export function isPublic(address: Address): boolean {
  const [first = 0, second, third, fourth = 0] = address.words
  if (address.family === 4) return isGlobal(address) && !isInBlocks(first, NOT_PUBLIC_4)
  if (first === 0x0064ff9b && second === 0 && third === 0) return isPublic({ family: 4, words: [fourth] })
  return isGlobal(address) && !isInBlocks(first, NOT_PUBLIC_6)
}
