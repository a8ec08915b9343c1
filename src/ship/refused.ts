import { appendFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Row } from './line.js'

/** Of each of the two files; the older one goes when the younger is full. */
const LIMIT = 1 << 20
const Fields = z.record(z.string(), z.unknown())

/**
 * Rows that the collector will not have, for the operator to look at: one JSON object a line in `refused.ndjson`, what was
 * there before in `refused.old.ndjson`. Without the address, which is for the way only.
 */
export function createRefused(directory: string, limit = LIMIT) {
  const path = join(directory, 'refused.ndjson')
  return {
    async add({ list, json }: Row, why: string, at: Date): Promise<void> {
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
