import { createGunzip } from 'node:zlib'
import { Decompress } from 'fzstd'

/** Turns the bytes of a file into the bytes of its text, one piece after the other. */
export interface Decoder {
  decode(piece: Buffer): Promise<readonly Buffer[]>
  /** Tells why the text ends early; undefined if it is complete. */
  end(): Promise<string | undefined>
}

/** Chooses by the first bytes, because a rotated file has any name. */
export function createDecoder(start: Buffer): Decoder {
  if (start[0] === 0x1f && start[1] === 0x8b) return createGzipDecoder()
  // The numbers of a frame and of a skippable frame (RFC 8878 3.1).
  const magic = start.length < 4 ? 0 : start.readUInt32LE()
  return magic === 0xfd2fb528 || magic >>> 4 === 0x184d2a5 ? createZstdDecoder() : PLAIN
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

/** Decodes zstd, also several frames after each other. Checksums are not verified: damage shows in broken lines. */
function createZstdDecoder(): Decoder {
  let pieces: Buffer[] = []
  let fault: string | undefined
  const frames = new Decompress((piece) => {
    if (piece.length > 0) pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length))
  })
  const push = (piece: Uint8Array, isLast: boolean) => {
    if (fault !== undefined) return
    try {
      frames.push(piece, isLast)
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
    }
  }
  return {
    async decode(piece) {
      push(piece, false)
      const taken = pieces
      pieces = []
      return taken
    },
    async end() {
      push(new Uint8Array(), true)
      return fault
    },
  }
}
