import { z } from 'zod'
import { sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import { POLICY_KINDS, POLICY_PATHS, standingOf } from './version.js'

/** One side of a stored change; `sha256` is empty if the file was missing. */
interface StoredState {
  readonly status: number
  readonly sha256: string
}

/** A change of a hostname's robots.txt or llms.txt, read from the stored versions. */
export interface StoredPolicyChange extends StoredState {
  readonly hostname: string
  /** `/robots.txt` or `/llms.txt`. */
  readonly file: string
  /** When readership noticed it. */
  readonly at: Date
  readonly before: StoredState
}

const Version = z.object({
  hostname: z.string(),
  kind: z.enum(POLICY_KINDS),
  status: z.number(),
  sha256: z.string().nullable(),
  first_seen: z.date(),
})

/**
 * Returns the changes of `start <= at < end`: versions that differ from the one before. The first version is not a change, and
 * neither are responses of 500 and above or failed requests.
 */
export async function readPolicyChanges(
  records: Pick<Records, 'query'>,
  { start, end }: { readonly start: Date; readonly end: Date },
): Promise<StoredPolicyChange[]> {
  const rows = await records.query(sql`
    select hostname, kind, status, sha256, first_seen from policies
    where first_seen < ${end} and status > 0 and status < 500 and hostname in (
      select hostname from policies where first_seen >= ${start} and first_seen < ${end})
    order by first_seen`)
  const states = new Map<string, StoredState>()
  return z
    .array(Version)
    .parse(rows)
    .flatMap(({ hostname, kind, status, sha256, first_seen: at }) => {
      const file = POLICY_PATHS[kind]
      const state = { status, sha256: standingOf(status) === 'served' ? (sha256 ?? '') : '' }
      const before = states.get(`${hostname}${file}`)
      states.set(`${hostname}${file}`, state)
      const isChange = before !== undefined && before.sha256 !== state.sha256 && at >= start
      return isChange ? [{ hostname, file, at, ...state, before }] : []
    })
}
