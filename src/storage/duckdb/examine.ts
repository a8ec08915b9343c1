import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RECORDS_SCHEMA } from '../records/records-schema.js'
import { DuckDBInstance } from './bindings.js'
import { checkFile, isDamage } from './damage.js'
import { EVENTS_SCHEMA } from './events-schema.js'
import { isOpenHere } from './open.js'
import { isOtherThanFile, OTHER_VERSION, REPLAY_ERROR } from './repair.js'

/** A fault that a start would find: it sets a damaged file aside, and refuses one of a later version. */
export interface FileFault {
  kind: 'damaged' | 'later'
  why: string
}

const FILES = [
  { name: 'control.duckdb', known: RECORDS_SCHEMA.length, scope: 'everything' },
  { name: 'events.duckdb', known: EVENTS_SCHEMA.length, scope: 'start' },
] as const

export interface ExaminedFile {
  name: string
  exists: boolean
  /** The version of its schema; undefined if the file cannot be read, or is in use. */
  stored?: number | undefined
  /** The version of this program. */
  known: number
  fault?: FileFault
}

/** Examines the files of a data directory as a start does, and changes nothing. A file in use, or without a fault, has none. */
export const examineFiles = (data: string): Promise<ExaminedFile[]> =>
  Promise.all(
    FILES.map(async ({ name, known, scope }) => {
      const file = join(data, name)
      return { name, exists: existsSync(file), known, ...(await examineFile(file, known, scope)) }
    }),
  )

/** Never rejects. */
async function examineFile(
  file: string,
  programVersion: number,
  scope: Parameters<typeof checkFile>[2],
): Promise<Pick<ExaminedFile, 'stored' | 'fault'>> {
  if (!existsSync(file) || isOpenHere(file)) return {}
  if (isOtherThanFile(file)) return { fault: { kind: 'damaged', why: 'it is not a file' } }
  try {
    const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' })
    const connection = await instance.connect()
    try {
      await checkFile(connection, file, scope)
      const versions = await connection.runAndReadAll('select coalesce(max(version), 0)::integer from schema_versions')
      const version = Number(versions.value(0, 0))
      if (version <= programVersion) return { stored: version }
      const why = `schema version ${version}, and this readership knows versions up to ${programVersion}`
      return { stored: version, fault: { kind: 'later', why } }
    } finally {
      connection.disconnectSync()
      instance.closeSync()
    }
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
    if (OTHER_VERSION.test(why)) return { fault: { kind: 'later', why } }
    return isDamage(error) && !REPLAY_ERROR.test(why) ? { fault: { kind: 'damaged', why } } : {}
  }
}
