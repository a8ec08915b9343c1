import { ApiError } from '../errors.js'
import type { ResultRow } from '../store.js'
import type { ToWorker } from './protocol.js'

/** The asking process's end of answers that come in chunks. */
export interface StreamReceiver {
  /** Starts one under this id, which `start` posts; the worker is told when it is not wanted to its end. */
  open(id: number, start: () => void, signal?: AbortSignal): AsyncGenerator<ResultRow[]>
  chunk(id: number, rows: ResultRow[]): void
  /** Its last chunk is here, or, with an error, there will be none. */
  end(id: number, error?: ApiError): void
  /** The worker died. */
  endAll(error: ApiError): void
}

interface Stream {
  chunks: ResultRow[][]
  over?: { error?: ApiError | undefined }
  wake: () => void
}

/** `tell` posts to the worker where there is one. */
export function createStreamReceiver({ tell }: { tell: (message: ToWorker) => void }): StreamReceiver {
  const streams = new Map<number, Stream>()

  async function* open(id: number, start: () => void, signal?: AbortSignal): AsyncGenerator<ResultRow[]> {
    if (signal?.aborted) throw queryCancelled()
    start()
    const stream: Stream = { chunks: [], wake: () => {} }
    streams.set(id, stream)
    const leave = () => {
      tell({ type: 'cancel', id })
      stream.wake()
    }
    signal?.addEventListener('abort', leave, { once: true })
    try {
      for (;;) {
        if (signal?.aborted) throw queryCancelled()
        const rows = stream.chunks.shift()
        if (rows) {
          yield rows
          tell({ type: 'more', id })
        } else if (stream.over) {
          if (stream.over.error) throw stream.over.error
          return
        } else {
          await new Promise<void>((resolve) => {
            stream.wake = resolve
          })
        }
      }
    } finally {
      signal?.removeEventListener('abort', leave)
      streams.delete(id)
      if (!stream.over) tell({ type: 'cancel', id })
    }
  }

  const end = (id: number, error?: ApiError) => {
    const stream = streams.get(id)
    if (!stream) return
    stream.over = { error }
    stream.wake()
  }

  return {
    open,
    chunk(id, rows) {
      const stream = streams.get(id)
      stream?.chunks.push(rows)
      stream?.wake()
    },
    end,
    endAll: (error) => {
      for (const id of streams.keys()) end(id, error)
    },
  }
}

/** What is asked for with an aborted signal. */
export const queryCancelled = (): ApiError => new ApiError('database_error', 'The query was cancelled.')
