import { readFileSync } from 'node:fs'
import { type CityResponse, Reader } from 'mmdb-lib'
import type { Address } from '../../../base/address.js'

interface MmdbPlace {
  country?: string
  region?: string
  city?: string
  asn?: number
}

export type MmdbFile = ReturnType<typeof openMmdb>

/**
 * Opens a file of the MaxMind format (`--geoip FILE`). Reads both shapes in use: MaxMind's nested one (`country.iso_code`)
 * and the flat one of ip-location-db (`country_code`, `state1`). Throws one line that names the file if it cannot be read, or
 * is of another format.
 */
export function openMmdb(file: string) {
  const content = readBytes(file)
  try {
    const reader = new Reader<CityResponse>(content)
    const { buildEpoch, databaseType, ipVersion } = reader.metadata
    return {
      /** The day it was built. */
      date: buildEpoch.toISOString().slice(0, 10),
      type: databaseType,
      /** Returns the file's knowledge of an address. A file of IPv4 would return an arbitrary place for IPv6. */
      find: (address: Address): MmdbPlace =>
        address.kind() === 'ipv6' && ipVersion === 4 ? {} : readPlace(readRecord(reader, address.toString())),
    }
  } catch (cause) {
    const says = `geo file ${file} (${content.length} bytes) is not an MMDB file: give an unpacked .mmdb, as MaxMind and DB-IP publish it`
    throw new Error(says, { cause })
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(`geo file ${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

/** Returns undefined for a damaged record: it must cost the row its city, not its place in the store. */
function readRecord(reader: Reader<CityResponse>, address: string): unknown {
  try {
    return reader.get(address)
  } catch {
    return undefined
  }
}

const memberAt = (value: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  )

function readPlace(record: unknown): MmdbPlace {
  const name = (...paths: (string | number)[][]) => {
    const text = paths.map((path) => memberAt(record, path)).find((value) => typeof value === 'string' && value !== '')
    return typeof text === 'string' ? text : undefined
  }
  const country = name(['country', 'iso_code'], ['country_code'])
  const region = name(['subdivisions', 0, 'names', 'en'], ['subdivisions', 0, 'iso_code'], ['state1'])
  const city = name(['city', 'names', 'en'], ['city'])
  const asn = memberAt(record, ['autonomous_system_number'])
  return {
    ...(country !== undefined && /^[A-Z]{2}$/.test(country) && { country }),
    ...(region !== undefined && { region }),
    ...(city !== undefined && { city }),
    ...(typeof asn === 'number' && asn > 0 && { asn }),
  }
}
