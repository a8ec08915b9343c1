import { createGunzip } from 'node:zlib'
import type { Decoder } from './decoder.js'
import { createZstdDecoder } from './zstd.js'

/** Chooses by the first bytes, because a rotated file has any name. */
export function createDecoder(start: Buffer): Decoder {
  if (start[0] === 0x1f && start[1] === 0x8b) return createGzipDecoder()
  // The numbers of a frame and of a skippable frame (RFC 8878 3.1).
  const magic = start.length < 4 ? 0 : start.readUInt32LE()
  return magic === 0xfd2fb528 || magic >>> 4 === 0x184d2a5 ? createZstdDecoder() : PLAIN
}

const PLAIN: Decoder = {
  async *decode(piece) {
    yield piece
  },
  end: async () => undefined,
}

/**
 * Decodes gzip, also several members after each other, as `logrotate` and `cat` write them. Everything that is unpacked is
 * taken before more is written, so that no more than a chunk is in memory, and a fault loses little before it.
 */
function createGzipDecoder(): Decoder {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  let reason: string | undefined
  let isOver = false
  let wake = () => {}
  gunzip.on('readable', () => wake())
  const over = new Promise<void>((resolve) => {
    const finish = () => {
      isOver = true
      wake()
      resolve()
    }
    gunzip.on('end', finish)
    gunzip.on('error', (error) => {
      reason = error.message
      finish()
    })
  })
  return {
    async *decode(piece) {
      for (let at = 0; at < piece.length && !isOver; at += SLICE_BYTES) {
        let isWritten = false
        gunzip.write(piece.subarray(at, at + SLICE_BYTES), () => {
          isWritten = true
          wake()
        })
        for (let isTaken = false; !isTaken; ) {
          const chunk: unknown = gunzip.read()
          if (Buffer.isBuffer(chunk)) yield chunk
          else if (isWritten || isOver) isTaken = true
          else await new Promise<void>((resolve) => (wake = resolve))
        }
      }
    },
    async end() {
      if (!isOver) {
        wake = () => void gunzip.read()
        gunzip.end()
        await over
      }
      return reason === undefined ? undefined : { reason, at: gunzip.bytesWritten }
    },
  }
}
/** The text of a slice that has a fault is lost, and the fault is somewhere in the slice. */
const SLICE_BYTES = 16_384
/** Larger than zlib's default of 16 KB, which gives chunks of 100 lines. */
const CHUNK_BYTES = 262_144
