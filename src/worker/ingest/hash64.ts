import { hash } from 'node:crypto'

/** Returns the first 64 bits of a text's SHA-256. The digest is read as a string: making a buffer costs as much as the hash. */
export function hash64(text: string): bigint {
  const digest = hash('sha256', text, 'binary')
  for (let n = 0; n < 8; n++) digestView.setUint8(n, digest.charCodeAt(n))
  return digestView.getBigUint64(0)
}
const digestView = new DataView(new ArrayBuffer(8))
