import type { ApiError } from '../base/errors.js'
import { queryCancelled, type ResultRow } from '../storage/store.js'
import type { ToWorker } from './protocol.js'

interface Stream {
  chunks: ResultRow[][]
  end?: { error?: ApiError | undefined }
  /** Beats since the last chunk while the caller waits for the next. */
  beats: number
  isAwaited: boolean
  wake: () => void
}

/** Results of the worker that arrive in chunks, each under an id. */
export function createStreamReceiver({ post }: { post: (message: ToWorker) => void }) {
  const streams = new Map<number, Stream>()

  const end = (id: number, error?: ApiError): void => {
    const stream = streams.get(id)
    if (!stream) return
    stream.end = { error }
    stream.wake()
  }

  return {
    /** Yields the chunks of a stream that `start` requests. Cancels it in the worker if it is left before its end. */
    async *open(id: number, start: () => void, signal?: AbortSignal): AsyncGenerator<ResultRow[]> {
      if (signal?.aborted) throw queryCancelled()
      start()
      const stream: Stream = { chunks: [], beats: 0, isAwaited: false, wake: () => {} }
      streams.set(id, stream)
      const cancel = () => {
        post({ type: 'cancel', id })
        stream.wake()
      }
      signal?.addEventListener('abort', cancel, { once: true })
      try {
        for (;;) {
          if (signal?.aborted) throw queryCancelled()
          const rows = stream.chunks.shift()
          if (rows) {
            yield rows
            post({ type: 'more', id })
          } else if (stream.end) {
            if (stream.end.error) throw stream.end.error
            return
          } else {
            stream.isAwaited = true
            await new Promise<void>((resolve) => {
              stream.wake = resolve
            })
            stream.isAwaited = false
          }
        }
      } finally {
        signal?.removeEventListener('abort', cancel)
        streams.delete(id)
        if (!stream.end) post({ type: 'cancel', id })
      }
    },
    chunk(id: number, rows: ResultRow[]): void {
      const stream = streams.get(id)
      if (!stream) return
      stream.beats = 0
      stream.chunks.push(rows)
      stream.wake()
    },
    /** Ends the streams whose caller has waited for a chunk for `most` beats. */
    beat(most: number, error: ApiError): void {
      for (const [id, stream] of streams) {
        if (!stream.isAwaited || stream.end) continue
        stream.beats += 1
        if (stream.beats < most) continue
        post({ type: 'cancel', id })
        end(id, error)
      }
    },
    /** The last chunk has arrived; with an error, none will follow. */
    end,
    endAll(error: ApiError): void {
      for (const id of streams.keys()) end(id, error)
    },
  }
}
