import { readdirSync, readFileSync } from 'node:fs'
import { type Address, isGlobal } from '../../address.js'
import { MAX_CHARACTERS, truncate } from '../../capture/text-limits.js'
import { decodeGeoFile, findValue, type GeoFile } from './geo-file.js'
import { type MmdbFile, openMmdb } from './mmdb.js'

/** Where an address is; what is not known is null, never guessed. */
export interface Place {
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** English names. */
  region: string | null
  city: string | null
  /** Autonomous system number. */
  asn: number | null
}

export interface PlaceLookup {
  /** Nothing for an address that is none, private or reserved. */
  locate(address: Address | undefined): Place
  /** What answers, and of which day its facts are, for `doctor`. */
  readonly sources: readonly { name: string; date: string }[]
}

export const UNKNOWN_PLACE: Place = { country: null, region: null, city: null, asn: null }

/** The folder that `npm run build` writes the geo file to, seen from the compiled code. */
const DATA_FOLDER = new URL('../../../data/', import.meta.url)

/**
 * The geo data that ships with the package, and over it the operator's own file where one is given (`--geoip`), which
 * alone knows regions and cities. Throws one line where that file cannot be read; without shipped data (a build that
 * did not run) the places are unknown and `sources` is empty.
 */
export function openPlaceLookup(options: { geoip?: string; folder?: URL } = {}): PlaceLookup {
  const shipped = openShippedFile(options.folder ?? DATA_FOLDER)
  const own = options.geoip === undefined ? undefined : openMmdb(options.geoip)
  const sources = [
    ...(own ? [{ name: own.type, date: own.date }] : []),
    ...(shipped ? [shipped.sources.country, shipped.sources.asn] : []),
  ]
  return {
    sources,
    locate: (address) =>
      address !== undefined && isGlobal(address) ? findPlace(address, shipped, own) : UNKNOWN_PLACE,
  }
}

function openShippedFile(folder: URL): GeoFile | undefined {
  try {
    const [name] = readdirSync(folder)
      .filter((file) => /^geo-.*\.bin$/.test(file))
      .sort()
      .reverse()
    return name === undefined ? undefined : decodeGeoFile(readFileSync(new URL(name, folder)))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function findPlace(address: Address, shipped: GeoFile | undefined, own: MmdbFile | undefined): Place {
  const place = shipped ? findInShippedFile(address, shipped) : UNKNOWN_PLACE
  if (own === undefined) return place
  const better = own.find(address)
  const name = (text: string | null | undefined) => (text == null ? null : truncate(text, MAX_CHARACTERS.text))
  // A region belongs to the country of the same file: of another one's it would be a place that does not exist.
  return {
    country: better.country ?? place.country,
    region: name(better.region),
    city: name(better.city),
    asn: better.asn ?? place.asn,
  }
}

function findInShippedFile(address: Address, geo: GeoFile): Place {
  const four = address.family === 4
  const country = findValue(four ? geo.country4 : geo.country6, address)
  const asn = findValue(four ? geo.asn4 : geo.asn6, address)
  return { country: geo.countries[country - 1] ?? null, region: null, city: null, asn: asn || null }
}
