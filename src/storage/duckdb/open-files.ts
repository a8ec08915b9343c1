import type { randomBytes } from 'node:crypto'
import { endCopying, requireWholeCopy } from '../records/copy-marker.js'
import type { RecordStore, Repair } from '../store.js'
import { bindFiles, compareFiles, createRegisteringWrite, type FoundLoss } from './binding.js'
import { isDamage, WHAT_TO_DO } from './damage.js'
import { type EventStoreOptions, openEvents } from './event-store.js'
import type { FileSettings } from './open.js'
import { openRecords } from './records.js'
import { formatStamp, setFileAside } from './repair.js'

interface StoresOptions extends Omit<EventStoreOptions, 'file' | 'settings'> {
  /** The data directory. */
  data: string
  settings: { events: FileSettings; records: FileSettings }
  /** Opens records that are not in a file. */
  openRecords?: (() => Promise<RecordStore>) | undefined
  random: typeof randomBytes
}

/**
 * Opens `events.duckdb` and `control.duckdb`, or records elsewhere, and binds them to each other, so that no row reaches a
 * site that it does not belong to: events of another instance are set aside, and a site id is given once over both. Throws
 * `StoreOpenError`.
 */
export async function openStores({ data, settings, random, openRecords: openOthers, ...common }: StoresOptions) {
  const { now, log } = common
  const file = `${data}/events.duckdb`
  const open = () => openEvents({ ...common, settings: settings.events, file })
  const closing: (() => Promise<void>)[] = []
  try {
    let events = await open()
    closing.push(() => events.close())
    const records = await (openOthers?.() ??
      openRecords({ ...common, settings: settings.records, file: `${data}/control.duckdb` }))
    closing.push(() => records.close())
    await requireWholeCopy(records)
    /** Replaces the events by an empty file. */
    const replaceEvents = async (why: string): Promise<string> => {
      await events.close()
      const backup = setFileAside(file, formatStamp(now()))
      log('error', `${file} ${why} and lies in ${backup}. ${WHAT_TO_DO}`)
      events = await open()
      return backup
    }
    const losses = lossesOfRepairs(records.repairs, events.losses)
    let comparison = await compareFiles(records, events).catch(async (error: unknown) => {
      // Without the last site id of its rows, a new site might get a number that has some.
      if (!isDamage(error)) throw error
      losses.push({ kind: 'events_lost', backup: await replaceEvents('is damaged') })
      return compareFiles(records, events)
    })
    if (comparison.loss === 'events_foreign') {
      const backup = await replaceEvents(`does not belong to ${data}/control.duckdb`)
      losses.unshift({ kind: comparison.loss, backup })
      comparison = { ...comparison, eventsBorn: (await compareFiles(records, events)).eventsBorn }
    }
    const { loss } = comparison
    if (loss && !losses.some(({ kind }) => kind === loss)) losses.unshift({ kind: loss, backup: null })
    await bindFiles(records, events, { ...comparison, losses }, { token: random(16).toString('hex'), now: now() })
    await endCopying(records)
    const write = createRegisteringWrite(
      records,
      events,
      Math.max(comparison.recordsLastSite, comparison.eventsLastSite),
    )
    return { events, records: { ...records, write } }
  } catch (error) {
    for (const close of closing) await close()
    throw error
  }
}

/** The losses that repairs of the files mean. Rows that were cut from the log of the events are counted and logged only. */
function lossesOfRepairs(ofRecords: readonly Repair[], ofEvents: readonly Repair[]): FoundLoss[] {
  const isSetAside = ({ what }: Repair) => what === 'file_set_aside'
  return [
    ...ofRecords.slice(0, 1).map((repair): FoundLoss => {
      return { kind: isSetAside(repair) ? 'records_lost' : 'records_older', backup: repair.backup }
    }),
    ...ofEvents.filter(isSetAside).map(({ backup }): FoundLoss => ({ kind: 'events_lost', backup })),
  ]
}
