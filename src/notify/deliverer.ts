import type { AttemptResult } from './attempt-result.js'
import type { Notice, Outbox } from './outbox.js'

export interface DelivererDeps {
  outbox: Outbox
  /** One attempt. */
  send(notice: Notice): Promise<AttemptResult>
  now(): Date
  log(error: unknown, message: string): void
}

export interface Deliverer {
  /** Takes up what is due; when the next is, or undefined. Resolves with attempts still under way. */
  pass(): Promise<Date | undefined>
  /** Resolves when no attempt is under way and what became of each is written, or could not be. */
  idle(): Promise<void>
}

/** As many attempts at once, of all sites. */
const MAX_CONCURRENT_ATTEMPTS = 32

/**
 * Delivers what the outbox has. An attempt whose outcome cannot be written is not made again while this process lives: its
 * outcome is written at the next pass. `finished` hears of each attempt's end.
 */
export function createDeliverer({ outbox, send, now, log }: DelivererDeps, finished: () => void): Deliverer {
  const flying = new Map<number, Promise<void>>()
  let unwritten: { notice: Notice; outcome: AttemptResult; at: Date }[] = []
  /** Whether the outbox may hold attempts that nobody makes: as after a start. */
  let doubt = true
  let last: Promise<unknown> = Promise.resolve()

  const write = async (one: (typeof unwritten)[number]) => {
    try {
      await outbox.saveResult(one.notice, one.outcome, one.at)
    } catch (error) {
      unwritten.push(one)
      log(error, 'what became of a delivery could not be written; it is kept')
    }
  }
  const fly = (notice: Notice) => {
    const flight = send(notice)
      .catch((error: unknown): AttemptResult => {
        log(error, 'a delivery failed')
        return { taken: false, error: 'it could not be made' }
      })
      .then((outcome) => write({ notice, outcome, at: now() }))
      .finally(() => {
        flying.delete(notice.id)
        finished()
      })
    flying.set(notice.id, flight)
  }
  const pass = async (): Promise<Date | undefined> => {
    const again = unwritten
    unwritten = []
    for (const one of again) await write(one)
    if (flying.size >= MAX_CONCURRENT_ATTEMPTS) return undefined
    try {
      const mine = [...flying.keys(), ...unwritten.map(({ notice }) => notice.id)]
      if (doubt) await outbox.recover(now(), mine)
      doubt = false
      for (const notice of await outbox.take(now(), MAX_CONCURRENT_ATTEMPTS - flying.size)) fly(notice)
    } catch (error) {
      doubt = true
      throw error
    }
    return outbox.nextDue()
  }
  return {
    pass() {
      const next = last.then(pass, pass)
      last = next.catch(() => {})
      return next
    },
    async idle() {
      await last
      while (flying.size > 0) await Promise.all(flying.values())
    },
  }
}
