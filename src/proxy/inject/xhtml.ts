import { parseTag } from './html-tag.js'
import { foundAt, type HeadReader, MAX_TAG_BYTES, NOT_FOUND, notYet, type Search, type Step } from './search.js'

const NAMESPACE = 'http://www.w3.org/1999/xhtml'
/** What is not markup within it, and its end. */
const CLOSED: readonly (readonly [open: string, close: string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
]
/** Without an internal subset, which could declare anything. */
const DOCTYPE = /<!DOCTYPE(?:[^"'>[]|"[^"]*"|'[^']*')*([>[])/y

/** As an XML parser reads a document up to `</head>`, which in XML has to be written. */
export class XhtmlSearch implements Search {
  /** The end of what is not markup, where the text is part of such. */
  #until = ''
  /** Names of the elements that are open. */
  readonly #open: string[] = []
  #head = false

  constructor(readonly head: HeadReader) {}

  read(text: string, last: boolean): Step {
    if (last) return NOT_FOUND
    let at = 0
    for (;;) {
      if (this.#until !== '') {
        const end = text.indexOf(this.#until, at)
        if (end < 0) return notYet(Math.max(at, text.length - this.#until.length + 1))
        at = end + this.#until.length
        this.#until = ''
      }
      const next = text.indexOf('<', at)
      if (next < 0) return notYet(text.length)
      const step = this.#markup(text, next)
      if (typeof step !== 'number') return step
      at = step
    }
  }

  #markup(text: string, at: number): number | Step {
    for (const [open, close] of CLOSED) {
      if (text.startsWith(open, at)) {
        this.#until = close
        return at + open.length
      }
      if (text.length - at < open.length && open.startsWith(text.slice(at))) return notYet(at)
    }
    if (text[at + 1] === '!') {
      DOCTYPE.lastIndex = at
      const match = DOCTYPE.exec(text)
      if (match !== null) return match[1] === '[' ? NOT_FOUND : at + match[0].length
      return text.startsWith('<!DOCTYPE'.slice(0, text.length - at), at) ? notYet(at) : NOT_FOUND
    }
    const ending = text[at + 1] === '/'
    const tag = parseTag(text, at + (ending ? 2 : 1))
    if (tag === undefined) return notYet(at)
    if (tag.end - at > MAX_TAG_BYTES) return NOT_FOUND
    if (ending) {
      if (this.#open.pop() !== tag.name) return NOT_FOUND
      return this.#open.length === 1 && tag.name === 'head' ? foundAt(at) : tag.end
    }
    const depth = this.#open.length
    if (depth === 0 && (tag.name !== 'html' || tag.attributes.get('xmlns') !== NAMESPACE)) return NOT_FOUND
    // Only the first element may be the head, and only its children are.
    if (depth === 1 && (this.#head || tag.name !== 'head' || tag.closed)) return NOT_FOUND
    if (depth === 1) this.#head = true
    if (depth !== 1 && depth <= 2 && !this.head.allowsTag(tag.name, tag.attributes)) return NOT_FOUND
    if (!tag.closed) this.#open.push(tag.name)
    return tag.end
  }
}
