/** An inline link of Markdown. */
interface MarkdownLink {
  title: string
  /** As written, relative or absolute. */
  url: string
  /** Position after the link. */
  end: number
  /** True if title or URL has spaces or brackets that Markdown requires to be escaped. */
  unescaped?: true | undefined
}

const MAX_URL_CHARS = 2048
const MAX_TITLE_CHARS = 512

/**
 * Finds the inline links `[title](url)` of a line, also `[title](<url>)` and `[title](url "tip")`. Brackets in titles and
 * parentheses in URLs may be nested, and URLs may have unescaped spaces and brackets. Takes linear time for any input: a
 * title has at most 512 characters, a URL 2,048.
 */
export function findLinks(line: string): MarkdownLink[] {
  const links: MarkdownLink[] = []
  let from = 0
  for (let middle = line.indexOf(']('); middle >= 0; middle = line.indexOf('](', middle + 2)) {
    const { open, balanced } = findTitleStart(line, middle, Math.max(from, middle - MAX_TITLE_CHARS))
    const match =
      open < 0 ? undefined : (readDestination(line, middle + 2) ?? readUnescapedDestination(line, middle + 2))
    if (match === undefined) continue
    links.push({ title: line.slice(open + 1, middle).trim(), ...match, ...(!balanced && { unescaped: true }) })
    from = match.end
  }
  return links
}

/** Returns the position of the bracket that the one at `close` closes. If none does, returns the first one, or else -1. */
function findTitleStart(line: string, close: number, least: number): { open: number; balanced: boolean } {
  let depth = 0
  let open = -1
  for (let at = close - 1; at >= least; at--) {
    if (line[at - 1] === '\\') continue
    if (line[at] === ']') depth++
    else if (line[at] === '[') {
      open = at
      if (depth-- === 0) return { open, balanced: true }
    }
  }
  return { open, balanced: false }
}

/** Reads a URL up to its end. Returns undefined for a URL with brackets, so that no text is read twice for two links. */
function readDestination(line: string, start: number): { url: string; end: number } | undefined {
  let from = start
  while (line[from] === ' ') from++
  const most = Math.min(line.length, from + MAX_URL_CHARS)
  if (line[from] === '<') {
    for (let at = from + 1; at < most && line[at] !== '['; at++)
      if (line[at] === '>') return finishDestination(line, line.slice(from + 1, at), at + 1)
    return undefined
  }
  let depth = 0
  for (let at = from; at < most; at++) {
    const char = line[at]
    if (char === '[' || char === ']') return undefined
    if (char === '(') depth++
    else if (char === ' ' || char === '\t' || (char === ')' && depth-- === 0))
      return finishDestination(line, line.slice(from, at), at)
  }
  return undefined
}

/**
 * Reads a URL with spaces or brackets up to the parenthesis that closes the link, or else up to the first one. It ends
 * before `](`, where the next link may begin, so that no text is read twice for two links.
 */
function readUnescapedDestination(line: string, start: number): Omit<MarkdownLink, 'title'> | undefined {
  const next = line.indexOf('](', start)
  const most = Math.min(next < 0 ? line.length : next, start + MAX_URL_CHARS)
  let depth = 0
  let first = -1
  let close = -1
  for (let at = start; at < most && close < 0; at++) {
    if (line[at] === '(') depth++
    else if (line[at] === ')') {
      if (first < 0) first = at
      if (depth-- === 0) close = at
    }
  }
  if (close < 0) close = first
  if (close < 0) return undefined
  const text = line.slice(start, close).trim()
  const url = text
    .replace(/[ \t]("[^"]*"|'[^']*')$/, '')
    .replace(/^<(.*)>$/, '$1')
    .trim()
  if (url === '') return undefined
  return { url, end: close + 1, ...(/[\s[\]]/.test(url) && { unescaped: true }) }
}

function finishDestination(line: string, url: string, from: number): { url: string; end: number } | undefined {
  const tip = /^[ \t]{0,9}(?:"[^"[\]]{0,512}"|'[^'[\]]{0,512}')?[ \t]{0,9}\)/.exec(line.slice(from, from + 600))
  return tip === null || url === '' ? undefined : { url, end: from + tip[0].length }
}
