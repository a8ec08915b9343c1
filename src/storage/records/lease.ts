import { z } from 'zod'
import { sql } from '../sql.js'
import type { Log, Records } from '../store.js'

/**
 * The holder shows that it lives by raising a count. The others take the lease over when they have read the same count so
 * often in a row, a second apart: no clocks are compared, and a time without the database does not count.
 */
export const POLL_MS = 1_000
const UNCHANGED_POLLS = 8
/** A holder that was not seen to renew for longer is dead, or about to be taken over. */
export const MAX_RENEWAL_AGE_SECONDS = UNCHANGED_POLLS + 2

const Row = z.object({ epoch: z.number(), instance: z.string(), address: z.string(), renewals: z.number() })
type Row = z.infer<typeof Row>

export type Lease = ReturnType<typeof createLease>

const isSameRenewal = (a: Row | undefined, b: Row): boolean => a?.epoch === b.epoch && a.renewals === b.renewals

/** The lease as a process has read it last. */
export interface LeaseStatus {
  /** Whether some process has the lease, and was seen to renew it lately. */
  held: boolean
  epoch: number
  /** How long this process has read no renewal. */
  age_seconds: number
}

interface LeaseOptions {
  records: Pick<Records, 'query' | 'write'>
  instance: string
  address: string
  /** Milliseconds that only ascend. */
  clock(): number
}

/**
 * Makes this process one of those that may become the writer. `instance` names it among them; `address` is where the
 * others reach it. All methods throw what the records throw.
 */
export function createLease({ records, instance, address, clock }: LeaseOptions) {
  let seen: Row | undefined
  /** The row that was read last, and when another one was read before. */
  let last: { row: Row; since: number } | undefined
  let unchanged = 0
  let isRenewed = false

  const read = async (): Promise<Row> => {
    const [row] = await records.query(sql`select epoch, instance, address, renewals from writers`)
    const read = Row.parse(row)
    last = { row: read, since: last && isSameRenewal(last.row, read) ? last.since : clock() }
    return read
  }
  /** Without an instance, no process has the lease: the first has not begun, or the last has ended in order. */
  const isFree = (row: Row): boolean => row.instance === '' || row.instance === instance || unchanged >= UNCHANGED_POLLS

  return {
    /**
     * Takes the lease if it is free, and returns its epoch; undefined if another process holds it, at the moment or by
     * being quicker. Call it every `POLL_MS`.
     */
    async take(): Promise<number | undefined> {
      try {
        const row = await read()
        const isSame = isSameRenewal(seen, row)
        unchanged = isSame ? unchanged + 1 : 0
        isRenewed = seen !== undefined && !isSame
        seen = row
        if (!isFree(row)) return undefined
        const epoch = row.epoch + 1
        await records.write(sql`update writers set epoch = ${epoch}, instance = ${instance}, address = ${address},
          renewals = 0 where epoch = ${row.epoch} and renewals = ${row.renewals}`)
        seen = await read()
        return seen.epoch === epoch && seen.instance === instance ? epoch : undefined
      } catch (error) {
        unchanged = 0
        throw error
      }
    },
    /** Takes the lease from any holder, and returns its epoch: for records that no other process can open at the time. */
    async seize(): Promise<number> {
      const { epoch } = await read()
      await records.write(sql`update writers set epoch = ${epoch + 1}, instance = ${instance}, address = ${address},
        renewals = 0`)
      return epoch + 1
    },
    /** Whether the last call of `take` read another renewal than the one before: the holder lives. */
    isRenewed: (): boolean => isRenewed,
    /** Reads who holds the lease, and leaves it with them. */
    async watch(): Promise<undefined> {
      seen = await read()
    },
    /** The writer's address as it was read last; undefined without a writer. */
    writerAddress: (): string | undefined => (seen && seen.instance !== '' ? seen.address : undefined),
    /** Returns the lease as this process read it last; undefined before the first time. */
    status(): LeaseStatus | undefined {
      if (!last) return undefined
      const age_seconds = (clock() - last.since) / 1_000
      const held = last.row.instance !== '' && age_seconds <= MAX_RENEWAL_AGE_SECONDS
      return { held, epoch: last.row.epoch, age_seconds }
    },
    /** Shows that this process lives; false if another one has taken the lease over. */
    async renew(epoch: number): Promise<boolean> {
      await records.write(sql`update writers set renewals = renewals + 1 where epoch = ${epoch}`)
      return (await read()).epoch === epoch
    },
    /** Gives the lease up, so that another process need not wait. */
    async release(epoch: number): Promise<void> {
      await records.write(sql`update writers set instance = '', address = '' where epoch = ${epoch}`)
    },
  }
}

/** Returns a function that logs a message unless it is the one before, for what is looked up again and again. */
export function logOnce(log: Log): Log {
  let last: string | undefined
  return (level, message, error) => {
    if (message !== last) log(level, message, error)
    last = message
  }
}

/** Twice in the time after which others take the lease over, and more. */
const RENEWAL_MS = 2_000

/**
 * Renews a lease that was taken until `stop`. Calls `onLost` once when another process has taken it over. A renewal that
 * fails is repeated: without the database no other process can take the lease either.
 */
export function keepLease({ lease, epoch }: { lease: Lease; epoch: number }, onLost: () => void) {
  let renewing: Promise<void> = Promise.resolve()
  const renew = async () => {
    const isHeld = await lease.renew(epoch).catch(() => true)
    if (isHeld || timer === undefined) return
    stop()
    onLost()
  }
  let timer: NodeJS.Timeout | undefined = setInterval(() => {
    renewing = renewing.then(renew)
  }, RENEWAL_MS)
  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }
  return {
    stop,
    /** Stops, and gives the lease up. Never rejects: what is not given up is taken over later. */
    async release(): Promise<void> {
      stop()
      await renewing
      await lease.release(epoch).catch(() => {})
    },
  }
}
