/**
 * Collects the parts of a body in one buffer. The first part is kept as it is, and most bodies have no other; later parts
 * are copied, because the sender chooses how its bytes are cut: 2 MB in chunks of one byte took a gigabyte when each
 * chunk was kept.
 */
export function createByteBuffer() {
  let buffer: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  let size = 0
  return {
    get size() {
      return size
    },
    add(part: Uint8Array): void {
      const after = size + part.length
      if (size === 0) buffer = Buffer.from(part.buffer, part.byteOffset, part.length)
      else if (after > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(after, 2 * buffer.length))
        buffer.copy(larger, 0, 0, size)
        buffer = larger
      }
      if (size > 0) buffer.set(part, size)
      size = after
    },
    bytes: (): Buffer<ArrayBufferLike> => buffer.subarray(0, size),
  }
}
