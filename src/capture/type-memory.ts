/** 32 KB. A site's URLs that are read most are far fewer. */
const SLOTS = 8_192
/** Longer URLs are not remembered, because a client can make them up. */
const MAX_CHARACTERS = 2_048

const WAS_PAGE = 1
const WAS_OTHER = 2
const KINDS = WAS_PAGE | WAS_OTHER

interface Url {
  hostname: string
  pathname: string
  query?: string
}

export type TypeMemory = ReturnType<typeof createTypeMemory>

/**
 * Creates the memory of a site's URLs that responded with a page, with something else, or with both. A URL is a hash of 43
 * bits in a table of fixed size, and a new URL takes the slot of another. So no client can make the memory grow. Two URLs
 * with one hash are a matter of luck or of malice, and cost a view that the client could as well make up.
 */
export function createTypeMemory() {
  const slots = new Uint32Array(SLOTS)
  let slot = 0
  /** The hash without the part that is the slot; its last two bits are free for the kinds. */
  let tag = 0
  /** Sets slot and tag; returns false for a URL that is too long. */
  const find = ({ hostname, pathname, query = '' }: Url): boolean => {
    if (pathname.length + query.length > MAX_CHARACTERS) return false
    let a = 0x811c9dc5
    let b = query.length
    for (const text of [hostname, pathname, query]) {
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i)
        a = Math.imul(a ^ code, 0x01000193)
        b = Math.imul(b ^ code, 0x5bd1e995) ^ (b >>> 15)
      }
      a = Math.imul(a ^ 0xff, 0x01000193)
      b = Math.imul(b ^ 0xff, 0x5bd1e995)
    }
    slot = (a ^ (a >>> 13)) & (SLOTS - 1)
    tag = (b & ~KINDS) >>> 0
    return true
  }
  const isHere = (): boolean => {
    const stored = slots[slot] ?? 0
    return (stored & KINDS) !== 0 && (stored & ~KINDS) >>> 0 === tag
  }
  return {
    /** Notes a response of a URL; with `isWorth`, a URL that is not remembered yet is so from now on. */
    learn(url: Url, isPage: boolean, isWorth: boolean): void {
      if (!find(url)) return
      const kind = isPage ? WAS_PAGE : WAS_OTHER
      if (isHere()) slots[slot] = (slots[slot] ?? 0) | kind
      else if (isWorth) slots[slot] = tag | kind
    },
    /** Returns undefined for a URL that is not remembered, and for one that responded with both. */
    wasPage(url: Url): boolean | undefined {
      if (!find(url) || !isHere()) return undefined
      const kinds = (slots[slot] ?? 0) & KINDS
      return kinds === KINDS ? undefined : kinds === WAS_PAGE
    },
  }
}
