import { createLock } from '../../base/lock.js'
import type { AttemptResult, Notice, Outbox } from './notices.js'

interface DelivererDeps {
  outbox: Outbox
  /** Makes one attempt. */
  send(notice: Notice): Promise<AttemptResult>
  now(): Date
  log(error: unknown, message: string): void
  /** Called when an attempt has ended. */
  onFinish(): void
}

/** Bounds the attempts that run at once, of all sites. */
const MAX_CONCURRENT_ATTEMPTS = 32

/**
 * Delivers what the outbox holds. An attempt whose result cannot be written is not repeated while this process lives: its
 * result is written at the next pass.
 */
export function createDeliverer({ outbox, send, now, log, onFinish }: DelivererDeps) {
  const running = new Map<number, Promise<void>>()
  let unwritten: { notice: Notice; result: AttemptResult; at: Date }[] = []
  /** Whether the outbox may hold attempts that are not running, as it may after a start. */
  let mustRecover = true
  const lock = createLock()

  const write = async (entry: (typeof unwritten)[number]) => {
    try {
      await outbox.saveResult(entry.notice, entry.result, entry.at)
    } catch (error) {
      unwritten.push(entry)
      log(error, 'the result of a delivery could not be written; it is kept and retried')
    }
  }
  const startAttempt = (notice: Notice) => {
    const attempt = send(notice)
      .catch((error: unknown): AttemptResult => {
        log(error, 'a delivery failed')
        return { delivered: false, error: 'the delivery could not be made' }
      })
      .then((result) => write({ notice, result, at: now() }))
      .finally(() => {
        running.delete(notice.id)
        onFinish()
      })
    running.set(notice.id, attempt)
  }
  const runPass = async (): Promise<Date | undefined> => {
    const retried = unwritten
    unwritten = []
    for (const entry of retried) await write(entry)
    if (running.size >= MAX_CONCURRENT_ATTEMPTS) return undefined
    try {
      const active = [...running.keys(), ...unwritten.map(({ notice }) => notice.id)]
      if (mustRecover) await outbox.recover(now(), active)
      mustRecover = false
      for (const notice of await outbox.take(now(), MAX_CONCURRENT_ATTEMPTS - running.size)) startAttempt(notice)
    } catch (error) {
      mustRecover = true
      throw error
    }
    return outbox.nextDue()
  }
  return {
    /** Starts what is due, without waiting for the attempts, and returns when the next delivery is due. */
    pass: (): Promise<Date | undefined> => lock(runPass),
    /** Resolves when no attempt is running and each result has been written, or could not be. */
    async idle(): Promise<void> {
      await lock(async () => {})
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}
