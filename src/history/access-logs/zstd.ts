import { Decompress } from 'fzstd'
import type { DecodeFault, Decoder } from './decoder.js'

/** A decoder should take windows of this size (RFC 8878 3.1.1.1.2); `zstd` exceeds it above level 19 only. */
const MAX_WINDOW_BYTES = 8 << 20
/** A larger block is damage (RFC 8878 3.1.1.2.4). */
const MAX_BLOCK_BYTES = 128 << 10
const FRAME_MAGIC = 0xfd2fb528
const BLOCK_HEADER_BYTES = 3
const CHECKSUM_BYTES = 4
/** The decoder keeps frames below 18 bytes until more follows. An empty skippable frame after each one gives it that. */
const EMPTY_FRAME = Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0)

/**
 * Decodes zstd, also several frames after each other. The decoder gets one block at a time, because it returns all that it
 * can unpack at once: four bytes are 128 KB. Checksums are not verified: damage shows in broken lines.
 */
export function createZstdDecoder(): Decoder {
  let unpacked: Buffer[] = []
  const frames = new Decompress((piece) => {
    if (piece.length > 0) unpacked.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length))
  })
  let rest: Buffer = Buffer.alloc(0)
  /** Bytes of the file before `rest`. */
  let at = 0
  /** The frame whose blocks are read; undefined between frames. */
  let frame: { hasChecksum: boolean } | undefined
  /** Bytes that are left out: of a skippable frame, or a checksum. */
  let skipped = 0
  let fault: DecodeFault | undefined

  /** Moves on by one item of the format, and returns whether `rest` had all of it. Throws for damage. */
  const step = (): boolean => {
    if (skipped > 0) {
      const here = Math.min(skipped, rest.length)
      skipped -= here
      advance(here)
      return here > 0
    }
    return frame ? readBlock(frame) : readFrameHeader()
  }
  const advance = (bytes: number): Buffer => {
    const item = rest.subarray(0, bytes)
    rest = rest.subarray(bytes)
    at += bytes
    return item
  }
  const readFrameHeader = (): boolean => {
    if (rest.length < 8) return false
    if (rest.readUInt32LE() >>> 4 === 0x184d2a5) {
      skipped = rest.readUInt32LE(4)
      advance(8)
      return true
    }
    const header = parseFrameHeader(rest)
    if (header === undefined) return false
    frame = header
    frames.push(advance(header.bytes))
    return true
  }
  const readBlock = ({ hasChecksum }: { hasChecksum: boolean }): boolean => {
    if (rest.length < BLOCK_HEADER_BYTES) return false
    const { bytes, isLast } = parseBlockHeader(rest)
    if (rest.length < bytes) return false
    frames.push(advance(bytes))
    if (!isLast) return true
    frame = undefined
    if (hasChecksum) {
      frames.push(new Uint8Array(CHECKSUM_BYTES))
      skipped = CHECKSUM_BYTES
    }
    frames.push(EMPTY_FRAME)
    return true
  }
  return {
    async *decode(piece) {
      if (fault !== undefined) return
      rest = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      for (let isMoving = true; isMoving && fault === undefined; ) {
        try {
          isMoving = step()
        } catch (error) {
          fault = { reason: error instanceof Error ? error.message : String(error), at }
        }
        const chunks = unpacked
        unpacked = []
        yield* chunks
      }
    },
    async end() {
      const isWhole = frame === undefined && skipped === 0 && rest.length === 0
      return fault ?? (isWhole ? undefined : { reason: 'unexpected end of file', at: at + rest.length })
    },
  }
}

/** Parses a frame's header (RFC 8878 3.1.1.1); undefined if the bytes end before it does. Throws for what is not read. */
function parseFrameHeader(bytes: Buffer): { bytes: number; hasChecksum: boolean } | undefined {
  if (bytes.readUInt32LE() !== FRAME_MAGIC) throw new Error('no frame begins here')
  const flags = bytes[4] ?? 0
  const isSingle = (flags & 0x20) !== 0
  const dictionary = [0, 1, 2, 4][flags & 3] ?? 0
  const sizeFlag = flags >> 6
  const contentBytes = sizeFlag === 0 ? Number(isSingle) : 1 << sizeFlag
  const length = 5 + Number(!isSingle) + dictionary + contentBytes
  if (bytes.length < length) return undefined
  const window = isSingle ? readContentSize(bytes, length - contentBytes, contentBytes) : windowSize(bytes[5] ?? 0)
  if (window > MAX_WINDOW_BYTES)
    throw new Error(
      `it was compressed with a window over ${MAX_WINDOW_BYTES} bytes: compress it without --long and --ultra`,
    )
  return { bytes: length, hasChecksum: (flags & 4) !== 0 }
}

/** Parses a block's header (RFC 8878 3.1.1.2); `bytes` are those of header and content. Throws for damage. */
function parseBlockHeader(block: Buffer): { bytes: number; isLast: boolean } {
  const header = block.readUIntLE(0, BLOCK_HEADER_BYTES)
  const size = header >>> 3
  if (size > MAX_BLOCK_BYTES) throw new Error('a block is too large')
  // One byte, repeated.
  const isRepeated = ((header >> 1) & 3) === 1
  return { bytes: BLOCK_HEADER_BYTES + (isRepeated ? 1 : size), isLast: (header & 1) === 1 }
}

const readContentSize = (bytes: Buffer, at: number, length: number): number =>
  length === 8 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUIntLE(at, length) + (length === 2 ? 256 : 0)

const windowSize = (descriptor: number): number => {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}
