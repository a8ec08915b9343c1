import type { GeoFile, RangeTable } from './geo-file.js'

/** One line of a source: first and last address (IPv6: their upper 64 bits), both inclusive, and its value. */
interface SourceRange {
  first: bigint
  last: bigint
  value: number
}

/** The comma-separated files of @ip-location-db, in their numeric form. */
export interface GeoSources {
  sources: GeoFile['sources']
  country4: string
  country6: string
  asn4: string
  asn6: string
}

/** The compact tables of what the sources say. Throws where a line is not `first,last,value`. */
export function compileGeoFile({ sources, ...csv }: GeoSources): GeoFile {
  const countries: string[] = []
  const country = (code: string) => {
    if (!/^[A-Z]{2}$/.test(code)) throw new Error(`not a country code: ${code}`)
    const known = countries.indexOf(code)
    return known < 0 ? countries.push(code) : known + 1
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

/** 0 for numbers that no network on the internet has (RFC 7607, 4893, 5398, 6996, 7300). */
function parseAsn(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`not an AS number: ${text}`)
  return value === 23456 || (value >= 64496 && value <= 131071) || value >= 4200000000 ? 0 : value
}

function parseRanges(csv: string, drop: bigint, parse: (value: string) => number): SourceRange[] {
  const rows: SourceRange[] = []
  for (const line of csv.split('\n')) {
    if (line === '') continue
    const [from, to, value] = line.split(',', 3)
    if (from === undefined || to === undefined || value === undefined) throw new Error(`not a range: ${line}`)
    // Where blocks are finer than the 64 bits kept, only what fills whole ones counts.
    const first = (BigInt(from) + (1n << drop) - 1n) >> drop
    const last = ((BigInt(to) + 1n) >> drop) - 1n
    const known = parse(value)
    if (first <= last && known > 0) rows.push({ first, last, value: known })
  }
  return rows.sort((a, b) =>
    a.first < b.first ? -1 : a.first > b.first ? 1 : a.last > b.last ? -1 : a.last < b.last ? 1 : 0,
  )
}

/** Ranges in their order to starts and values: of nested ones the inner wins, neighbours of one value become one. */
function createTable(rows: readonly SourceRange[], width: 1 | 2): RangeTable {
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
  for (const row of rows) {
    closeUntil(row.first)
    emit(row.first, row.value)
    open.push(row)
  }
  closeUntil(undefined)
  const word = (shift: bigint) => Uint32Array.from(starts, (start) => Number((start >> shift) & 0xffffffffn))
  return { starts: width === 1 ? [word(0n)] : [word(32n), word(0n)], values: Uint32Array.from(values) }
}
