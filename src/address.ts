import { isIPv6 } from 'node:net'

/** An internet address as numbers: the one word of IPv4, or the four of IPv6 (`::ffff:` mapped ones are IPv4). */
export type Address = { family: 4; words: readonly [number] } | { family: 6; words: readonly number[] }

/** `undefined` for what is not an address. */
export function parseAddress(text: string): Address | undefined {
  const v4 = parseV4(text, 0)
  if (v4 !== undefined) return { family: 4, words: [v4] }
  if (!text.includes(':') || !isIPv6(text)) return undefined
  const words = parseV6(text)
  const [a, b, c, d] = words
  return a === 0 && b === 0 && c === 0xffff && d !== undefined ? { family: 4, words: [d] } : { family: 6, words }
}

/** The four decimal parts from `from` to the end of `text`, as one unsigned word. */
function parseV4(text: string, from: number): number | undefined {
  if (text.length - from < 7 || text.length - from > 15) return undefined
  let word = 0
  let part = -1
  let parts = 0
  for (let i = from; i <= text.length; i++) {
    const code = i === text.length ? 46 : text.charCodeAt(i)
    if (code === 46) {
      if (part < 0) return undefined
      word = word * 256 + part
      parts++
      part = -1
    } else {
      // A leading zero is refused: some read it as octal, and two readings of one address are one too many.
      if (code < 48 || code > 57 || part === 0) return undefined
      part = (part < 0 ? 0 : part * 10) + code - 48
      if (part > 255) return undefined
    }
  }
  return parts === 4 ? word : undefined
}

/** The four words of a text that `isIPv6` accepted. */
function parseV6(text: string): number[] {
  const zone = text.indexOf('%')
  const whole = zone < 0 ? text : text.slice(0, zone)
  const [head = '', tail] = whole.split('::')
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const all = tail === undefined ? left : [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  return [0, 2, 4, 6].map((i) => (all[i] ?? 0) * 65536 + (all[i + 1] ?? 0))
}

function groups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const v4 = parseV4(group, 0) ?? 0
    return [Math.floor(v4 / 65536), v4 % 65536]
  })
}

/** One text for one address, however it was written: what hashes are made of. */
export const addressKey = (address: Address): string => address.words.join(':')

/** An address as programs read it; IPv6 in full, not in its shortest form. */
export const addressText = ({ family, words }: Address): string =>
  family === 4
    ? [24, 16, 8, 0].map((shift) => (words[0] >>> shift) & 255).join('.')
    : words.map((word) => `${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`).join(':')

/** First word, prefix length: the blocks of RFC 6890 and its successors that no one on the internet sends from. */
const RESERVED_BLOCKS: readonly (readonly [number, number])[] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 3],
]

/** Whether an address can have a place at all: global unicast, neither private nor for documentation. */
export function isGlobal(address: Address): boolean {
  const [first = 0] = address.words
  if (address.family === 6) return first >= 0x20000000 && first < 0x40000000 && first !== 0x20010db8
  return !RESERVED_BLOCKS.some(([block, prefix]) => first >= block && first < block + 2 ** (32 - prefix))
}

/** What an address is counted as: IPv6 by the /64 that one household or machine has; what is none is one for all. */
export function networkKey(ip: string): string {
  const address = parseAddress(ip)
  if (address === undefined) return ''
  return address.family === 4 ? `${address.words[0]}` : `${address.words[0]}:${address.words[1]}`
}
