import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { Jwk } from './keys.js'

/** A directory's copy as it lies on disk. */
const Copy = z.object({
  directory: z.string(),
  /** Milliseconds since 1970. */
  refreshed_at: z.number(),
  /** Milliseconds that `Cache-Control` gave it. */
  lifetime: z.number(),
  others: z.number(),
  keys: z.array(Jwk).max(100),
})
export type Copy = z.infer<typeof Copy>
const CacheFile = z.object({ directories: z.array(Copy) })

/** The copies of an earlier run; throws where the file is not one of ours, and gives none where there is no file. */
export function readCachedDirectories(path: string): Copy[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  return CacheFile.parse(JSON.parse(text)).directories
}

/** Replaces the file in one step, so that a crash leaves the old or the new one. */
export function writeCachedDirectories(path: string, directories: readonly Copy[]): void {
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
