/** One `<url>` of a sitemap, or one `<sitemap>` of an index; text as it stands there, decoded. */
export interface SitemapEntry {
  loc: string
  lastmod?: string
  /** It names another sitemap. */
  index: boolean
}

/** Reads one sitemap, part by part. */
interface SitemapReader {
  write(text: string): void
  end(): void
}

/** Characters of a `loc` or `lastmod`: a longer one is none. */
const MAX_FIELD_CHARS = 4_096
/** Of a tag only its name is of interest, and its slash at the end. */
const MAX_TAG_CHARS = 128

type ReaderState = 'start' | 'lines' | 'text' | 'tag' | 'cdata' | 'skip'

/**
 * A reader of sitemaps (sitemaps.org: urlset, sitemapindex, or one URL a line) that knows of XML only what they need: no
 * document type is read, no entity but the five of XML itself is replaced, nothing is nested. It takes time linear in
 * what it is given and keeps no more than one entry. What is malformed is passed over.
 */
export function createSitemapReader(take: (entry: SitemapEntry) => void): SitemapReader {
  let mode: ReaderState = 'start'
  let rest = ''
  let tag = ''
  let until = ''
  let entry: { prefix: string; index: boolean; loc?: string; lastmod?: string } | undefined
  let field: 'loc' | 'lastmod' | undefined
  let collected = ''

  const emit = () => {
    const { loc, lastmod, index } = entry ?? {}
    entry = undefined
    field = undefined
    if (loc === undefined || index === undefined) return
    take({ loc, index, ...(lastmod === undefined ? {} : { lastmod }) })
  }

  const collect = (text: string) => {
    if (field !== undefined && collected.length <= MAX_FIELD_CHARS) collected += text
  }

  const onTag = (text: string) => {
    const [, slash, prefix = '', name = ''] = /^(\/?)(?:([\w.-]+):)?([\w.-]+)/.exec(text) ?? []
    const lower = name.toLowerCase()
    if (lower === 'url' || lower === 'sitemap') {
      // One that was never closed ends where the next begins.
      if (entry?.loc !== undefined || slash !== '') emit()
      if (slash === '') entry = { prefix, index: lower === 'sitemap' }
      return
    }
    // `image:loc` is the address of an image.
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

  /** One step through `rest`; false: more is needed. */
  const step = (): boolean => {
    if (mode === 'start') {
      rest = rest.replace(/^[\s\uFEFF\0]+/, '')
      if (rest === '') return false
      mode = rest.startsWith('<') ? 'text' : 'lines'
      return true
    }
    if (mode === 'lines') {
      const lines = rest.split(/[\r\n]+/)
      rest = lines.pop() ?? ''
      for (const line of lines) onLine(line)
      // A line that never ends is none.
      if (rest.length > MAX_FIELD_CHARS) rest = rest.slice(0, MAX_FIELD_CHARS + 1)
      return false
    }
    if (mode === 'text') {
      const at = rest.indexOf('<')
      collect(at < 0 ? rest : rest.slice(0, at))
      rest = at < 0 ? '' : rest.slice(at)
      if (at < 0 || (rest.length < 9 && !rest.includes('>'))) return false
      const [opening, closing, next] = SPECIAL_SECTIONS.find(([opening]) => rest.startsWith(opening)) ?? [
        '<',
        '',
        'tag',
      ]
      rest = rest.slice(opening.length)
      mode = next
      until = closing
      tag = ''
      return true
    }
    if (mode === 'tag') {
      const at = rest.indexOf('>')
      tag += rest.slice(0, Math.min(at < 0 ? rest.length : at, MAX_TAG_CHARS - tag.length))
      rest = at < 0 ? '' : rest.slice(at + 1)
      if (at < 0) return false
      onTag(tag)
      mode = 'text'
      return true
    }
    const at = rest.indexOf(until)
    const cut = at < 0 ? Math.max(0, rest.length - until.length + 1) : at
    if (mode === 'cdata') collect(rest.slice(0, cut).replaceAll('&', '&amp;'))
    rest = rest.slice(at < 0 ? cut : at + until.length)
    if (at < 0) return false
    mode = 'text'
    return true
  }

  const onLine = (line: string) => {
    const loc = line.trim()
    if (loc.length <= MAX_FIELD_CHARS && /^https?:\/\//i.test(loc)) take({ loc, index: false })
  }

  return {
    write(text) {
      rest += text
      while (step());
    },
    end() {
      if (mode === 'lines') onLine(rest)
      else emit()
      rest = ''
    },
  }
}

/** What stands between `<` and what is no element, with what ends it. */
const SPECIAL_SECTIONS: readonly [opening: string, closing: string, mode: ReaderState][] = [
  ['<![CDATA[', ']]>', 'cdata'],
  ['<!--', '-->', 'skip'],
  ['<?', '?>', 'skip'],
  ['<!', '>', 'skip'],
]

const NAMED_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The five entities that XML has without a document type, and character references. */
const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return NAMED_ENTITIES[name] ?? all
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code <= 0x10ffff && code !== 0 ? String.fromCodePoint(code) : all
  })

/** A W3C date (sitemaps.org: lastmod) as an instant, a date alone as its midnight in UTC; undefined where it is none. */
export function parseLastmod(text: string): Date | undefined {
  const match =
    /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?)?)?$/.exec(text)
  if (!match) return undefined
  const [, year, month = '01', day = '01', time = '00:00', zone = 'Z'] = match
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone
  const at = new Date(`${year}-${month}-${day}T${time}${offset}`)
  return Number.isNaN(at.getTime()) ? undefined : at
}
