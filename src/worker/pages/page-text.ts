import { createHash } from 'node:crypto'
import { decodeReferences, parseTag } from '../../base/html-tag.js'
import { truncate } from '../../base/text-limits.js'

/** The text of a page as a program without scripts reads it, and facts about the page. */
export interface PageText {
  /** Digest of the title and the text without white space: markup, scripts and nonces do not change it. */
  digest: string
  /** Characters without white space. */
  text_length: number
  headings: number
  links: number
  lang: string | null
  canonical: string | null
  title: string | null
  first_line: string | null
}

/** Characters of a text that is kept. */
const MAX_KEPT_CHARACTERS = 200
/** Characters of an address that is kept. */
const MAX_ADDRESS_CHARACTERS = 2_000
const DIGEST_CHARACTERS = 22

const endOf = (name: string) => new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')
/** Elements whose content does not belong to the text. `noscript` holds what a browser with scripts does not show. */
const HIDDEN = ['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'noembed', 'noframes', 'textarea']
const HIDDEN_ENDS: ReadonlyMap<string, RegExp> = new Map(HIDDEN.map((name) => [name, endOf(name)]))
const TITLE_END = endOf('title')
/** Elements that do not end a line. */
const INLINE = new Set(
  'a abbr b bdi bdo cite code data del em font i ins kbd label mark q s small span strong sub sup time u var wbr'.split(
    ' ',
  ),
)
const COMMENT_END = /--!?>/g
const LETTER = /[a-z]/i
const HEADING = /^h[1-6]$/

/**
 * Reads the text of a page and facts about it. Takes linear time for any input, because each character is passed once: a
 * comment or a tag that does not end before the page does takes the rest of it, as in a browser.
 */
export function readPageText(html: string): PageText {
  let [text, headings, links] = ['', 0, 0]
  let [lang, canonical, title]: (string | undefined)[] = []

  /** Reads a tag, and the content of elements that have no text. Returns the position after it. */
  const readTag = (open: number, isEnd: boolean): number => {
    const tag = parseTag(html, open + (isEnd ? 2 : 1))
    if (tag === undefined) return html.length
    const { attributes, end } = tag
    const name = tag.name.toLowerCase()
    if (!INLINE.has(name)) text += '\n'
    if (isEnd) return end
    if (name.length === 2 && HEADING.test(name)) headings += 1
    if (name === 'a' && attributes.has('href')) links += 1
    if (name === 'html') lang ??= attributes.get('lang')
    if (name === 'link' && /(?:^|\s)canonical(?:\s|$)/i.test(attributes.get('rel') ?? ''))
      canonical ??= attributes.get('href')
    if (name === 'title') {
      const close = findEnd(html, TITLE_END, end)
      title ??= html.slice(end, close)
      return close
    }
    const isEmpty = name === 'svg' && html[end - 2] === '/'
    const hiddenEnd = isEmpty ? undefined : HIDDEN_ENDS.get(name)
    return hiddenEnd === undefined ? end : findEnd(html, hiddenEnd, end)
  }

  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at)
    text += html.slice(at, open < 0 ? html.length : open).replaceAll('\n', ' ')
    if (open < 0) break
    const [next, second] = [html.charAt(open + 1), html.charAt(open + 2)]
    if (LETTER.test(next) || (next === '/' && LETTER.test(second))) at = readTag(open, next === '/')
    else if (next === '!' || next === '?' || next === '/') at = skipDeclaration(html, open)
    else {
      text += '<'
      at = open + 1
    }
  }

  const plain = decode(text)
  const written = plain.replace(/\s+/g, '')
  const digest = createHash('sha256')
    .update(`${decode(title ?? '').trim()}\n${written}`)
    .digest('base64url')
  return {
    digest: digest.slice(0, DIGEST_CHARACTERS),
    text_length: written.length,
    headings,
    links,
    lang: keep(lang, MAX_KEPT_CHARACTERS),
    canonical: keep(canonical, MAX_ADDRESS_CHARACTERS),
    title: keep(title, MAX_KEPT_CHARACTERS),
    first_line: keep(/\S[^\n]*/.exec(plain)?.[0], MAX_KEPT_CHARACTERS),
  }
}

const decode = (text: string): string => decodeReferences(text.replace(/&nbsp;/g, ' '))

/** One line without control characters; null if nothing is left. */
function keep(text: string | undefined, limit: number): string | null {
  // References are longer than what they stand for; a page without an end to its title must not be decoded whole.
  const line = decode((text ?? '').slice(0, limit * 10))
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  return line === '' ? null : truncate(line, limit)
}

/** The position of the end tag, or of the page's end. */
function findEnd(html: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(html)?.index ?? html.length
}

/** Skips a comment, a document type or another `<!`, `<?` or `</` that begins no tag (HTML 13.2.5.41 to 13.2.5.53). */
function skipDeclaration(html: string, open: number): number {
  if (!html.startsWith('<!--', open)) {
    const close = html.indexOf('>', open + 2)
    return close < 0 ? html.length : close + 1
  }
  // The dashes that open a comment may also end it.
  COMMENT_END.lastIndex = open + 2
  const match = COMMENT_END.exec(html)
  return match === null ? html.length : match.index + match[0].length
}
