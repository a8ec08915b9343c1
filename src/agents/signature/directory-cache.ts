import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
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
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  return CacheFile.parse(JSON.parse(text)).directories
}

/** Replaces the file in one step, so that a crash leaves either the old or the new file. */
export function writeCachedDirectories(path: string, directories: readonly CachedDirectory[]): void {
  mkdirSync(dirname(path), { recursive: true })
  const part = openSync(`${path}.part`, 'w', 0o600)
  try {
    writeSync(part, `${JSON.stringify({ directories })}\n`)
    fsyncSync(part)
  } finally {
    closeSync(part)
  }
  renameSync(`${path}.part`, path)
}
