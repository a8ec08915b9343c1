import type { PageCounts } from '../../analytics/query/counted-pages.js'
import { UnusableSetting } from '../../base/errors.js'
import { createCsvReader } from './csv.js'
import { decodeText, type ExportFile } from './files.js'
import { TOOL_NAMES, type Tool } from './formats.js'
import { type ReadFile, startFile } from './read-file.js'
import { parseCount, parseDate } from './values.js'

/** The pages of an export, and the days that all of its numbers are of. */
export interface CollectedPages {
  readonly first_day: string
  readonly last_day: string
  readonly rows: readonly PageCounts[]
}

/** The days that an export is of, if its files do not say them. */
export interface Period {
  readonly first: string
  readonly last: string
}

type Figure = 'citations' | 'clicks' | 'impressions'

interface PagesFormat {
  readonly tool: Tool
  readonly title: string
  readonly page: string
  readonly figures: readonly Figure[]
  /** Columns that are not read. */
  readonly others: readonly string[]
}

/** Tables of pages, with the names of their columns in lower case. A table by `date` of the same figures says the days. */
const FORMATS: readonly PagesFormat[] = [
  {
    ...{ tool: 'bing', title: 'Bing Webmaster Tools, AI Performance by page', page: 'page' },
    ...{ figures: ['citations'], others: ['citation share'] },
  },
  {
    ...{ tool: 'search-console', title: 'Search Console, performance by page', page: 'top pages' },
    ...{ figures: ['clicks', 'impressions'], others: ['ctr', 'position'] },
  },
]
const MAX_PATH_CHARS = 2_048

/** Reads tables of pages from the files of one export. */
export function createPageExports(tool: Tool | undefined, period: Period | undefined) {
  const formats = FORMATS.filter((format) => tool === undefined || format.tool === tool)
  const pages = new Map<string, PageCounts>()
  const days: string[] = []
  let table: string | undefined

  const readPages = (file: ExportFile, names: readonly string[], rows: readonly (readonly string[])[]): ReadFile => {
    const format = findFormat(formats, file, names)
    if (table !== undefined)
      throw new UnusableSetting(`${file.name}: ${table} has pages too. Add one export at a time.`)
    table = file.name
    const columns = names.map((name) => name.toLowerCase())
    const read = startFile(file, format, `columns ${columns.join(', ')}`)
    for (const row of rows) {
      read.rows += 1
      const counts = format.figures.map((figure) => [figure, parseCount(row[columns.indexOf(figure)] ?? '')] as const)
      const text = row[columns.indexOf(format.page)] ?? ''
      const { hostname, pathname } = isUrl(text) ? new URL(text) : { hostname: '', pathname: '' }
      if (hostname === '' || pathname.length > MAX_PATH_CHARS || counts.some(([, count]) => count === undefined)) {
        read.broken += 1
        continue
      }
      // One page has several addresses: with http and https, or with a query.
      const sum = { ...(pages.get(hostname + pathname) ?? { ...NO_COUNTS, hostname, pathname }) }
      for (const [figure, count = 0] of counts) sum[figure] = (sum[figure] ?? 0) + count
      pages.set(hostname + pathname, sum)
    }
    return read
  }

  return {
    /** Reads a file; undefined if it has neither pages nor days. Throws `UnusableSetting` if a column is not known. */
    async read(file: ExportFile): Promise<ReadFile | undefined> {
      const rows = await readRows(file)
      const [names = [], first = []] = rows
      const columns = names.map((name) => name.toLowerCase())
      if (columns[0] === 'filter' && columns[1] === 'value') checkFilters(file, rows.slice(1))
      const dated =
        columns[0] === 'date' && formats.find(({ figures }) => figures.every((one) => columns.includes(one)))
      if (dated) {
        days.push(...rows.slice(1).flatMap(([text = '']) => readDay(text) ?? []))
        const info = { tool: dated.tool, title: `${TOOL_NAMES[dated.tool]}, the days of the export` }
        return { ...startFile(file, info, `columns ${columns.join(', ')}`), rows: rows.length - 1 }
      }
      const isTable = isUrl(first[0] ?? '') || formats.some(({ page }) => page === columns[0])
      return isTable ? readPages(file, names, rows.slice(1)) : undefined
    },
    /** Returns the pages; undefined if no file has any. Throws `UnusableSetting` if their days are not known. */
    finish(): CollectedPages | undefined {
      if (pages.size === 0) return undefined
      const named = days.toSorted()
      const { first = named[0], last = named.at(-1) } = period ?? {}
      if (first === undefined || last === undefined)
        throw new UnusableSetting(
          `${table} does not say which days its numbers are of: name them with --period 2026-08-01..2026-10-31, or add the export's file by date beside it.`,
        )
      return { first_day: first, last_day: last, rows: [...pages.values()] }
    },
  }
}

const NO_COUNTS = { citations: null, clicks: null, impressions: null }

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/** Finds the format of a table of pages. Throws `UnusableSetting` for a column that none has, such as a translated one. */
function findFormat(formats: readonly PagesFormat[], file: ExportFile, names: readonly string[]): PagesFormat {
  const columns = names.map((name) => name.toLowerCase())
  const format = formats.find(({ page }) => columns[0] === page)
  const known = format ? [format.page, ...format.figures, ...format.others] : []
  const unknown = names.find((name) => !known.includes(name.toLowerCase()))
  const missing = format?.figures.find((figure) => !columns.includes(figure))
  if (format && unknown === undefined && missing === undefined) return format
  const fault = unknown === undefined ? `Column ‘${missing}’ is missing` : `Column ‘${unknown}’ is not known`
  throw new UnusableSetting(`${file.name}: ${fault}. Nothing was imported. Columns must have their English names.`)
}

/** Refuses an export of a part of the searches: its numbers are not those of the pages. */
function checkFilters(file: ExportFile, rows: readonly (readonly string[])[]): void {
  for (const [name = '', value = ''] of rows)
    if (!/^date$/i.test(name) && !(/^search type$/i.test(name) && /^web$/i.test(value)))
      throw new UnusableSetting(
        `${file.name}: the export has a part only (${name}: ${value}). Export it without filters.`,
      )
}

/** Parses a day as the exports write it: `2026-11-21`, or `11/21/2026 12:00:00 AM`. */
function readDay(text: string): string | undefined {
  const [, month = '', day = '', year] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})( 12:00:00 AM)?$/.exec(text) ?? []
  return parseDate(year === undefined ? text : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)
}

/** The exports have at most a thousand pages. */
const MAX_CHARS = 20_000_000

/** Reads a whole table without its empty rows; no row if the file has no table or is too long. */
async function readRows(file: ExportFile): Promise<string[][]> {
  let text = ''
  for await (const piece of decodeText(file)) {
    text += piece
    if (text.length > MAX_CHARS) return []
  }
  const [line = ''] = text.split('\n', 1)
  try {
    const rows = createCsvReader([';', '\t'].find((one) => line.includes(one)) ?? ',').push(text, true)
    return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some((cell) => cell !== ''))
  } catch {
    return []
  }
}
