import { statfs } from 'node:fs/promises'
import { ApiError } from '../errors.js'

/** The free space is looked at after this many bytes of an upload. */
const CHECKED_BYTES = 16 << 20
/** An upload may take hours, but in each span of this time it brings something. */
const STALL_TIMEOUT_MS = 60_000
/** A kilobyte a second: a fifth of what a modem brought. */
const MIN_BYTES_PER_SPAN = 65_536

/**
 * Yields an upload. Throws `bad_request` if the client sends too little in a minute. Throws `database_error` when the disk has
 * no more room, because the store needs it; an upload takes half of the free room at most, so that none has all of it.
 */
export async function* receiveUpload(
  body: ReadableStream<Uint8Array>,
  directory: string,
  {
    min_free_disk = 0,
    stall_timeout_ms = STALL_TIMEOUT_MS,
  }: { min_free_disk?: number | undefined; stall_timeout_ms?: number | undefined },
) {
  const reader = body.getReader()
  let isStalled = false
  let [received, receivedBefore] = [0, 0]
  const timer = setInterval(() => {
    isStalled = received - receivedBefore < MIN_BYTES_PER_SPAN
    receivedBefore = received
    if (isStalled) reader.cancel().catch(() => {})
  }, stall_timeout_ms)
  let unchecked = CHECKED_BYTES
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isStalled)
        throw new ApiError(
          'bad_request',
          `The upload stalled: fewer than ${MIN_BYTES_PER_SPAN} bytes arrived in ${stall_timeout_ms / 1_000} seconds.`,
        )
      if (done) return
      received += value.length
      unchecked += value.length
      if (unchecked >= CHECKED_BYTES) {
        unchecked = 0
        const { bavail, bsize } = await statfs(directory)
        const room = bavail * bsize - min_free_disk
        if (room < CHECKED_BYTES || room < received)
          throw new ApiError('database_error', 'The disk has no room for the log.')
      }
      yield value
    }
  } finally {
    clearInterval(timer)
  }
}
