import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import type { ReadCounts } from './read-batches.js'

/** The log that the thread reads. */
export const ThreadFile = z.object({
  file: z.string(),
  /** As `--format`; detected without it. */
  format: z.string().optional(),
  tz: z.string(),
  /** Patterns of paths of data; absent: the default ones. */
  data_paths: z.array(z.string()).optional(),
})
export type ThreadFile = z.infer<typeof ThreadFile>

/** Messages of the thread. Each batch waits for a message back: whether it failed. */
export type FromThread =
  | { type: 'format'; title: string }
  | { type: 'batch'; text: string; counts: ReadCounts }
  | { type: 'read'; counts: ReadCounts; fault?: string }
  | { type: 'failed'; message: string }

const Counts = z.object({ lines: z.int(), broken: z.int(), not_pages: z.int(), data_lines: z.int(), bytes: z.int() })
const Message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('format'), title: z.string() }),
  z.object({ type: z.literal('batch'), text: z.string(), counts: Counts }),
  z.object({ type: z.literal('read'), counts: Counts, fault: z.string().optional() }),
  z.object({ type: z.literal('failed'), message: z.string() }),
])

/**
 * Reads a log in a thread of its own. `send` gets batches as JSON, one after the other. Resolves with what was read, and what
 * is wrong with a file that ends early. Throws what `send` throws, and an error if the log cannot be read.
 */
export function readInThread(
  file: ThreadFile,
  handlers: { onFormat(title: string): Promise<void>; send(text: string, counts: ReadCounts): Promise<void> },
): Promise<{ counts: ReadCounts; fault?: string | undefined }> {
  const thread = new Worker(new URL('./entry.js', import.meta.url), { workerData: file })
  let failure: unknown
  return new Promise((resolve, reject) => {
    const settle = (work: Promise<void>, answer: boolean) =>
      work.then(
        () => answer && thread.postMessage(false),
        (error: unknown) => {
          failure = error
          thread.postMessage(true)
        },
      )
    thread.on('message', (received: unknown) => {
      const message = Message.parse(received)
      if (message.type === 'format') void settle(handlers.onFormat(message.title), false)
      else if (message.type === 'batch') void settle(handlers.send(message.text, message.counts), true)
      else if (message.type === 'read') resolve(message)
      else reject(failure ?? new Error(message.message))
    })
    thread.on('error', reject)
    thread.on('exit', (code) => reject(failure ?? new Error(`The thread that reads the log ended with ${code}.`)))
  })
}
