import { canonicalPath } from './canonical.js'
import { findLinks } from './markdown-links.js'

/** A link of llms.txt, resolved against the file's URL. */
interface LlmsLink {
  title: string
  /** Absolute. */
  url: string
  notes?: string
  /** Not on the file's own hostname. */
  offsite: boolean
}

interface LlmsSection {
  /** Empty for links that stand before the first heading. */
  name: string
  /** May be skipped where context is short: the section named `Optional`. */
  optional: boolean
  links: readonly LlmsLink[]
}

/** An llms.txt as parsed (llmstxt.org). */
export interface Llms {
  title?: string
  summary?: string
  sections: readonly LlmsSection[]
  /** The first 100. */
  problems: readonly { line?: number; problem: string }[]
  /** Longer than the 512 KiB, or with more than the 50,000 links, that are read. */
  truncated: boolean
}

const MAX_LLMS_BYTES = 512 * 1024
const MAX_LINKS = 50_000
const MAX_PROBLEMS = 100
const MAX_TEXT_CHARS = 2048

interface OpenSection extends LlmsSection {
  links: LlmsLink[]
}

/**
 * llms.txt read as its authors write it: more than one title, several lines of summary, any bullet or none, headings
 * below `##`, links in sentences, bare URLs are all taken, and what strays from llmstxt.org is in `problems`. `url` is
 * the file's own; links other than http and https are left out. HTML is no llms.txt: a problem, and nothing else.
 */
export function parseLlms(body: Uint8Array | string, url: string): Llms {
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, MAX_LLMS_BYTES + 1)) : body
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_LLMS_BYTES))
  const sections: OpenSection[] = []
  const problems: { line?: number; problem: string }[] = []
  const tell = (problem: string, line?: number) => {
    if (problems.length === MAX_PROBLEMS) problems.push({ problem: 'more problems, not listed' })
    if (problems.length < MAX_PROBLEMS) problems.push({ ...(line !== undefined && { line }), problem })
  }
  let truncated = bytes.length > MAX_LLMS_BYTES
  if (/^\s{0,999}<(?:!doctype|html|head|body|\?xml)\b/i.test(text)) {
    tell('HTML stands here instead of Markdown: nothing is read')
    return { sections, problems, truncated }
  }
  if (truncated) tell('longer than 512 KiB: what stands beyond is not read')
  const base = URL.canParse(url) ? new URL(url) : new URL('https://unknown.invalid/llms.txt')
  const lines = text.split(/\r\n|\r|\n/)
  if (truncated) lines.pop()

  let title: string | undefined
  let section: OpenSection | undefined
  let fenced = false
  let links = 0
  const summary: string[] = []
  let quoting = false
  for (const [index, row] of lines.entries()) {
    const line = index + 1
    if (/^\s{0,3}(?:```|~~~)/.test(row)) fenced = !fenced
    if (fenced) continue
    const heading = /^(#{1,6})(?:\s+|(?<=^##)(?!#)|$)(.*)$/.exec(row)
    if (heading) {
      const name = (heading[2] ?? '').trim().slice(0, MAX_TEXT_CHARS)
      const depth = heading[1]?.length ?? 0
      if (depth === 1 && title === undefined && section === undefined) {
        title = name
        continue
      }
      if (depth === 1) tell('a second title: read as a section', line)
      if (depth > 2) continue
      section = { name, optional: name.toLowerCase() === 'optional', links: [] }
      sections.push(section)
      continue
    }
    const quote = section === undefined ? /^\s{0,3}>(.*)$/.exec(row) : null
    if (quote && (quoting || summary.length === 0)) summary.push((quote[1] ?? '').trim())
    quoting = quote !== null
    const item = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)$/.exec(row)
    const found = [...linksOfLine(row)]
    if (item && found.length === 0 && section !== undefined) tell('a list item without a link', line)
    for (const { link, bare } of found) {
      const resolved = resolveUrl(link.url, base)
      if (resolved === 'not a URL') tell('a link to no URL', line)
      if (typeof resolved === 'string') continue
      if (links === MAX_LINKS) {
        if (!truncated) tell('more than 50,000 links: those from here on are not read', line)
        truncated = true
        break
      }
      if (bare) tell('a bare URL instead of [name](url)', line)
      if (section === undefined) {
        tell('a link before the first section', line)
        section = { name: '', optional: false, links: [] }
        sections.push(section)
      }
      const notes = found.length === 1 && item ? /^\s*:\s*(\S.*)$/.exec(row.slice(link.end))?.[1] : undefined
      section.links.push({
        title: link.title,
        url: resolved.href,
        ...(notes !== undefined && { notes: notes.trim().slice(0, MAX_TEXT_CHARS) }),
        offsite: resolved.hostname !== base.hostname,
      })
      links++
    }
  }
  if (title === undefined) tell('no title: the first line should be "# name"')
  const said = summary.join(' ').trim().slice(0, MAX_TEXT_CHARS)
  return {
    ...(title !== undefined && { title }),
    ...(said !== '' && { summary: said }),
    sections,
    problems,
    truncated,
  }
}

function* linksOfLine(row: string) {
  const links = findLinks(row)
  for (const link of links) yield { link, bare: false }
  if (links.length > 0) return
  const bare = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?<?(https?:\/\/[^\s<>]{1,2048})/i.exec(row)
  if (bare?.[1]) yield { link: { title: bare[1], url: bare[1], end: bare[0].length }, bare: true }
}

function resolveUrl(url: string, base: URL): URL | 'not a URL' | 'elsewhere' {
  if (!URL.canParse(url, base.href)) return 'not a URL'
  const resolved = new URL(url, base)
  if (resolved.protocol !== 'https:' && resolved.protocol !== 'http:') return 'elsewhere'
  return resolved
}

/**
 * Whether a path and query is listed (contract 3): linked itself, or its `.md` twin (`/a.md`, for a directory also
 * `/a/index.html.md`), or it without its trailing slash. Looked up in a set, in one percent-encoding for both sides.
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
