import { createRecentCache } from '../base/cache.js'
import type { Observation } from './observation.js'

/** The texts that a client sends with each of its requests. */
export type Client = Pick<Observation, 'user_agent'> & { headers: Observation['headers'] | undefined }

/** The place of a client in a batch: the lengths of its texts, and the texts, one byte a character. */
interface ClientBytes {
  view: DataView
  lengths: number
  lengthsEnd: number
  texts: number
  textsEnd: number
}

const MAX_CACHED_CLIENTS = 4_096
/** A longer one is hardly sent twice; with this bound the cache takes at most 10 MB. */
const MAX_TEXT_BYTES = 1_024

/**
 * Creates a cache of clients, which finds them by their bytes: a site's visitors have a few hundred different ones, each
 * of a dozen strings. Rows that share a client's strings also find it faster in every cache by user agent.
 */
export function createClientCache(hash: (at: ClientBytes) => number = hashBytes) {
  const cache = createRecentCache<number, { bytes: DataView; client: Client }>(MAX_CACHED_CLIENTS)
  /** Returns the client with these bytes; calls `read` for one that is not cached. */
  return (at: ClientBytes, read: () => Client): Client => {
    if (at.textsEnd - at.texts > MAX_TEXT_BYTES) return read()
    const key = hash(at)
    const cached = cache.get(key)
    if (cached !== undefined && hasBytes(at, cached.bytes)) return cached.client
    const client = read()
    cache.set(key, { bytes: copyBytes(at), client })
    return client
  }
}

/** Two clients with the same hash only cost the cache one of them, so any hash will do that is fast. */
function hashBytes({ view, lengths, lengthsEnd, texts, textsEnd }: ClientBytes): number {
  let hash = 0
  for (let at = lengths; at < lengthsEnd; at += 4) hash = mix(hash, view.getInt32(at, true))
  let at = texts
  for (; at + 4 <= textsEnd; at += 4) hash = mix(hash, view.getInt32(at, true))
  for (; at < textsEnd; at++) hash = mix(hash, view.getUint8(at))
  // Small integers are not allocated.
  return hash & 0x3fff_ffff
}

const mix = (hash: number, word: number): number => {
  const mixed = Math.imul(hash ^ word, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}

function hasBytes({ view, lengths, lengthsEnd, texts, textsEnd }: ClientBytes, bytes: DataView): boolean {
  const first = lengthsEnd - lengths
  if (first + textsEnd - texts !== bytes.byteLength) return false
  for (let n = 0; n < first; n += 4) if (view.getInt32(lengths + n) !== bytes.getInt32(n)) return false
  let n = first
  const offset = texts - first
  for (; n + 4 <= bytes.byteLength; n += 4) if (view.getInt32(offset + n) !== bytes.getInt32(n)) return false
  for (; n < bytes.byteLength; n++) if (view.getUint8(offset + n) !== bytes.getUint8(n)) return false
  return true
}

function copyBytes({ view, lengths, lengthsEnd, texts, textsEnd }: ClientBytes): DataView {
  const first = lengthsEnd - lengths
  const copy = new Uint8Array(first + textsEnd - texts)
  copy.set(new Uint8Array(view.buffer, view.byteOffset + lengths, first))
  copy.set(new Uint8Array(view.buffer, view.byteOffset + texts, textsEnd - texts), first)
  return new DataView(copy.buffer)
}
