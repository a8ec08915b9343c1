import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Prefix, parsePrefix, prefixText } from '../../address.js'

/** A list as it was last fetched. */
export interface CachedList {
  prefixes: readonly Prefix[]
  /** When the server last said that this is it; milliseconds since 1970. */
  at: number
  etag?: string
  last_modified?: string
}

/** The copies in `<data>/agents/`, a file for each list. */
export interface ListCache {
  /** Undefined where there is none that can be read. */
  read(url: string): CachedList | undefined
  /** Whole or not at all, whatever happens meanwhile. */
  write(url: string, copy: CachedList): Promise<void>
}

const PrefixText = z.string().transform((text, context) => {
  const parsed = parsePrefix(text)
  if (parsed) return parsed
  context.addIssue('is no prefix')
  return z.NEVER
})
const CacheFile = z.object({
  url: z.string(),
  refreshed_at: z.iso.datetime(),
  etag: z.string().optional(),
  last_modified: z.string().optional(),
  prefixes: z.array(PrefixText).min(1),
})

/** A name that a person recognises, and no two URLs share. */
function nameOf(url: string): string {
  const { hostname, pathname } = new URL(url)
  const shown = `${hostname}${pathname}`.replace(/[^a-z0-9.]+/gi, '-').slice(0, 80)
  return `${shown}.${createHash('sha256').update(url).digest('hex').slice(0, 8)}.json`
}

export function openListCache(directory: string): ListCache {
  const fileOf = (url: string) => join(directory, nameOf(url))
  return {
    read(url) {
      try {
        const file = CacheFile.parse(JSON.parse(readFileSync(fileOf(url), 'utf8')))
        if (file.url !== url) return undefined
        const { etag, last_modified, prefixes } = file
        return {
          prefixes,
          at: Date.parse(file.refreshed_at),
          ...(etag !== undefined && { etag }),
          ...(last_modified !== undefined && { last_modified }),
        }
      } catch {
        // Not there, or cut off by a fault long ago: it is fetched again.
        return undefined
      }
    },
    async write(url, { prefixes, at, etag, last_modified }) {
      const file: z.input<typeof CacheFile> = {
        url,
        refreshed_at: new Date(at).toISOString(),
        etag,
        last_modified,
        prefixes: prefixes.map(prefixText),
      }
      mkdirSync(directory, { recursive: true })
      const name = fileOf(url)
      try {
        await writeFile(`${name}.new`, `${JSON.stringify(file)}\n`)
        await rename(`${name}.new`, name)
      } catch (error) {
        await rm(`${name}.new`, { force: true })
        throw error
      }
    },
  }
}
