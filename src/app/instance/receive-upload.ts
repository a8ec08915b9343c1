import { createWriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createDeferred } from '../../base/deferred.js'
import { ApiError } from '../../base/errors.js'

/** The free space is looked at after this many bytes of an upload. */
const CHECKED_BYTES = 16 << 20
/** An upload may take hours, but in each span of this time it brings something. */
const STALL_TIMEOUT_MS = 60_000
/** A kilobyte a second: a fifth of what a modem brought. */
const MIN_BYTES_PER_SPAN = 65_536

/**
 * Stores an upload in a new file. Rejects with `bad_request` if the client sends too little in a minute, and with
 * `database_error` if the disk takes too little in a minute, or when it has no more room, because the store needs it; an
 * upload takes half of the free room at most, so that none has all of it.
 */
export async function receiveUpload(
  body: ReadableStream<Uint8Array>,
  file: string,
  {
    min_free_disk = 0,
    stall_timeout_ms = STALL_TIMEOUT_MS,
    open = (path: string): NodeJS.WritableStream => createWriteStream(path, { mode: 0o600 }),
  }: {
    min_free_disk?: number | undefined
    stall_timeout_ms?: number | undefined
    open?: (path: string) => NodeJS.WritableStream
  },
): Promise<void> {
  const reader = body.getReader()
  let [received, receivedBefore] = [0, 0]
  let waitsForClient = false
  const end = new AbortController()
  // A disk that hangs ends no call, so that the timer and not the file ends the wait.
  const stalled = createDeferred<never>()
  const timer = setInterval(() => {
    const isStalled = received - receivedBefore < MIN_BYTES_PER_SPAN
    receivedBefore = received
    if (!isStalled) return
    const seconds = stall_timeout_ms / 1_000
    stalled.reject(
      waitsForClient
        ? new ApiError(
            'bad_request',
            `The upload stalled: fewer than ${MIN_BYTES_PER_SPAN} bytes arrived in ${seconds} seconds.`,
          )
        : new ApiError('database_error', `The disk took fewer than ${MIN_BYTES_PER_SPAN} bytes in ${seconds} seconds.`),
    )
    end.abort()
    reader.cancel().catch(() => {})
  }, stall_timeout_ms)
  async function* read() {
    let unchecked = CHECKED_BYTES
    for (;;) {
      waitsForClient = true
      const { done, value } = await reader.read()
      waitsForClient = false
      if (done) return
      received += value.length
      unchecked += value.length
      if (unchecked >= CHECKED_BYTES) {
        unchecked = 0
        const { bavail, bsize } = await statfs(dirname(file))
        const room = bavail * bsize - min_free_disk
        if (room < CHECKED_BYTES || room < received)
          throw new ApiError('database_error', 'The disk has no room for the log.')
      }
      yield value
    }
  }
  try {
    await Promise.race([pipeline(read(), open(file), { signal: end.signal }), stalled.promise])
  } finally {
    clearInterval(timer)
  }
}
