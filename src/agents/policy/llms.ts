import { canonicalPath } from './canonical.js'
import { findLinks } from './markdown-links.js'
import { createProblemList, type FileProblem } from './problems.js'

/** A link of llms.txt. */
interface LlmsLink {
  title: string
  /** Absolute, resolved against the file's URL. */
  url: string
  notes?: string
  /** True if the link leads to another hostname. */
  offsite: boolean
}

interface LlmsSection {
  /** Empty for links before the first heading. */
  name: string
  /** True for the section named `Optional`, which agents may skip if their context is short. */
  optional: boolean
  links: LlmsLink[]
}

/** A parsed llms.txt (llmstxt.org). */
export interface Llms {
  title?: string
  summary?: string
  sections: readonly LlmsSection[]
  /** The first 100. */
  problems: readonly FileProblem[]
  /** True if the file is longer than the 512 KiB, or has more than the 50,000 links, that are read. */
  truncated: boolean
}

const MAX_LLMS_BYTES = 512 * 1024
const MAX_LINKS = 50_000
const MAX_TEXT_CHARS = 2048

/**
 * Parses llms.txt as authors write it: several titles, several lines of summary, any bullet or none, headings below `##`,
 * links in sentences and bare URLs are all accepted. Departures from llmstxt.org are listed in `problems`. `url` is the
 * URL of the file. Links other than http and https are skipped. An HTML page gives a problem and nothing else.
 */
export function parseLlms(body: Uint8Array | string, url: string): Llms {
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, MAX_LLMS_BYTES + 1)) : body
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_LLMS_BYTES))
  const sections: LlmsSection[] = []
  const { problems, report } = createProblemList()
  let truncated = bytes.length > MAX_LLMS_BYTES
  if (/^\s{0,999}<(?:!doctype|html|head|body|\?xml)\b/i.test(text)) {
    report('this is HTML instead of Markdown: nothing is read')
    return { sections, problems, truncated }
  }
  if (truncated) report('longer than 512 KiB: the rest is not read')
  const base = URL.canParse(url) ? new URL(url) : new URL('https://unknown.invalid/llms.txt')
  const lines = text.split(/\r\n|\r|\n/)
  if (truncated) lines.pop()

  let title: string | undefined
  let fenced = false
  let links = 0
  const summary: string[] = []
  let quoting = false
  const openSection = (name: string): LlmsSection => {
    const section = { name, optional: name.toLowerCase() === 'optional', links: [] }
    sections.push(section)
    return section
  }
  const addLinks = (row: string, line: number) => {
    const item = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)$/.exec(row)
    const linksOfRow = linksOfLine(row)
    if (item && linksOfRow.length === 0 && sections.length > 0) report('a list item without a link', line)
    for (const { link, bare } of linksOfRow) {
      const resolved = resolveUrl(link.url, base)
      if (resolved === 'invalid') report('a link that is not a URL', line)
      if (typeof resolved === 'string') continue
      if (links === MAX_LINKS) {
        if (!truncated) report('more than 50,000 links: the rest is not read', line)
        truncated = true
        break
      }
      if (bare) report('a bare URL instead of [name](url)', line)
      if (link.unescaped) report('a link with unescaped spaces or brackets', line)
      if (sections.length === 0) report('a link before the first section', line)
      const section = sections.at(-1) ?? openSection('')
      const notes = linksOfRow.length === 1 && item ? notesAfter(row.slice(link.end)) : undefined
      const offsite = resolved.hostname !== base.hostname
      section.links.push({ title: link.title, url: resolved.href, ...(notes !== undefined && { notes }), offsite })
      links++
    }
  }

  for (const [index, row] of lines.entries()) {
    if (/^\s{0,3}(?:```|~~~)/.test(row)) fenced = !fenced
    if (fenced) continue
    const heading = /^(#{1,6})(?:\s+|(?<=^##)(?!#)|$)(.*)$/.exec(row)
    if (heading) {
      const name = (heading[2] ?? '').trim().slice(0, MAX_TEXT_CHARS)
      const depth = heading[1]?.length ?? 0
      if (depth === 1 && title === undefined && sections.length === 0) title = name
      else {
        if (depth === 1) report('a second title: read as a section', index + 1)
        if (depth <= 2) openSection(name)
      }
      continue
    }
    const quote = sections.length === 0 ? /^\s{0,3}>(.*)$/.exec(row) : null
    if (quote && (quoting || summary.length === 0)) summary.push((quote[1] ?? '').trim())
    quoting = quote !== null
    addLinks(row, index + 1)
  }
  if (title === undefined) report('no title: the first line should be "# name"')
  const joined = summary.join(' ').trim().slice(0, MAX_TEXT_CHARS)
  return {
    ...(title !== undefined && { title }),
    ...(joined !== '' && { summary: joined }),
    sections,
    problems,
    truncated,
  }
}

const notesAfter = (link: string): string | undefined =>
  /^\s*:\s*(\S.*)$/.exec(link)?.[1]?.trim().slice(0, MAX_TEXT_CHARS)

function linksOfLine(row: string) {
  const links = findLinks(row)
  if (links.length > 0) return links.map((link) => ({ link, bare: false }))
  const bare = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?<?(https?:\/\/[^\s<>]{1,2048})/i.exec(row)
  if (!bare?.[1]) return []
  return [{ link: { title: bare[1], url: bare[1], end: bare[0].length, unescaped: undefined }, bare: true }]
}

function resolveUrl(url: string, base: URL): URL | 'invalid' | 'other protocol' {
  if (!URL.canParse(url, base.href)) return 'invalid'
  const resolved = new URL(url, base)
  return resolved.protocol === 'https:' || resolved.protocol === 'http:' ? resolved : 'other protocol'
}

/**
 * Returns a function that tells whether a path and query is listed: linked itself, or its `.md` twin (`/a.md`, for a
 * directory also `/a/index.html.md`), or the path without its trailing slash. Both sides are compared in one
 * percent-encoding.
 */
export function createListing(llms: Llms): (target: string) => boolean {
  const listed = new Set<string>()
  for (const { links } of llms.sections)
    for (const { url, offsite } of links) {
      if (offsite) continue
      const { pathname, search } = new URL(url)
      listed.add(listingKey(pathname + search))
    }
  return (target) => {
    const text = listingKey(target)
    const mark = text.indexOf('?')
    const path = mark < 0 ? text : text.slice(0, mark)
    const query = mark < 0 ? '' : text.slice(mark)
    if (listed.has(text) || listed.has(`${path}.md${query}`)) return true
    if (!path.endsWith('/')) return false
    const page = path.slice(0, -1)
    return [`${path}index.html.md`, page, `${page}.md`].some((twin) => listed.has(twin + query))
  }
}

const listingKey = (target: string) => canonicalPath(target, 'rfc').text
