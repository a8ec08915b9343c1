/**
 * Undoes the escapes of nginx and Apache: `\"`, `\\`, the control characters of C, `\xHH`, whose bytes are UTF-8, and
 * JSON's `\uHHHH`. Any other backslash stays.
 */
export function unescapeField(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/(?:\\x[\dA-Fa-f]{2})+|\\u[\dA-Fa-f]{4}|\\[\\"'bfnrtv/]/g, (code) => {
    if (code[1] === 'x') return Buffer.from(code.replaceAll('\\x', ''), 'hex').toString()
    if (code[1] === 'u') return String.fromCharCode(Number.parseInt(code.slice(2), 16))
    return CONTROLS[code] ?? code.slice(1)
  })
}
const CONTROLS: Readonly<Record<string, string>> = {
  '\\b': '\b',
  '\\f': '\f',
  '\\n': '\n',
  '\\r': '\r',
  '\\t': '\t',
  '\\v': '\v',
}

/** Returns where a quoted field ends whose text begins at `start`; -1 if it has no end. A backslash escapes a quote. */
export function quoteEnd(line: string, start: number): number {
  for (let end = line.indexOf('"', start); ; end = line.indexOf('"', end + 1)) {
    if (end <= start || line.charCodeAt(end - 1) !== BACKSLASH) return end
    let slashes = 1
    while (end - slashes > start && line.charCodeAt(end - slashes - 1) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
}
const BACKSLASH = 92
