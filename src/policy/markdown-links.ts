/** An inline link of Markdown. */
interface MarkdownLink {
  title: string
  /** As written, relative or absolute. */
  url: string
  /** Position after the link. */
  end: number
}

const MAX_URL_CHARS = 2048
const MAX_TITLE_CHARS = 512

/**
 * Finds the inline links `[title](url)` of a line, also `[title](<url>)` and `[title](url "tip")`. Brackets in titles and
 * parentheses in URLs may be nested. Takes linear time for any input: a title has at most 512 characters, a URL 2,048.
 */
export function findLinks(line: string): MarkdownLink[] {
  const links: MarkdownLink[] = []
  let from = 0
  for (let middle = line.indexOf(']('); middle >= 0; middle = line.indexOf('](', middle + 2)) {
    const open = findTitleStart(line, middle, Math.max(from, middle - MAX_TITLE_CHARS))
    const found = open < 0 ? undefined : readDestination(line, middle + 2)
    if (found === undefined) continue
    links.push({ title: line.slice(open + 1, middle).trim(), ...found })
    from = found.end
  }
  return links
}

/** Returns the position of the bracket that the one at `close` closes, or -1. */
function findTitleStart(line: string, close: number, least: number): number {
  let depth = 0
  for (let at = close - 1; at >= least; at--) {
    const char = line[at]
    if (char === ']') depth++
    else if (char === '[' && depth-- === 0) return at
  }
  return -1
}

/** Reads a URL up to its end. A URL with brackets is refused, so that no text is read twice for two links. */
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

function finishDestination(line: string, url: string, from: number): { url: string; end: number } | undefined {
  const tip = /^[ \t]{0,9}(?:"[^"[\]]{0,512}"|'[^'[\]]{0,512}')?[ \t]{0,9}\)/.exec(line.slice(from, from + 600))
  return tip === null || url === '' ? undefined : { url, end: from + tip[0].length }
}
