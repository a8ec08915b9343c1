import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { openPrivateFile } from '../../base/private-file.js'
import { Jwk } from './keys.js'

/** A copy of a directory as it is stored on disk. */
const CachedDirectory = z.object({
  /** Its URL. */
  directory: z.string(),
  /** Milliseconds since 1970. */
  refreshed_at: z.number(),
  /** Milliseconds for which the copy is fresh, from `Cache-Control`. */
  lifetime: z.number(),
  /** Number of keys of unsupported kinds. */
  others: z.number(),
  keys: z.array(Jwk).max(100),
})
export type CachedDirectory = z.infer<typeof CachedDirectory>
const CacheFile = z.object({ directories: z.array(CachedDirectory) })

/** Reads the copies of an earlier run; none if there is no file. Throws if the file does not have the expected form. */
export function readCachedDirectories(path: string): CachedDirectory[] {
  const text = openPrivateFile(path).read()
  return text === undefined ? [] : CacheFile.parse(JSON.parse(text)).directories
}

/** Replaces the file in one step, so that a crash leaves either the old or the new file. */
export function writeCachedDirectories(path: string, directories: readonly CachedDirectory[]): void {
  mkdirSync(dirname(path), { recursive: true })
  openPrivateFile(path).write(`${JSON.stringify({ directories })}\n`)
}
