import { addressText, parseAddress } from '../../address.js'

/** A block of addresses: the words of its first one, host bits zero, and how many bits of them count. */
export interface Prefix {
  family: 4 | 6
  words: readonly number[]
  bits: number
}

/** `192.0.2.0/24`, or a single address. Host bits are masked; undefined for what is neither. */
export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.indexOf('/')
  const address = text.includes('%') ? undefined : parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === undefined) return undefined
  const length = slash < 0 ? undefined : text.slice(slash + 1)
  const most = address.family === 4 ? 32 : 128
  // The length of a mapped address counts the 96 bits that are not in it.
  const mapped = address.family === 4 && text.includes(':') ? 96 : 0
  const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) - mapped : -1
  if (bits < 0 || bits > most) return undefined
  return { family: address.family, bits, words: address.words.map((word, i) => (word & maskOf(bits - 32 * i)) >>> 0) }
}

/** The word whose first `bits` bits are set; all or none of them where `bits` lies outside. */
export const maskOf = (bits: number): number => (bits <= 0 ? 0 : bits >= 32 ? 0xffffffff : ~(0xffffffff >>> bits)) >>> 0

export const prefixText = ({ family, words, bits }: Prefix): string => {
  const [word = 0] = words
  return `${addressText(family === 4 ? { family, words: [word] } : { family, words })}/${bits}`
}
