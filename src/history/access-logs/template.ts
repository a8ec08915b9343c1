import { UnusableSetting } from '../../base/errors.js'
import { timeOfDay } from './clf-time.js'
import { quoteEnd, unescapeField } from './escapes.js'
import { defineFormat, type LogFormat, type LogParser, type ParserOptions } from './log-format.js'
import { assembleEntry, type RawFields } from './raw-fields.js'
import { createTimeTextReader, createZone, offsetOf, readDate } from './time-text.js'

/** A line's fields while it is read. Times come in one piece or in several. */
export interface TemplateFields extends RawFields {
  /** A time in any usual notation. */
  timeText?: string
  /** In milliseconds, of the day or within the day. */
  dateTime?: number
  dayTime?: number
  /** Year, month from 1, day, hour, minute, second. */
  parts?: [number, number, number, number, number, number]
  fraction?: number
  offset?: number
}

/** A place of a format where lines differ. */
export interface Slot {
  /** As the operator wrote it, and where, for error messages. */
  readonly source: string
  readonly at: number
  readonly read: (fields: TemplateFields, text: string) => void
  /** Characters, if their number is fixed; else the slot ends where the text after it begins. */
  readonly width?: number
  /** The slot ends at this character, for two slots with nothing between. */
  readonly endsBefore?: string
  /** Lists of nginx have a comma and a space, or a colon between spaces, which may be the text after the slot as well. */
  readonly isList?: boolean
  /** Characters that a list of addresses consists of, besides those of addresses. */
  readonly delimiters?: string
}

/** Text between slots stands for itself. */
export type TemplateElement = string | Slot

/** Makes a format of the elements. Throws `UnusableSetting` if lines could not be read with it. */
export function createTemplateFormat(all: readonly TemplateElement[]): LogFormat {
  const elements = joinTexts(all)
  for (const [i, element] of elements.entries()) {
    const next = elements[i + 1]
    if (typeof element === 'string' || typeof next === 'string' || next === undefined) continue
    if (element.width === undefined && element.endsBefore === undefined)
      throw formatFault(next, `nothing stands between ${element.source} and ${next.source}`)
  }
  checkFields(elements)
  return defineFormat({
    name: 'custom',
    title: 'the given format',
    traits: 'have the given format',
    createParser: (options) => createTemplateParser(elements, options),
  })
}

/** Reads every slot once to see which fields there are. */
function checkFields(elements: readonly TemplateElement[]): void {
  const fields: TemplateFields = {}
  for (const element of elements) if (typeof element !== 'string') element.read(fields, '1')
  const { time, timeText, dayTime, parts, request, method, target } = fields
  if (time === undefined && timeText === undefined && dayTime === undefined && parts === undefined)
    throw new UnusableSetting('log format: has no time, such as $time_local, %t or %x')
  if (request === undefined && method === undefined && target === undefined)
    throw new UnusableSetting('log format: has no request, such as $request or %r')
}

/** An error that names the place, counted from 1. */
export function formatFault({ source, at }: { source: string; at: number }, problem: string): UnusableSetting {
  return new UnusableSetting(`log format: at character ${at + 1}, ${source}: ${problem}`)
}

function joinTexts(elements: readonly TemplateElement[]): TemplateElement[] {
  const joined: TemplateElement[] = []
  for (const element of elements) {
    const last = joined.at(-1)
    if (typeof element === 'string' && typeof last === 'string') joined[joined.length - 1] = last + element
    else if (element !== '') joined.push(element)
  }
  return joined
}

function createTemplateParser(elements: readonly TemplateElement[], { zone }: ParserOptions): LogParser {
  const readTime = createTimeTextReader(zone)
  const toUtc = createZone(zone)
  return (line) => {
    const fields: TemplateFields = {}
    let at = 0
    for (const [i, element] of elements.entries()) {
      if (typeof element === 'string') {
        if (!line.startsWith(element, at)) return undefined
        at += element.length
        continue
      }
      const end = slotEnd(line, at, element, elements[i + 1])
      if (end < at || end > line.length) return undefined
      element.read(fields, unescapeField(line.slice(at, end)))
      at = end
    }
    const { timeText } = fields
    fields.time = timeText === undefined ? joinTime(fields, toUtc) : readTime(timeText)
    return assembleEntry(fields)
  }
}

