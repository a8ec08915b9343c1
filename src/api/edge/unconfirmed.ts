/** The longest-known bodies are forgotten above this number: some 2 MB, and far more than wait when a store stalls. */
const MAX_BODIES = 10_000

export type Unconfirmed = ReturnType<typeof createUnconfirmed>

/**
 * Remembers bodies whose rows were stored after their sender had been told 503, or had left. The sender sends such a body
 * again, with a new signature: it is confirmed then, and not stored a second time.
 */
export function createUnconfirmed(most = MAX_BODIES) {
  const bodies = new Set<string>()
  return {
    has: (body: string): boolean => bodies.has(body),
    add(body: string): void {
      bodies.delete(body)
      bodies.add(body)
      const [oldest] = bodies
      if (bodies.size > most && oldest !== undefined) bodies.delete(oldest)
    },
    delete: (body: string): void => void bodies.delete(body),
  }
}

/** Runs a function after some milliseconds; the returned function cancels it. */
export type After = (ms: number, run: () => void) => () => void

/** How long a sender waits for its response. */
export interface Deadline {
  /** Aborts `ms` after `start`, or when the sender leaves. */
  readonly signal: AbortSignal
  start(): void
  stop(): void
}

export function createDeadline(left: AbortSignal, ms: number, after: After): Deadline {
  const over = new AbortController()
  const end = () => over.abort()
  let cancel = () => {}
  left.addEventListener('abort', end)
  if (left.aborted) end()
  return {
    signal: over.signal,
    start() {
      cancel = after(ms, end)
    },
    stop() {
      cancel()
      left.removeEventListener('abort', end)
    },
  }
}
