import { setImmediate } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'

/** Turns the bytes of a file into the bytes of its text, one piece after the other. */
export interface Decoder {
  decode(piece: Buffer): Promise<readonly Buffer[]>
  /** Tells why the text ends early; undefined if it is complete. */
  end(): Promise<string | undefined>
}

/** Chooses by the first bytes, because a rotated file has any name. */
export function createDecoder(start: Buffer): Decoder {
  return start[0] === 0x1f && start[1] === 0x8b ? createGzipDecoder() : PLAIN
}

const PLAIN: Decoder = { decode: async (piece) => [piece], end: async () => undefined }

/**
 * Decodes gzip, also several members after each other, as `logrotate` and `cat` write them. Every byte before a fault is
 * returned: a stream that is piped loses what it has buffered when it fails.
 */
function createGzipDecoder(): Decoder {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  let pieces: Buffer[] = []
  let fault: string | undefined
  gunzip.on('data', (piece: Buffer) => pieces.push(piece))
  const closed = new Promise<void>((resolve) => {
    gunzip.on('end', resolve)
    gunzip.on('error', (error) => {
      fault = error.message
      resolve()
    })
  })
  const take = () => {
    const taken = pieces
    pieces = []
    return taken
  }
  return {
    async decode(piece) {
      if (fault !== undefined) return []
      await Promise.race([new Promise<void>((resolve) => gunzip.write(piece, () => resolve())), closed])
      // Events of pieces that were pushed while the stream was busy follow the callback.
      await setImmediate()
      return take()
    },
    async end() {
      if (fault === undefined) {
        gunzip.end()
        await closed
      }
      return fault
    },
  }
}
/** Larger than zlib's default of 16 KB, which gives chunks of 100 lines. */
const CHUNK_BYTES = 262_144
