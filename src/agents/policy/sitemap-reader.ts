/** One `<url>` of a sitemap, or one `<sitemap>` of an index, with decoded text. */
export interface SitemapEntry {
  loc: string
  lastmod?: string
  /** True if the entry names another sitemap. */
  index: boolean
}

/** A longer `loc` or `lastmod` is ignored. */
const MAX_FIELD_CHARS = 4_096
/** Only the name of a tag and its final slash matter. */
const MAX_TAG_CHARS = 128

type ReaderState = 'start' | 'lines' | 'text' | 'tag' | 'cdata' | 'skip'

/** The sections of XML that are not elements: how each begins and ends, and how it is read. */
const SPECIAL_SECTIONS: readonly [opening: string, closing: string, state: ReaderState][] = [
  ['<![CDATA[', ']]>', 'cdata'],
  ['<!--', '-->', 'skip'],
  ['<?', '?>', 'skip'],
  ['<!', '>', 'skip'],
]

/**
 * Creates a streaming reader of sitemaps (sitemaps.org: urlset, sitemapindex, or one URL per line). It supports only the
 * XML that sitemaps need: no document types, no entities but the five of XML, no nesting. Takes linear time and stores
 * at most one entry. Skips malformed input.
 */
export function createSitemapReader(take: (entry: SitemapEntry) => void) {
  let state: ReaderState = 'start'
  let rest = ''
  let tag = ''
  let until = ''
  const entries = createEntryBuilder(take)

  const onLine = (line: string) => {
    const loc = line.trim()
    if (loc.length <= MAX_FIELD_CHARS && /^https?:\/\//i.test(loc)) take({ loc, index: false })
  }

  /** Takes one step through `rest`. Returns false if more input is needed. */
  const step = (): boolean => {
    if (state === 'start') {
      rest = rest.replace(/^[\s\uFEFF\0]+/, '')
      if (rest === '') return false
      state = rest.startsWith('<') ? 'text' : 'lines'
      return true
    }
    if (state === 'lines') {
      const lines = rest.split(/[\r\n]+/)
      rest = lines.pop() ?? ''
      for (const line of lines) onLine(line)
      if (rest.length > MAX_FIELD_CHARS) rest = rest.slice(0, MAX_FIELD_CHARS + 1)
      return false
    }
    if (state === 'text') {
      const at = rest.indexOf('<')
      entries.onText(at < 0 ? rest : rest.slice(0, at))
      rest = at < 0 ? '' : rest.slice(at)
      if (at < 0 || (rest.length < 9 && !rest.includes('>'))) return false
      const [opening, closing, next] = SPECIAL_SECTIONS.find(([opening]) => rest.startsWith(opening)) ?? [
        '<',
        '',
        'tag',
      ]
      rest = rest.slice(opening.length)
      state = next
      until = closing
      tag = ''
      return true
    }
    if (state === 'tag') {
      const at = rest.indexOf('>')
      tag += rest.slice(0, Math.min(at < 0 ? rest.length : at, MAX_TAG_CHARS - tag.length))
      rest = at < 0 ? '' : rest.slice(at + 1)
      if (at < 0) return false
      entries.onTag(tag)
      state = 'text'
      return true
    }
    const at = rest.indexOf(until)
    const cut = at < 0 ? Math.max(0, rest.length - until.length + 1) : at
    if (state === 'cdata') entries.onText(rest.slice(0, cut).replaceAll('&', '&amp;'))
    rest = rest.slice(at < 0 ? cut : at + until.length)
    if (at < 0) return false
    state = 'text'
    return true
  }

  return {
    write(text: string): void {
      rest += text
      while (step());
    },
    end(): void {
      if (state === 'lines') onLine(rest)
      else entries.end()
      rest = ''
    },
  }
}

/** Creates the part that makes entries of tags and of the text between them. */
function createEntryBuilder(take: (entry: SitemapEntry) => void) {
  let entry: { prefix: string; index: boolean; loc?: string; lastmod?: string } | undefined
  let field: 'loc' | 'lastmod' | undefined
  let collected = ''

  const end = () => {
    const { loc, lastmod, index } = entry ?? {}
    entry = undefined
    field = undefined
    if (loc === undefined || index === undefined) return
    take({ loc, index, ...(lastmod !== undefined && { lastmod }) })
  }

  const onText = (text: string) => {
    if (field !== undefined && collected.length <= MAX_FIELD_CHARS) collected += text
  }

  const onTag = (text: string) => {
    const [, slash, prefix = '', name = ''] = /^(\/?)(?:([\w.-]+):)?([\w.-]+)/.exec(text) ?? []
    const lower = name.toLowerCase()
    if (lower === 'url' || lower === 'sitemap') {
      // An entry that is not closed ends where the next one begins.
      if (entry?.loc !== undefined || slash !== '') end()
      if (slash === '') entry = { prefix, index: lower === 'sitemap' }
      return
    }
    // The prefixes must agree: `image:loc` is the address of an image.
    if ((lower !== 'loc' && lower !== 'lastmod') || entry === undefined || entry.prefix !== prefix) return
    if (slash === '') {
      field = lower
      collected = ''
    } else if (field === lower) {
      const text = decodeEntities(collected).trim()
      if (text !== '' && collected.length <= MAX_FIELD_CHARS) entry[lower] ??= text
      field = undefined
    }
  }

  return { onText, onTag, end }
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Decodes the five entities that XML has without a document type, and character references. */
const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return NAMED_ENTITIES[name] ?? all
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code <= 0x10ffff && code !== 0 ? String.fromCodePoint(code) : all
  })

/** Parses a W3C date (sitemaps.org: lastmod). A date without time is midnight UTC. Returns undefined for other text. */
export function parseLastmod(text: string): Date | undefined {
  const match =
    /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?)?)?$/.exec(text)
  if (!match) return undefined
  const [, year, month = '01', day = '01', time = '00:00', zone = 'Z'] = match
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone
  const at = new Date(`${year}-${month}-${day}T${time}${offset}`)
  return Number.isNaN(at.getTime()) ? undefined : at
}
