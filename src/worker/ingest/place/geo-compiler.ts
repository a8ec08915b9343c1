import type { GeoFile, RangeTable } from './geo-file.js'

/** One line of a source: first and last address (IPv6: their upper 64 bits), both inclusive, and its value. */
interface SourceRange {
  first: bigint
  last: bigint
  value: number
}

/** The comma-separated files of @ip-location-db, in their numeric form. */
type GeoSources = Pick<GeoFile, 'sources'> & Record<'country4' | 'country6' | 'asn4' | 'asn6', string>

/** Compiles the sources into compact tables. Throws if a line is not `first,last,value`. */
export function compileGeoFile({ sources, ...csv }: GeoSources): GeoFile {
  const countries: string[] = []
  const country = (code: string) => {
    if (!/^[A-Z]{2}$/.test(code)) throw new Error(`not a country code: ${code}`)
    const index = countries.indexOf(code)
    return index < 0 ? countries.push(code) : index + 1
  }
  return {
    sources,
    countries,
    country4: createTable(parseRanges(csv.country4, 0n, country), 1),
    country6: createTable(parseRanges(csv.country6, 64n, country), 2),
    asn4: createTable(parseRanges(csv.asn4, 0n, parseAsn), 1),
    asn6: createTable(parseRanges(csv.asn6, 64n, parseAsn), 2),
  }
}

/** Returns an AS number; 0 for numbers that no network on the internet uses (RFC 7607, 4893, 5398, 6996, 7300). */
function parseAsn(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`not an AS number: ${text}`)
  return value === 23456 || (value >= 64496 && value <= 131071) || value >= 4200000000 ? 0 : value
}

/** Parses lines into sorted ranges without their lowest `dropBits` bits. */
function parseRanges(csv: string, dropBits: bigint, parseValue: (text: string) => number): SourceRange[] {
  const ranges: SourceRange[] = []
  for (const line of csv.split('\n')) {
    if (line === '') continue
    const [from, to, text] = line.split(',', 3)
    if (from === undefined || to === undefined || text === undefined) throw new Error(`not a range: ${line}`)
    // A block finer than the bits that are kept counts only where it fills whole ones.
    const first = (BigInt(from) + (1n << dropBits) - 1n) >> dropBits
    const last = ((BigInt(to) + 1n) >> dropBits) - 1n
    const value = parseValue(text)
    if (first <= last && value > 0) ranges.push({ first, last, value })
  }
  const order = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)
  return ranges.sort((a, b) => order(a.first, b.first) || order(b.last, a.last))
}

/** Turns sorted ranges into starts and values: of nested ranges the inner one wins, and equal neighbours are merged. */
function createTable(ranges: readonly SourceRange[], width: 1 | 2): RangeTable {
  const starts: bigint[] = []
  const values: number[] = []
  const emit = (start: bigint, value: number) => {
    if (starts.at(-1) === start) {
      starts.pop()
      values.pop()
    }
    if ((values.at(-1) ?? 0) === value) return
    starts.push(start)
    values.push(value)
  }
  const open: SourceRange[] = []
  const closeUntil = (limit: bigint | undefined) => {
    for (let inner = open.at(-1); inner && (limit === undefined || inner.last < limit); inner = open.at(-1)) {
      open.pop()
      while (open.length > 0 && (open.at(-1)?.last ?? 0n) <= inner.last) open.pop()
      emit(inner.last + 1n, open.at(-1)?.value ?? 0)
    }
  }
  for (const range of ranges) {
    closeUntil(range.first)
    emit(range.first, range.value)
    open.push(range)
  }
  closeUntil(undefined)
  const word = (shift: bigint) => Uint32Array.from(starts, (start) => Number((start >> shift) & 0xffffffffn))
  return { starts: width === 1 ? [word(0n)] : [word(32n), word(0n)], values: Uint32Array.from(values) }
}
