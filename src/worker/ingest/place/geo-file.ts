import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { z } from 'zod'

/**
 * Address ranges, each with a number. Range `i` runs from `starts[0][i]` (IPv6: `starts[0][i]`, `starts[1][i]`, the
 * upper 64 bits) to the start of the next range; value 0 means unknown.
 */
export interface RangeTable {
  starts: readonly Uint32Array[]
  values: Uint32Array
}

export interface GeoFile {
  /** The source of each half, with the day of its facts. */
  sources: { country: { name: string; date: string }; asn: { name: string; date: string } }
  /** ISO 3166-1 alpha-2; value `n` of a country table is `countries[n - 1]`. */
  countries: readonly string[]
  country4: RangeTable
  country6: RangeTable
  asn4: RangeTable
  asn6: RangeTable
}

/** Part of the file's name too, so that a file of an earlier build is not reused. */
export const GEO_FILE_FORMAT = 2
const MAGIC = 'readership-geo'
/** Bounds the length that a damaged file may claim. */
const MAX_FILE_BYTES = 64 << 20
const source = z.object({ name: z.string(), date: z.iso.date() })
const rows = z.int().nonnegative()
const Header = z.object({
  magic: z.literal(MAGIC),
  format: z.literal(GEO_FILE_FORMAT),
  sources: z.object({ country: source, asn: source }),
  countries: z.array(z.string()),
  rows: z.object({ country4: rows, country6: rows, asn4: rows, asn6: rows }),
})
const TABLES = ['country4', 'country6', 'asn4', 'asn6'] as const
const WIDTH = { country4: 1, country6: 2, asn4: 1, asn6: 2 } as const

/** Returns the value of the range that contains an address, given as its words; 0 if no range does. */
export function findValue(table: RangeTable, address: readonly number[]): number {
  const [upper, lower] = table.starts
  const [first = 0, second = 0] = address
  if (upper === undefined) return 0
  let low = 0
  let high = upper.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = upper[middle] ?? 0
    if (start < first || (start === first && (lower?.[middle] ?? 0) <= second)) low = middle + 1
    else high = middle
  }
  return low === 0 ? 0 : (table.values[low - 1] ?? 0)
}

/**
 * Encodes a geo file: a line of JSON, then every column as little-endian words, gzip over both. Gzip is as small as brotli
 * here, and each start of a worker decodes it in half the time. Starts are stored as the difference from the row before,
 * and bytes of the same significance together, which makes the file a third of the size.
 */
export function encodeGeoFile(geo: GeoFile): Buffer {
  const { sources, countries } = geo
  const rows = Object.fromEntries(TABLES.map((name) => [name, geo[name].values.length]))
  const header = Buffer.from(`${JSON.stringify({ magic: MAGIC, format: GEO_FILE_FORMAT, sources, countries, rows })}\n`)
  const columns = TABLES.flatMap((name) => [
    ...geo[name].starts.map((column) => toBytePlanes(toDeltas(column))),
    toBytePlanes(geo[name].values),
  ])
  return gzipSync(Buffer.concat([header, ...columns]), { level: constants.Z_BEST_COMPRESSION })
}

/** Throws if `file` is not the result of `encodeGeoFile`. */
export function decodeGeoFile(file: Buffer): GeoFile {
  // In one chunk of the length in its last word: with several chunks, the data would be copied once more.
  const length = file.length < 4 ? 0 : file.readUInt32LE(file.length - 4)
  const bytes = gunzipSync(file, { chunkSize: Math.min(length, MAX_FILE_BYTES) + 64 })
  const end = bytes.indexOf('\n')
  const header = Header.parse(JSON.parse(bytes.toString('utf8', 0, end)))
  let at = end + 1
  const column = (length: number) => {
    const words = fromBytePlanes(bytes.subarray(at, at + length * 4), length)
    at += length * 4
    return words
  }
  const table = (name: (typeof TABLES)[number]): RangeTable => {
    const starts = Array.from({ length: WIDTH[name] }, () => fromDeltas(column(header.rows[name])))
    return { starts, values: column(header.rows[name]) }
  }
  const [country4, country6, asn4, asn6] = [table('country4'), table('country6'), table('asn4'), table('asn6')]
  return { sources: header.sources, countries: header.countries, country4, country6, asn4, asn6 }
}

const toDeltas = (words: Uint32Array) => words.map((word, i) => word - (words[i - 1] ?? 0))

function fromDeltas(words: Uint32Array): Uint32Array {
  for (let i = 1; i < words.length; i++) words[i] = (words[i] ?? 0) + (words[i - 1] ?? 0)
  return words
}

function toBytePlanes(words: Uint32Array): Buffer {
  const out = Buffer.allocUnsafe(words.length * 4)
  words.forEach((word, i) => {
    for (let plane = 0; plane < 4; plane++) out[plane * words.length + i] = word >>> (plane * 8)
  })
  return out
}

function fromBytePlanes(bytes: Buffer, length: number): Uint32Array {
  const words = new Uint32Array(length)
  for (let i = 0; i < length; i++) {
    words[i] =
      (bytes[i] ?? 0) |
      ((bytes[length + i] ?? 0) << 8) |
      ((bytes[2 * length + i] ?? 0) << 16) |
      ((bytes[3 * length + i] ?? 0) << 24)
  }
  return words
}
