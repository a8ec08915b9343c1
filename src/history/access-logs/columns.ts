import { decodePercent } from './json.js'
import { defineFormat, type LogEntry, type LogParser } from './log-format.js'
import { assembleEntry, type RawFields } from './raw-fields.js'
import { createTimeTextReader } from './time-text.js'

/** W3C Extended Log File Format: IIS, and whatever else says its `#Fields`. Its times are UTC by definition. */
export const W3C = defineFormat({
  name: 'w3c',
  title: 'W3C extended (IIS and others)',
  traits: 'have the columns of a #Fields line before them',
  createParser: () => createColumnParser({ columns: undefined, isCloudFront: false }),
})

/** CloudFront's standard log, with its #Fields or without, as logging v2 writes it in the format `plain`. */
export const CLOUDFRONT = defineFormat({
  name: 'cloudfront',
  title: 'CloudFront standard log',
  traits: 'have the columns of CloudFront, separated by tabs',
  createParser: () => createColumnParser({ columns: CLOUDFRONT_COLUMNS, isCloudFront: true }),
})

/** The order of the legacy standard log, which v2 has by default. */
const CLOUDFRONT_COLUMNS =
  'date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for'.split(
    ' ',
  )

function createColumnParser(options: { columns: readonly string[] | undefined; isCloudFront: boolean }): LogParser {
  const { isCloudFront } = options
  const readTime = createTimeTextReader()
  let columns = options.columns?.map(lowerCase)
  let date = ''
  let checked: { columns: readonly string[]; usable: boolean } | undefined
  const isUsable = (own: readonly string[]): boolean => {
    if (checked?.columns !== own) {
      const usable = missingColumns(own).length === 0 && own.some((name) => name.startsWith('x-edge-')) === isCloudFront
      checked = { columns: own, usable }
    }
    return checked.usable
  }
  return (line) => {
    if (line.startsWith('#')) {
      if (line.startsWith('#Date:')) date = line.slice(6).trim().slice(0, 10)
      if (line.startsWith('#Fields:')) columns = readFieldNames(line)
      return 'skip'
    }
    const separator = line.includes('\t') ? '\t' : ' '
    if (line.startsWith(`date${separator}time`) || line.startsWith(`timestamp${separator}`)) {
      columns = line.split(separator).map(lowerCase)
      return 'skip'
    }
    if (columns === undefined || !isUsable(columns)) return undefined
    if (isCloudFront && separator !== '\t') return undefined
    const values = line.split(separator)
    if (values.length < Math.min(columns.length, MIN_VALUES)) return undefined
    const fields = new Map(columns.map((name, i) => [name, values[i]]))
    const epoch = fields.get('timestamp(ms)') ?? fields.get('timestamp')
    return readColumns(fields, {
      time: readTime(epoch ?? `${fields.get('date') ?? date} ${fields.get('time') ?? ''}`),
      unit: fields.get('time-taken')?.includes('.') ? 1000 : 1,
      decode: isCloudFront ? decodePercent : decodePlus,
    })
  }
}
/** A line with fewer columns was cut. Columns after these have nothing that is read. */
const MIN_VALUES = 12

/** Columns without which a line says nothing, each with the other names that it may have. */
const NEEDED: readonly (readonly [string, ...string[]])[] = [
  ['time', 'timestamp', 'timestamp(ms)'],
  ['cs-uri-stem', 'cs-uri'],
  ['sc-status'],
]

const readFieldNames = (header: string): string[] => header.slice(8).trim().split(/\s+/).map(lowerCase)

const missingColumns = (columns: readonly string[]): string[] =>
  NEEDED.flatMap((names) => (names.some((name) => columns.includes(name)) ? [] : [names[0]]))

/** Returns the needed columns that the `#Fields` of these lines lack; empty if they have all or name no columns. */
export function findMissingColumns(lines: readonly string[]): string[] {
  const header = lines.find((line) => line.startsWith('#Fields:'))
  return header === undefined ? [] : missingColumns(readFieldNames(header))
}

const lowerCase = (name: string): string => name.toLowerCase()

interface ColumnRules {
  readonly time: number
  /** Milliseconds of one unit of `time-taken`: IIS writes milliseconds, others seconds with a fraction. */
  readonly unit: number
  readonly decode: (text: string | undefined) => string | undefined
}

function readColumns(fields: ReadonlyMap<string, string | undefined>, rules: ColumnRules): LogEntry | undefined {
  const taken = Number(fields.get('time-taken') || Number.NaN)
  const raw: RawFields = {
    time: rules.time,
    address: fields.get('c-ip') ?? fields.get('c-dns'),
    // An own column of IIS, or CloudFront's, where the client is the viewer already.
    forwarded: fields.get('cs(x-forwarded-for)') ?? fields.get('x-forwarded-for'),
    host: fields.get('x-host-header') ?? fields.get('cs-host') ?? fields.get('cs(host)'),
    method: fields.get('cs-method'),
    target: fields.get('cs-uri-stem') ?? fields.get('cs-uri'),
    query: fields.get('cs-uri-query'),
    status: fields.get('sc-status'),
    bytes: fields.get('sc-bytes'),
    referrer: rules.decode(fields.get('cs(referer)')),
    userAgent: rules.decode(fields.get('cs(user-agent)')),
    durationMs: Number.isNaN(taken) ? undefined : Math.round(taken * rules.unit),
    contentType: fields.get('sc-content-type') ?? fields.get('sc(content-type)'),
  }
  return raw.target === undefined ? undefined : assembleEntry(raw)
}

/** IIS writes spaces as `+`. A plus before a URL is one: `(compatible;+Googlebot/2.1;++http://…)`. */
const decodePlus = (text: string | undefined): string | undefined => text?.replace(/\+(?!https?:)/g, ' ')
