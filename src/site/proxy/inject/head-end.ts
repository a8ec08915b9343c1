import { parseTag } from '../../../base/html-tag.js'
import type { HeadInspector } from './head-inspector.js'

/** The state of a search. `passed`: bytes of the text that certainly precede the place, and need not be kept. */
export interface SearchStep {
  found: 'not yet' | 'here' | 'never'
  passed: number
}

/** Bytes of one tag: a tag is kept until it ends, and a longer one ends the search. */
export const MAX_TAG_BYTES = 16 * 1024

export const NOT_FOUND: SearchStep = { found: 'never', passed: 0 }
const notYet = (passed: number): SearchStep => ({ found: 'not yet', passed })

/** Start tags that do not end a head (HTML 13.2.6.4.4); any other one does, and so does text. */
const HEAD_ELEMENTS = new Set([
  'base',
  'basefont',
  'bgsound',
  'head',
  'html',
  'link',
  'meta',
  'noframes',
  'noscript',
  'script',
  'style',
  'template',
  'title',
])
/** End tags that end a head: its own, and those that imply it. */
const HEAD_END_TAGS = new Set(['body', 'br', 'head', 'html'])

/** Elements whose content is text up to their end tag, in a browser that runs scripts. */
const TEXT_ELEMENTS = ['noframes', 'noscript', 'style', 'title', 'iframe', 'noembed', 'textarea', 'xmp']
const END_OF: ReadonlyMap<string, RegExp> = new Map(
  TEXT_ELEMENTS.map((name) => [name, new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')]),
)
/** In a `<template>` these elements change the parser's rules: the search gives up. Templates in heads hardly have them. */
const UNSUPPORTED_IN_TEMPLATE = new Set(['math', 'plaintext', 'select', 'svg'])

/**
 * The ends of each state of a script's text (HTML 13.2.5.15 to 13.2.5.31). In a comment within the script, a `<script>`
 * hides the next `</script>`.
 */
const SCRIPT_STATE_ENDS = [
  /<!--|<\/script(?=[\t\n\f\r />])/gi,
  /-->|<\/script(?=[\t\n\f\r />])|<script(?=[\t\n\f\r />])/gi,
  /-->|<\/script(?=[\t\n\f\r />])/gi,
] as const

const SPACE = /[\t\n\f\r ]*/y
const COMMENT_END = /--!?>/g
const DOCTYPE = '<!doctype'
const COMMENT = '<!--'
const BOM = '\xef\xbb\xbf'

/**
 * Searches a document, as a browser that runs scripts reads it, for the end of its head, written or implied. The document
 * comes in parts.
 */
export class HeadEndSearch {
  /** The construct that has to end first: a comment, a bogus comment, or a text element by its name; empty in markup. */
  #construct = ''
  #script: 0 | 1 | 2 = 0
  #templates = 0
  #started = false
  /** The text is a document, not a fragment. */
  #isDocument = false

  constructor(readonly inspector: HeadInspector) {}

  /** Reads on. `text` is the rest that the last step did not pass, and everything since, as latin1; `last`: nothing follows. */
  read(text: string, last: boolean): SearchStep {
    let at = 0
    if (!this.#started) {
      if (!last && text.length < BOM.length && BOM.startsWith(text)) return notYet(0)
      this.#started = true
      if (text.startsWith(BOM)) at = BOM.length
    }
    for (;;) {
      if (this.#construct !== '') {
        const end = this.#leaveConstruct(text, at)
        if (end < 0) return notYet(~end)
        at = end
      }
      SPACE.lastIndex = at
      at += SPACE.exec(text)?.[0].length ?? 0
      if (at === text.length) return last ? this.#placeAt(at) : notYet(at)
      if (text[at] !== '<') {
        if (this.#templates === 0) return this.#placeAt(at)
        const next = text.indexOf('<', at)
        if (next < 0) return notYet(text.length)
        at = next
      }
      const step = this.#markup(text, at)
      if (typeof step !== 'number') return step
      at = step
    }
  }

  /** Reads from a `<`. Returns the position to read on from, or the final step. */
  #markup(text: string, at: number): number | SearchStep {
    const kind = text[at + 1]
    if (kind === undefined) return notYet(at)
    if (kind === '!') return this.#declaration(text, at)
    if (kind === '?') return this.#enterConstruct('bogus', at + 2)
    const letter = kind === '/' ? text[at + 2] : kind
    if (letter === undefined) return notYet(at)
    if (/[a-z]/i.test(letter)) return kind === '/' ? this.#endTag(text, at) : this.#startTag(text, at)
    if (kind === '/') return letter === '>' ? at + 3 : this.#enterConstruct('bogus', at + 2)
    return this.#templates > 0 ? at + 1 : this.#placeAt(at)
  }

  #declaration(text: string, at: number): number | SearchStep {
    const begin = text.slice(at, at + DOCTYPE.length).toLowerCase()
    if (begin.startsWith(COMMENT)) {
      const from = at + COMMENT.length
      const short = /^-?>/.exec(text.slice(from, from + 2))
      if (short !== null) return from + short[0].length
      if (text.length - from < 2) return notYet(at)
      return this.#enterConstruct('comment', from)
    }
    if (COMMENT.startsWith(begin) || (begin.length < DOCTYPE.length && DOCTYPE.startsWith(begin))) return notYet(at)
    if (begin === DOCTYPE) this.#isDocument = true
    return this.#enterConstruct('bogus', at + 2)
  }

  #endTag(text: string, at: number): number | SearchStep {
    const tag = parseTag(text, at + 2)
    if (tag === undefined) return notYet(at)
    if (tag.end - at > MAX_TAG_BYTES) return NOT_FOUND
    const name = tag.name.toLowerCase()
    if (this.#templates > 0) {
      if (name === 'template') this.#templates -= 1
    } else if (HEAD_END_TAGS.has(name)) return this.#placeAt(at)
    return tag.end
  }

  #startTag(text: string, at: number): number | SearchStep {
    const tag = parseTag(text, at + 1)
    if (tag === undefined) return notYet(at)
    if (tag.end - at > MAX_TAG_BYTES) return NOT_FOUND
    const name = tag.name.toLowerCase()
    if (this.#templates > 0) {
      if (UNSUPPORTED_IN_TEMPLATE.has(name)) return NOT_FOUND
    } else {
      if (!HEAD_ELEMENTS.has(name)) return this.#placeAt(at)
      if (name === 'html' || name === 'head') this.#isDocument = true
      if (!this.inspector.allowsTag(name, tag.attributes)) return NOT_FOUND
    }
    if (name === 'template') this.#templates += 1
    if (name === 'script') this.#script = 0
    return name === 'script' || END_OF.has(name) ? this.#enterConstruct(name, tag.end) : tag.end
  }

  #enterConstruct(what: string, at: number): number {
    this.#construct = what
    return at
  }

  /**
   * Returns the position where the current construct ends. If the end is not there yet, returns `~passed`, which keeps
   * enough text for the beginning of an end.
   */
  #leaveConstruct(text: string, at: number): number {
    if (this.#construct === 'script') return this.#leaveScript(text, at)
    const pattern =
      this.#construct === 'bogus' ? />/g : this.#construct === 'comment' ? COMMENT_END : END_OF.get(this.#construct)
    if (pattern === undefined) return ~text.length
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) {
      const kept =
        this.#construct === 'bogus' ? 0 : this.#construct === 'comment' ? '--!'.length : `</${this.#construct}`.length
      return ~Math.max(at, text.length - kept)
    }
    const isMarkup = this.#construct === 'bogus' || this.#construct === 'comment'
    this.#construct = ''
    return isMarkup ? match.index + match[0].length : match.index
  }

  #leaveScript(text: string, from: number): number {
    let at = from
    for (;;) {
      const pattern: RegExp = SCRIPT_STATE_ENDS[this.#script]
      pattern.lastIndex = at
      const match = pattern.exec(text)
      if (match === null) return ~Math.max(at, text.length - '</script'.length)
      const mark = match[0].toLowerCase()
      if (mark === '</script' && this.#script < 2) {
        this.#construct = ''
        return match.index
      }
      // The dashes that open a comment may also end it.
      at = mark === '<!--' ? match.index + 2 : match.index + mark.length
      this.#script = mark === '-->' ? 0 : mark === '<script' ? 2 : 1
    }
  }

  #placeAt(at: number): SearchStep {
    return this.#isDocument && this.#templates === 0 ? { found: 'here', passed: at } : NOT_FOUND
  }
}
