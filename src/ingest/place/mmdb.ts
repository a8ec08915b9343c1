import { readFileSync } from 'node:fs'
import { type CityResponse, Reader } from 'mmdb-lib'
import { type Address, addressText } from '../../address.js'
import type { Place } from './place-lookup.js'

export interface MmdbFile {
  /** The day it was made. */
  date: string
  type: string
  /** What the file says of an address; what it does not say is absent. */
  find(address: Address): Partial<Place>
}

/**
 * A file of the MaxMind format (`--geoip FILE`). Reads both shapes in use: MaxMind's nested one (`country.iso_code`)
 * and the flat one of ip-location-db (`country_code`, `state1`). Throws one line that names the file where it cannot be read.
 */
export function openMmdb(file: string): MmdbFile {
  try {
    const reader = new Reader<CityResponse>(readFileSync(file))
    const { buildEpoch, databaseType, ipVersion } = reader.metadata
    return {
      date: buildEpoch.toISOString().slice(0, 10),
      type: databaseType,
      // A file of IPv4 only answers an IPv6 address with some place of the tree it strays into.
      find: (address) => (address.family > ipVersion ? {} : readPlace(readRecord(reader, addressText(address)))),
    }
  } catch (cause) {
    throw new Error(`geo file ${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

/** A file broken further in must not cost the row its place in the store, only its city. */
function readRecord(reader: Reader<CityResponse>, address: string): unknown {
  try {
    return reader.get(address)
  } catch {
    return undefined
  }
}

const memberAt = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )

function readPlace(record: unknown): Partial<Place> {
  const name = (...paths: (string | number)[][]) => {
    const found = paths
      .map((path) => memberAt(record, ...path))
      .find((value) => typeof value === 'string' && value !== '')
    return typeof found === 'string' ? found : undefined
  }
  const country = name(['country', 'iso_code'], ['country_code'])
  const region = name(['subdivisions', 0, 'names', 'en'], ['subdivisions', 0, 'iso_code'], ['state1'])
  const city = name(['city', 'names', 'en'], ['city'])
  const number = memberAt(record, 'autonomous_system_number')
  return {
    ...(country !== undefined && /^[A-Z]{2}$/.test(country) && { country }),
    ...(region !== undefined && { region }),
    ...(city !== undefined && { city }),
    ...(typeof number === 'number' && number > 0 && { asn: number }),
  }
}