function slotEnd(line: string, at: number, slot: Slot, after?: TemplateElement): number {
  if (slot.width !== undefined) return at + slot.width
  if (slot.endsBefore !== undefined) return line.indexOf(slot.endsBefore, at)
  const text = typeof after === 'string' ? after : ''
  if (slot.delimiters !== undefined) return addressesEnd(line, at, slot.delimiters, text)
  if (text === '') return line.length
  if (text.startsWith('"')) return quoteEnd(line, at)
  let end = line.indexOf(text, at)
  while (slot.isList && end > at && (line[end - 1] === ',' || line[end - 1] === ':' || line.startsWith(' : ', end)))
    end = line.indexOf(text, end + 1)
  return end
}

/** Takes as much as addresses and delimiters go, and gives back what the text after the list needs. */
function addressesEnd(line: string, at: number, delimiters: string, text: string): number {
  let end = at
  while (end < line.length && (/[\da-fA-F:.-]/.test(line[end] ?? '') || delimiters.includes(line[end] ?? ''))) end++
  while (end > at && !line.startsWith(text, end)) end--
  return end
}

function joinTime(fields: TemplateFields, toUtc: (local: number) => number): number {
  const { time, dateTime = Number.NaN, dayTime = Number.NaN, parts, fraction = 0, offset } = fields
  if (time !== undefined) return time + fraction
  let local = dateTime + dayTime
  if (parts) {
    const [year, month, ...rest] = parts
    local = Date.UTC(year, month - 1, ...rest)
  }
  return (offset === undefined ? toUtc(local) : local - offset) + fraction
}

/** Readers of slots by meaning, which the syntaxes share. */
export const READ = {
  ignore: () => {},
  address: (fields, text) => {
    fields.address = text
  },
  forwarded: (fields, text) => {
    fields.forwarded = text
  },
  host: (fields, text) => {
    fields.host = text
  },
  request: (fields, text) => {
    fields.request = text
  },
  method: (fields, text) => {
    fields.method = text
  },
  target: (fields, text) => {
    fields.target = text
  },
  query: (fields, text) => {
    fields.query = text
  },
  status: (fields, text) => {
    fields.status = text
  },
  bytes: (fields, text) => {
    fields.bytes = text
  },
  /** `-` is not a byte, in the common log format. */
  bytesOrDash: (fields, text) => {
    fields.bytes = text === '-' ? '0' : text
  },
  referrer: (fields, text) => {
    fields.referrer = text
  },
  userAgent: (fields, text) => {
    fields.userAgent = text
  },
  contentType: (fields, text) => {
    fields.contentType = text
  },
  timeText: (fields, text) => {
    fields.timeText = text
  },
  date: (fields, text) => {
    fields.dateTime = readDate(text)
  },
  timeOfDay: (fields, text) => {
    const match = /^\d\d:\d\d:\d\d(?:[.,](\d{1,9}))?(?: ?([+-]\d\d:?\d\d|Z))?$/.exec(text)
    fields.dayTime = match ? timeOfDay(text, 0) : Number.NaN
    if (match?.[1] !== undefined) fields.fraction = Math.floor(Number(`0.${match[1]}`) * 1000)
    if (match?.[2] !== undefined) fields.offset = offsetOf(match[2])
  },
  /** A zone, where a format skips what stands after a time. */
  offsetIfAny: (fields, text) => {
    if (/^[+-]\d\d:?\d\d$/.test(text)) fields.offset = offsetOf(text)
  },
} satisfies Record<string, Slot['read']>

/** Reads a duration in units of so many milliseconds. */
export function readDurationIn(unit: number): Slot['read'] {
  return (fields, text) => {
    const value = Number(text || Number.NaN) * unit
    if (!Number.isNaN(value)) fields.durationMs = Math.round(value * 1000) / 1000
  }
}

/** Reads a request header, except those that have fields of their own or are secret. */
export function readHeader(name: string): Slot['read'] {
  const header = name.toLowerCase()
  const own = HEADER_FIELDS[header]
  if (own) return own
  return (fields, text) => {
    if (text !== '' && text !== '-') fields.headers = { ...fields.headers, [header]: text }
  }
}
const HEADER_FIELDS: Readonly<Record<string, Slot['read']>> = {
  referer: READ.referrer,
  'user-agent': READ.userAgent,
  host: READ.host,
  'x-forwarded-for': READ.forwarded,
  authorization: READ.ignore,
  cookie: READ.ignore,
  'proxy-authorization': READ.ignore,
}
