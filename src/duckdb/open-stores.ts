import type { randomBytes } from 'node:crypto'
import { endCopying, requireWholeCopy } from '../copy-marker.js'
import type { RecordStore, Repair } from '../store.js'
import { bindFiles, compareFiles, createRegisteringWrite, type Loss } from './binding.js'
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
    let found = await compareFiles(records, events)
    const repair = lossOfRepairs(records.repairs, events.losses)
    const loss = found.loss ?? repair?.loss
    let backup = loss === repair?.loss ? (repair?.backup ?? null) : null
    if (loss === 'events_foreign') {
      await events.close()
      backup = setFileAside(file, formatStamp(now()))
      log('error', `${file} does not belong to ${data}/control.duckdb and lies in ${backup}`)
      events = await open()
      found = { ...found, eventsBorn: (await compareFiles(records, events)).eventsBorn }
    }
    await bindFiles(records, events, { ...found, loss, backup }, { token: random(16).toString('hex'), now: now() })
    await endCopying(records)
    const write = createRegisteringWrite(records, events, Math.max(found.recordsLastSite, found.eventsLastSite))
    return { events, records: { ...records, write } }
  } catch (error) {
    for (const close of closing) await close()
    throw error
  }
}

/** The loss that repairs of the files mean. Rows that were cut from the log of the events are counted and logged only. */
function lossOfRepairs(
  ofRecords: readonly Repair[],
  ofEvents: readonly Repair[],
): { loss: Loss; backup: string } | undefined {
  const [records] = ofRecords
  if (records)
    return { loss: records.what === 'file_set_aside' ? 'records_lost' : 'records_older', backup: records.backup }
  const events = ofEvents.find(({ what }) => what === 'file_set_aside')
  return events && { loss: 'events_lost', backup: events.backup }
}
