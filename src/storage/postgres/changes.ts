import type { Pool, PoolClient } from 'pg'

/** The channel on which the processes tell each other that they have written. */
export const CHANGES = 'readership_records'
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 15_000
/** A connection that was lost without a word is found after this time, and as long again for the answer. */
const HEARTBEAT_MS = 5_000
/** A statement with a timeout of its own, which `pg` takes and its types lack. */
const HEARTBEAT = { text: 'select 1', query_timeout: HEARTBEAT_MS }

export interface ChangeOptions {
  /** Names this process among those that share the database. */
  instance: string
  /** Called when another process has written, and after a time in which it may have. */
  onChange: () => void
  log: (level: 'info' | 'warn' | 'error', message: string, error?: unknown) => void
}

/**
 * Calls `onChange` when another process has written. A connection that ends is opened again, and `onChange` is called then
 * too, because a change may have been missed. Rejects if the first connection cannot be made.
 */
export async function listenForChanges(
  pool: Pool,
  { instance, onChange, log }: ChangeOptions,
): Promise<{ stop(): void }> {
  let client: PoolClient | undefined
  let timer: NodeJS.Timeout | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let wait_ms = FIRST_RETRY_MS
  let stopped = false

  const listen = async (): Promise<void> => {
    const connection = await pool.connect()
    if (stopped) return connection.release(true)
    client = connection
    connection.on('notification', ({ payload }) => payload !== instance && onChange())
    // A connection that ends may emit `error` more than once.
    const onError = (error: unknown) => {
      if (!end(connection) || stopped) return
      log('warn', 'changes of other processes are not heard until the database answers again', error)
      listenAgain()
    }
    connection.on('error', onError)
    try {
      await connection.query(`listen ${CHANGES}`)
    } catch (error) {
      // The event of its end, if there was one, listens again already.
      if (end(connection)) throw error
      return
    }
    clearInterval(heartbeat)
    heartbeat = setInterval(() => connection.query(HEARTBEAT).catch(onError), HEARTBEAT_MS)
  }
  /** Closes the connection; false if it was closed before. */
  const end = (connection: PoolClient | undefined): boolean => {
    if (!connection || connection !== client) return false
    client = undefined
    clearInterval(heartbeat)
    connection.release(true)
    return true
  }
  const listenAgain = (): void => {
    timer = setTimeout(() => {
      listen().then(
        () => {
          wait_ms = FIRST_RETRY_MS
          onChange()
        },
        () => {
          wait_ms = Math.min(2 * wait_ms, MAX_RETRY_MS)
          if (!stopped) listenAgain()
        },
      )
    }, wait_ms)
  }
  await listen()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
      end(client)
    },
  }
}
