import { defineFormat, type LogFormat } from './log-format.js'
import { assembleEntry, type RawFields } from './raw-fields.js'
import { createTimeTextReader } from './time-text.js'

/** Fields that are read as text. */
type TextField = Exclude<keyof RawFields, 'time' | 'durationMs' | 'headers'>

/** The places of a JSON format's fields. A path is the names of nested objects with dots between; the first that exists counts. */
export interface JsonShape {
  readonly name: string
  readonly title: string
  readonly traits: string
  readonly time: readonly string[]
  readonly texts: Readonly<Partial<Record<TextField, readonly string[]>>>
  /** Milliseconds of one unit of each. */
  readonly durations?: Readonly<Record<string, number>>
  /** Reads the request's headers out of the object. */
  readonly headers?: (line: JsonObject) => Record<string, string> | undefined
  /** Corrects what paths cannot express. */
  readonly adjust?: (raw: RawFields, line: JsonObject) => void
  /** Makes a test, one for each parser, of lines that are not about a request of their own. */
  readonly createSkip?: () => (line: JsonObject) => boolean
}

export type JsonObject = Readonly<Record<string, unknown>>

/** Makes a format of one JSON object a line. */
export function defineJsonFormat(shape: JsonShape): LogFormat {
  const { name, title, traits } = shape
  const timePaths = shape.time.map(parsePath)
  const textPaths = Object.entries(shape.texts).map(([field, paths]) => [field, paths.map(parsePath)] as const)
  const durations = Object.entries(shape.durations ?? {}).map(([path, factor]) => [parsePath(path), factor] as const)
  return defineFormat({
    name,
    title,
    traits,
    createParser({ zone }) {
      const readTime = createTimeTextReader(zone)
      const isOther = shape.createSkip?.()
      return (text) => {
        const line = parseObject(text)
        if (line === undefined) return undefined
        if (isOther?.(line)) return 'skip'
        const raw: RawFields & Record<string, unknown> = { time: readTime(firstText(line, timePaths) ?? '') }
        for (const [field, paths] of textPaths) raw[field] = firstText(line, paths)
        for (const [path, factor] of durations) raw.durationMs ??= readDuration(line, path, factor)
        raw.headers = shape.headers?.(line)
        shape.adjust?.(raw, line)
        return assembleEntry(raw)
      }
    },
  })
}

/** Parses the object of a line, also after what syslog or Docker write before it. */
function parseObject(text: string): JsonObject | undefined {
  const start = text.indexOf('{')
  if (start < 0 || start > MAX_PREFIX_CHARS) return undefined
  try {
    const line: unknown = JSON.parse(start === 0 ? text : text.slice(start))
    return isObject(line) ? line : undefined
  } catch {
    return undefined
  }
}

const MAX_PREFIX_CHARS = 200

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const parsePath = (path: string): readonly string[] => path.split('.')

function firstText(line: JsonObject, paths: readonly (readonly string[])[]): string | undefined {
  for (const path of paths) {
    const text = textAt(line, path)
    if (text !== undefined) return text
  }
  return undefined
}

/** Returns a text or number at a path; of a list its first member. */
function textAt(line: JsonObject, path: readonly string[]): string | undefined {
  let value: unknown = line
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  if (Array.isArray(value)) value = value[0]
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
}

function readDuration(line: JsonObject, path: readonly string[], factor: number): number | undefined {
  const value = Number(textAt(line, path) || undefined)
  return Number.isNaN(value) ? undefined : Math.round(value * factor * 1000) / 1000
}

/** Reads the headers of an object of texts or lists of texts, or those whose names begin with `prefix`. */
export function readHeaders(source: unknown, prefix = ''): Record<string, string> | undefined {
  if (!isObject(source)) return undefined
  const headers: Record<string, string> = {}
  for (const [key, value] of Object.entries(source)) {
    if (!key.startsWith(prefix)) continue
    const name = key.slice(prefix.length).toLowerCase().replaceAll('_', '-')
    const text = Array.isArray(value) ? value.join(', ') : value
    if (typeof text === 'string' && text !== '' && text !== '-' && !SECRET.has(name)) headers[name] = text
  }
  return Object.keys(headers).length === 0 ? undefined : headers
}
/** Never leave this folder. */
const SECRET = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** Returns the object at a name. */
export const objectAt = (line: JsonObject, name: string): JsonObject | undefined => {
  const value = line[name]
  return isObject(value) ? value : undefined
}
