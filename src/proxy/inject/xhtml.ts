import { type HeadReader, here, LONGEST, NEVER, notYet, type Search, type Step } from './search.js'
import { readTag } from './tag-reader.js'

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
    if (last) return NEVER
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
      if (match !== null) return match[1] === '[' ? NEVER : at + match[0].length
      return text.startsWith('<!DOCTYPE'.slice(0, text.length - at), at) ? notYet(at) : NEVER
    }
    const ending = text[at + 1] === '/'
    const tag = readTag(text, at + (ending ? 2 : 1))
    if (tag === undefined) return notYet(at)
    if (tag.end - at > LONGEST) return NEVER
    if (ending) {
      if (this.#open.pop() !== tag.name) return NEVER
      return this.#open.length === 1 && tag.name === 'head' ? here(at) : tag.end
    }
    const depth = this.#open.length
    if (depth === 0 && (tag.name !== 'html' || tag.attributes.get('xmlns') !== NAMESPACE)) return NEVER
    // Only the first element may be the head, and only its children are.
    if (depth === 1 && (this.#head || tag.name !== 'head' || tag.closed)) return NEVER
    if (depth === 1) this.#head = true
    if (depth !== 1 && depth <= 2 && !this.head.admits(tag.name, tag.attributes)) return NEVER
    if (!tag.closed) this.#open.push(tag.name)
    return tag.end
  }
}
