import { parseAddress } from '../../../base/address.js'
import type { MmdbFile } from './mmdb.js'

/** Servers of public DNS and of the five registries: they are everywhere on earth, and every file of places has them. */
const KNOWN_ADDRESSES = [
  '8.8.8.8',
  '1.1.1.1',
  '9.9.9.9',
  '208.67.222.222',
  '77.88.8.8',
  '114.114.114.114',
  '192.0.47.59',
  '193.0.6.139',
  '202.12.29.205',
  '200.3.14.10',
  '196.216.2.6',
  '2001:4860:4860::8888',
  '2001:67c:2e8:22::c100:68b',
].flatMap((text) => parseAddress(text) ?? [])

/** The facts about places that a file may have, in the words of a message. */
const KINDS = { country: 'countries', region: 'regions', city: 'cities', asn: 'networks' } as const

function knownKinds(file: MmdbFile): (keyof typeof KINDS)[] {
  const places = KNOWN_ADDRESSES.map((address) => file.find(address))
  const kinds = ['country', 'region', 'city', 'asn'] as const
  return kinds.filter((kind) => places.some((place) => place[kind] !== undefined))
}

/** Returns in one line why `next` should not take the place of `current`; undefined if it may. */
export function findMmdbProblem(next: MmdbFile, current: MmdbFile | undefined): string | undefined {
  const kinds = knownKinds(next)
  if (kinds.length === 0)
    return `it knows neither country nor network of ${KNOWN_ADDRESSES.length} well-known addresses (type ${next.type})`
  if (current === undefined) return undefined
  const missing = knownKinds(current).filter((kind) => !kinds.includes(kind))
  if (missing.length > 0)
    return `it has no ${missing.map((kind) => KINDS[kind]).join(', ')}, which the file in use has (type ${next.type}, in use ${current.type})`
  return next.date > current.date ? undefined : `it is of ${next.date}, and the file in use is of ${current.date}`
}
