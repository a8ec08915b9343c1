import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { formatPrefix, type Prefix, parsePrefix } from '../../base/address.js'

/** A list as it was last fetched. */
export interface CachedList {
  prefixes: readonly Prefix[]
  /** When the server last confirmed the list; milliseconds since 1970. */
  at: number
  etag?: string | undefined
  last_modified?: string | undefined
}

const PrefixText = z.string().transform((text, context) => {
  const parsed = parsePrefix(text)
  if (parsed) return parsed
  context.addIssue('must be a prefix, such as 192.0.2.0/24')
  return z.NEVER
})
const CacheFile = z.object({
  url: z.string(),
  refreshed_at: z.iso.datetime(),
  etag: z.string().optional(),
  last_modified: z.string().optional(),
  prefixes: z.array(PrefixText).min(1),
})

/** Returns a file name that a person recognises and that no two URLs share. */
function fileName(url: string): string {
  const { hostname, pathname } = new URL(url)
  const readable = `${hostname}${pathname}`.replace(/[^a-z0-9.]+/gi, '-').slice(0, 80)
  return `${readable}.${createHash('sha256').update(url).digest('hex').slice(0, 8)}.json`
}

export type ListCache = ReturnType<typeof openListCache>

/** The cached lists in `<data>/agents/`, one file per list. */
export function openListCache(directory: string) {
  const pathOf = (url: string) => join(directory, fileName(url))
  return {
    /** Returns undefined if there is no copy or it cannot be read; the list is then fetched again. */
    read(url: string): CachedList | undefined {
      try {
        const { refreshed_at, ...file } = CacheFile.parse(JSON.parse(readFileSync(pathOf(url), 'utf8')))
        return file.url === url ? { ...file, at: Date.parse(refreshed_at) } : undefined
      } catch {
        return undefined
      }
    },
    /** Replaces the file in one step, so that a crash leaves either the old or the new copy. */
    async write(url: string, { prefixes, at, etag, last_modified }: CachedList): Promise<void> {
      const file: z.input<typeof CacheFile> = {
        url,
        refreshed_at: new Date(at).toISOString(),
        etag,
        last_modified,
        prefixes: prefixes.map(formatPrefix),
      }
      mkdirSync(directory, { recursive: true })
      const path = pathOf(url)
      try {
        await writeFile(`${path}.new`, `${JSON.stringify(file)}\n`)
        await rename(`${path}.new`, path)
      } catch (error) {
        await rm(`${path}.new`, { force: true })
        throw error
      }
    },
  }
}
