import { readFileSync } from 'node:fs'
import { z } from 'zod'

const File = z.object({ as_of: z.iso.date(), networks: z.record(z.string().regex(/^\d+$/), z.string().min(1)) })

let known: ReadonlySet<number> | undefined

/** Whether an autonomous system rents servers to whoever pays: few people read from there (`hosting.json`). */
export function isHosting(asn: number | null): boolean {
  known ??= new Set(
    Object.keys(File.parse(JSON.parse(readFileSync(new URL('./hosting.json', import.meta.url), 'utf8'))).networks).map(
      Number,
    ),
  )
  return asn !== null && known.has(asn)
}
