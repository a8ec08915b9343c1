/** A start or end tag as an HTML parser reads it (HTML 13.2.5.6 to 13.2.5.40). */
interface HtmlTag {
  /** As written. */
  name: string
  /** By lower-case name; of duplicates the first counts. Values as written, character references included. */
  attributes: ReadonlyMap<string, string>
  /** Position after its `>`. */
  end: number
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map()
const NAME = /[^\t\n\f\r />]*/y
const SPACE = /[\t\n\f\r ]*/y
const BETWEEN = /[\t\n\f\r /]*/y
const ATTRIBUTE = /[^\t\n\f\r />][^\t\n\f\r />=]*/y
const UNQUOTED = /[^\t\n\f\r >]*/y

/** Parses the tag whose name begins at `from`. Returns undefined if the text ends before the tag does. */
export function parseTag(text: string, from: number): HtmlTag | undefined {
  const name = matchAt(NAME, text, from)
  let at = from + name.length
  if (text[at] === '>') return { name, attributes: NO_ATTRIBUTES, end: at + 1 }
  const attributes = new Map<string, string>()
  for (;;) {
    at += matchAt(BETWEEN, text, at).length
    if (at >= text.length) return undefined
    if (text[at] === '>') return { name, attributes, end: at + 1 }
    const key = matchAt(ATTRIBUTE, text, at).toLowerCase()
    at += key.length
    at += matchAt(SPACE, text, at).length
    let value = ''
    if (text[at] === '=') {
      at += 1
      at += matchAt(SPACE, text, at).length
      const quote = text[at]
      if (quote === '"' || quote === "'") {
        const close = text.indexOf(quote, at + 1)
        if (close < 0) return undefined
        value = text.slice(at + 1, close)
        at = close + 1
      } else {
        value = matchAt(UNQUOTED, text, at)
        at += value.length
      }
    }
    if (!attributes.has(key)) attributes.set(key, value)
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

const NAMED_REFERENCES: Readonly<Record<string, string>> = { amp: '&', apos: "'", gt: '>', lt: '<', quot: '"' }

/** Decodes the character references that a policy or an address is written with. */
export const decodeReferences = (value: string): string =>
  value.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|apos|gt|lt|quot));?/gi, (whole, hex, decimal, name) => {
    const named = NAMED_REFERENCES[String(name).toLowerCase()]
    if (named !== undefined) return named
    const point = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
