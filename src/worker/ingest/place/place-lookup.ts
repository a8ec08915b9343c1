import { readdirSync, readFileSync } from 'node:fs'
import { type Address, isLocatable, parseAddress, wordsOf } from '../../../base/address.js'
import { ApiError } from '../../../base/errors.js'
import { MAX_CHARACTERS, truncate } from '../../../base/text-limits.js'
import { decodeGeoFile, findValue, type GeoFile } from './geo-file.js'
import { type MmdbFile, openMmdb } from './mmdb.js'

/** The location of an address; null where it is not known, never guessed. */
export interface Place {
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** English names. */
  region: string | null
  city: string | null
  /** Autonomous system number. */
  asn: number | null
}

export type PlaceLookup = ReturnType<typeof openPlaceLookup>

export const UNKNOWN_PLACE: Place = { country: null, region: null, city: null, asn: null }

/** The folder that `npm run build` writes the geo file to, relative to the compiled code. */
const DATA_FOLDER = new URL('../../../../data/', import.meta.url)

/**
 * Opens the geo data that ships with the package, and the operator's own file (`--geoip`), which wins and alone knows
 * regions and cities. Throws one line if that file cannot be read. Without shipped data (the build did not run) countries
 * and networks are unknown and `sources` is empty.
 */
export function openPlaceLookup(options: { geoip?: string | undefined; folder?: URL } = {}) {
  const shipped = openShippedFile(options.folder ?? DATA_FOLDER)
  const openOwn = () => (options.geoip === undefined ? undefined : openMmdb(options.geoip))
  let source = openOwn()
  return {
    /** The files that are used, each with the day of its facts. */
    get sources(): readonly { name: string; date: string }[] {
      const ofOwn = source ? [{ name: source.type, date: source.date }] : []
      return shipped ? [...ofOwn, shipped.sources.country, shipped.sources.asn] : ofOwn
    },
    /** Reads the operator's file again. Throws one line if it cannot be read; the old one is used then. */
    reload(): void {
      source = openOwn()
    },
    /** Returns nothing known for a missing, private or reserved address. */
    locate: (address: Address | undefined): Place =>
      address !== undefined && isLocatable(address) ? findPlace(address, shipped, source) : UNKNOWN_PLACE,
  }
}

/** The calls of the site's process about places; each parses its argument. */
export const createPlaceApi = (places: PlaceLookup) => ({
  country: async (ip: unknown): Promise<string | null> => places.locate(parseAddress(String(ip))).country,
  reload_geoip: async (): Promise<PlaceLookup['sources']> => {
    try {
      places.reload()
    } catch (error) {
      throw new ApiError('conflict', error instanceof Error ? error.message : String(error))
    }
    return places.sources
  },
})

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
  const placeOfAddress = own.find(address)
  const name = (text: string | undefined) => (text === undefined ? null : truncate(text, MAX_CHARACTERS.text))
  // A region belongs to the country of the same file: combined with another file's country, it may not exist.
  return {
    country: placeOfAddress.country ?? place.country,
    region: name(placeOfAddress.region),
    city: name(placeOfAddress.city),
    asn: placeOfAddress.asn ?? place.asn,
  }
}

function findInShippedFile(address: Address, geo: GeoFile): Place {
  const isIpv4 = address.kind() === 'ipv4'
  const words = wordsOf(address)
  const country = findValue(isIpv4 ? geo.country4 : geo.country6, words)
  const asn = findValue(isIpv4 ? geo.asn4 : geo.asn6, words)
  return { country: geo.countries[country - 1] ?? null, region: null, city: null, asn: asn || null }
}
