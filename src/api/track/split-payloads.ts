/** A batch begins as an array, or as an object whose first member is the array `events`. */
const BATCH_START = /^\ufeff?\s*(?:\[|\{\s*"events"\s*:\s*\[)/

/**
 * Splits the text of a batch into the texts of its payloads, one by one, without parsing them: so a payload that is not
 * JSON, or far too large, costs no other one, and the caller may do other work in between. Yields undefined for a text that
 * is not a batch.
 */
export function* splitPayloads(text: string): Generator<string | undefined> {
  const start = BATCH_START.exec(text)?.[0].length
  if (start === undefined) return yield undefined
  let from = start
  while (from < text.length) {
    const end = findPayloadEnd(text, from)
    const payload = text.slice(from, end).trim()
    const isLast = text[end] !== ','
    // An empty array has no payload.
    if (payload !== '' || !isLast || from !== start) yield payload
    if (isLast) return
    from = end + 1
  }
}

const [QUOTE, COMMA, OPEN, BACKSLASH, CLOSE, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d]

/** The index of the comma or bracket that ends the payload, outside its texts and brackets. */
function findPayloadEnd(text: string, from: number): number {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = findTextEnd(text, i)
    else if (code === OPEN || code === OPEN_BRACE) depth++
    else if (depth === 0 && (code === COMMA || code === CLOSE)) return i
    else if (code === CLOSE || code === CLOSE_BRACE) depth--
  }
  return text.length
}

/** The index of the quote that ends a text. */
function findTextEnd(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === BACKSLASH) i++
    else if (code === QUOTE) return i
  }
  return text.length
}
