import { appendFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { SpooledRow } from './spool-line.js'

/** Bytes of each of the two files; the older one is deleted when the newer is full. */
const MAX_FILE_BYTES = 1 << 20
const Fields = z.record(z.string(), z.unknown())

/**
 * Stores the rows that the collector refused for the operator: one JSON object per line in `refused.ndjson`, older ones in
 * `refused.old.ndjson`. The client's address is left out.
 */
export function createRefusedRows(directory: string, limit = MAX_FILE_BYTES) {
  const path = join(directory, 'refused.ndjson')
  return {
    async add({ list, json }: SpooledRow, why: string, at: Date): Promise<void> {
      const { ip: _, ...row } = Fields.parse(JSON.parse(json))
      const line = `${JSON.stringify({ refused_at: at.toISOString(), why, list, row })}\n`
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      )
      if (size > 0 && size + Buffer.byteLength(line) > limit) await rename(path, join(directory, 'refused.old.ndjson'))
      await appendFile(path, line, { mode: 0o600 })
    },
  }
}
