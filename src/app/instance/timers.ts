import type { Core } from './core.js'

/** Milliseconds between writes of the counts that are kept in memory. */
const FLUSH_INTERVAL_MS = 10_000
const RETRY_INTERVAL_MS = 10_000
const UPKEEP_INTERVAL_MS = 3_600_000
const REMOVALS_INTERVAL_MS = 60_000

/** Starts the repeated work of an instance; `stop` ends it and resolves when the clean-up in progress is done. */
export function startTimers({ workerClient, manage, removals, losses, refreshSites, ruleKeeper, log, now }: Core) {
  const { keys, sessions, drops } = manage
  const writers = [
    { name: 'the use of keys', write: keys.flush },
    { name: 'the counts of dropped rows', write: drops.flush },
    { name: 'the use of sessions', write: sessions.flush },
  ]
  const cleanUp = async () => {
    // An older copy of the records may name organisations to delete that were restored since.
    if (!workerClient.isWriter() || losses.list().length > 0) return
    await manage
      .cleanUp(now())
      .catch((error) => log.warn({ err: error }, 'the hourly clean-up failed and is repeated in an hour'))
  }
  let cleaning = cleanUp()
  removals.tick()
  const timers = [
    setInterval(() => {
      for (const { name, write } of writers)
        write().catch((error) =>
          log.warn({ err: error }, `${name} could not be written; kept in memory until the next try`),
        )
    }, FLUSH_INTERVAL_MS),
    // While the records cannot be read, the values of the last read stay in use.
    setInterval(() => {
      void refreshSites().catch(() => {})
      void losses.retry().catch(() => {})
      void ruleKeeper.retry()
    }, RETRY_INTERVAL_MS),
    setInterval(() => {
      cleaning = cleanUp()
    }, UPKEEP_INTERVAL_MS),
    setInterval(removals.tick, REMOVALS_INTERVAL_MS),
  ]
  for (const timer of timers) timer.unref()
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer)
      removals.close()
      await cleaning
    },
    /** Writes the counts a last time. */
    async flush() {
      for (const { name, write } of writers)
        await write().catch((error) => log.warn({ err: error }, `${name} since the last write are lost`))
    },
  }
}
