/** The parts of a body, kept as one. */
export interface ByteBuffer {
  readonly size: number
  add(part: Uint8Array): void
  bytes(): Buffer<ArrayBufferLike>
}

/**
 * A first part is kept as it is, and most bodies have no other; any more are copied. A sender chooses how its bytes are
 * cut, and each part that is kept costs some hundreds of bytes: 2 MB in chunks of one byte took a gigabyte.
 */
export function createByteBuffer(): ByteBuffer {
  let bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  let size = 0
  return {
    get size() {
      return size
    },
    add(part) {
      const after = size + part.length
      if (size === 0) bytes = Buffer.from(part.buffer, part.byteOffset, part.length)
      else if (after > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(after, 2 * bytes.length))
        bytes.copy(larger, 0, 0, size)
        bytes = larger
      }
      if (size > 0) bytes.set(part, size)
      size = after
    },
    bytes: () => bytes.subarray(0, size),
  }
}
