const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** What a stranger wrote, for a line of plain text: nothing that a mail or a terminal would obey, and not long. */
export const sanitiseLine = (text: string, longest = 120): string => {
  const safe = text.replace(UNSAFE_CHARACTERS, '?')
  return safe.length > longest ? `${safe.slice(0, longest - 3)}...` : safe
}
