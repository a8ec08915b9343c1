import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../../base/time-units.js'
import { listBackups, listOwnBackups, openArchive, UNFINISHED } from './archive.js'
import type { ScheduleStatus } from './manifest.js'

type KeptBackup = NonNullable<ScheduleStatus['last']>

/** Returns the newest whole backup in `listOwnBackups`; undefined without one. Rejects if the directory cannot be read. */
export async function findLastBackup(directory: string, recordsBorn?: string): Promise<KeptBackup | undefined> {
  for (const path of await listOwnBackups(directory, recordsBorn)) {
    const found = await readWhole(path)
    if (found) return found
  }
  return undefined
}

/**
 * Deletes backups of `listOwnBackups` that are older than the newest `keep` whole ones. Each backup is whole by itself,
 * because it shares files with others as hard links.
 */
export async function deleteOldBackups(directory: string, keep: number, recordsBorn: string): Promise<void> {
  let whole = 0
  for (const path of await listOwnBackups(directory, recordsBorn))
    if (whole >= keep) {
      // Under its own name, it must not look whole when only some of its files are deleted.
      await rename(path, path + UNFINISHED)
      await rm(path + UNFINISHED, { recursive: true, force: true })
    } else if (await readWhole(path)) whole += 1
}

/** Deletes backups that a killed process has left unfinished for a day. */
export async function deleteUnfinished(directory: string, now: Date): Promise<void> {
  for (const path of await listBackups(directory, UNFINISHED))
    if ((await stat(path)).mtimeMs < now.getTime() - DAY_MS) await rm(path, { recursive: true, force: true })
}

/** Reads the manifest, and looks whether every file is there in its length; undefined if not. Checksums take too long here. */
async function readWhole(path: string): Promise<KeptBackup | undefined> {
  try {
    const { manifest, close } = await openArchive(path)
    await close()
    let bytes = 0
    for (const member of manifest.members) {
      if ((await stat(join(path, member.name))).size !== member.bytes) return undefined
      bytes += member.bytes
    }
    return { taken_at: manifest.taken_at, bytes }
  } catch {
    return undefined
  }
}
