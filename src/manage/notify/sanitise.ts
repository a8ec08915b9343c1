const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** Makes text from outside safe for a line of a mail or a terminal: replaces control characters and limits its length. */
export const sanitiseLine = (text: string, longest = 120): string => {
  const safe = text.replace(UNSAFE_CHARACTERS, '?')
  return safe.length > longest ? `${safe.slice(0, longest - 3)}...` : safe
}
