import { MINUTE_MS } from '../../base/time-units.js'
import type { EventStore } from '../../storage/event-store.js'
import type { PageEdition, PageEditionKey } from '../../storage/page-samples.js'
import type { Log } from '../../storage/store.js'

export interface EditionWriterDeps {
  store: Pick<EventStore, 'writePageEditions'>
  /** Whether a page still belongs to the site of its row: a deleted site has no samples any more. */
  isOfSite: (edition: PageEdition) => boolean
  /** Why nothing may be written at present; undefined if it may. */
  obstacle: () => string | undefined
  /** Milliseconds since 1970. */
  now: () => number
  log: Log
}

/**
 * New editions are stored this often in the long run, because a checkpoint follows, and after a calm time at once, so many
 * times; later samples of the same ones less often.
 */
const STORE_INTERVAL_MS = MINUTE_MS
const MAX_STORES_AT_ONCE = 10
const SEEN_INTERVAL_MS = 10 * MINUTE_MS

const keyOf = (one: PageEditionKey) => JSON.stringify([one.site_id, one.hostname, one.pathname, one.first_seen])

/** Collects changes of editions until they are stored; of the changes of one edition the last counts. */
export function createEditionWriter({ store, isOfSite, obstacle, now, log }: EditionWriterDeps) {
  let waiting = new Map<string, { put?: PageEdition; remove?: PageEditionKey }>()
  /** The changes that are being stored. */
  let storing: typeof waiting = new Map()
  let isUrgent = false
  let storedAt = Number.NEGATIVE_INFINITY
  /** Stores that count against those at once, one less after each interval. */
  let recent = 0
  return {
    add(put: readonly PageEdition[], remove: readonly PageEditionKey[]): void {
      for (const key of remove) waiting.set(keyOf(key), { remove: key })
      for (const edition of put) waiting.set(keyOf(edition), { put: edition })
      isUrgent ||= remove.length > 0 || put.some(({ samples }) => samples === 1)
    },
    /** Whether a change of the site's editions is not stored yet. */
    hasChangesOf: (site: number): boolean =>
      [...storing.values(), ...waiting.values()].some(({ put, remove }) => (put ?? remove)?.site_id === site),
    /** Stores what waits: everything, or only what is due. Never rejects. */
    async store(all: boolean): Promise<void> {
      const calmMs = Math.abs(now() - storedAt)
      const stores = Math.max(0, recent - calmMs / STORE_INTERVAL_MS)
      const isDue = all || (isUrgent ? stores <= MAX_STORES_AT_ONCE - 1 : calmMs >= SEEN_INTERVAL_MS)
      if (waiting.size === 0 || storing.size > 0 || !isDue || obstacle() !== undefined) return
      storing = waiting
      waiting = new Map()
      isUrgent = false
      storedAt = now()
      recent = stores + 1
      try {
        const rows = [...storing.values()]
        const put = rows.flatMap((one) => one.put ?? []).filter(isOfSite)
        await store.writePageEditions({ put, remove: rows.flatMap(({ remove }) => remove ?? []) })
      } catch (error) {
        log('warn', 'samples of pages could not be stored; this will be tried again', error)
        waiting = new Map([...storing, ...waiting])
        isUrgent = true
      } finally {
        storing = new Map()
      }
    },
  }
}
