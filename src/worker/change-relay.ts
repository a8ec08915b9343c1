import type { Log } from '../storage/store.js'

/** Changes of other processes within this time are one: a page of settings writes several records. */
const CHANGE_DELAY_MS = 50

/**
 * Counts the changes of records that other processes make, and has the sites read again after them. A change that is heard
 * while the worker opens waits for `open`.
 */
export function createChangeRelay({
  onReloaded,
  log,
}: {
  /** Called after each reading, also where the sites could not be read: the site's process forgets what it has read. */
  onReloaded: () => void
  log: Log
}) {
  let open = (_reload: () => Promise<void>) => {}
  const opened = new Promise<() => Promise<void>>((resolve) => {
    open = resolve
  })
  let count = 0
  let isWaiting = false
  const relay = async (): Promise<void> => {
    const reload = await opened
    isWaiting = false
    await reload().catch((error) => log('warn', 'the sites that another process has changed cannot be read', error))
    onReloaded()
  }
  return {
    add(): void {
      count += 1
      if (isWaiting) return
      isWaiting = true
      setTimeout(() => void relay(), CHANGE_DELAY_MS)
    },
    /** The sites are read, and `reload` reads them again. */
    open,
    count: (): number => count,
  }
}
