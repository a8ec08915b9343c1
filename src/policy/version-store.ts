import { z } from 'zod'
import { join, type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import { POLICY_KINDS, type PolicyVersion } from './version.js'

/** Versions of one file of one hostname that are kept. */
export const MAX_VERSIONS = 200
/** Hostnames of which versions are kept; beyond it those that were longest not asked for, and are no more, are forgotten. */
const MAX_STORED_HOSTNAMES = 256
/** Characters of bodies in memory, of all hostnames, the newest first; older versions can be shown, not judged by. */
const MAX_BODY_CHARS = 32 << 20
/** Characters of bodies that are asked for in one statement: the records' engine has little memory. */
const BODY_CHARS_PER_QUERY = 4 << 20

const Row = z.object({
  hostname: z.string(),
  kind: z.enum(POLICY_KINDS),
  url: z.string(),
  status: z.int(),
  reason: z.string().nullable(),
  sha256: z.string(),
  length: z.number().nullable(),
  truncated: z.boolean(),
  content_type: z.string(),
  etag: z.string().nullable(),
  last_modified: z.string().nullable(),
  first_seen: z.date(),
  last_seen: z.date(),
})
type Row = z.infer<typeof Row>
const BodyRow = z.object({ sha256: z.string(), body: z.string() })

/** Every version that is stored, oldest first. Throws `ApiError` where the records cannot be read. */
export async function loadVersions(records: Pick<Records, 'query'>): Promise<PolicyVersion[]> {
  const found = await records.query(sql`
    select hostname, kind, url, status, reason, sha256, length(body) as length, truncated, content_type, etag,
      last_modified, first_seen, last_seen
    from policies order by first_seen`)
  const rows = found.map((row) => Row.parse(row))
  const bodies = await loadBodies(records, rows)
  return rows.map(({ length, reason, etag, last_modified, first_seen, last_seen, ...row }) => ({
    ...row,
    body: row.sha256 === '' ? undefined : bodies.get(row.sha256),
    ...(reason === null ? {} : { reason }),
    ...(etag === null ? {} : { etag }),
    ...(last_modified === null ? {} : { last_modified }),
    first_seen: first_seen.getTime(),
    last_seen: last_seen.getTime(),
  }))
}

async function loadBodies(records: Pick<Records, 'query'>, rows: readonly Row[]): Promise<Map<string, string>> {
  const bodies = new Map<string, string>()
  const wanted = new Set<string>()
  let held = 0
  let chunk: string[] = []
  let size = 0
  const load = async () => {
    if (chunk.length === 0) return
    const among = join(
      chunk.map((sha256) => sql`${sha256}`),
      ', ',
    )
    const found = await records.query(sql`
      select sha256, any_value(body) as body from policies where sha256 in (${among}) group by sha256`)
    for (const row of found) {
      const { sha256, body } = BodyRow.parse(row)
      bodies.set(sha256, body)
    }
    chunk = []
    size = 0
  }
  for (const { sha256, length } of rows.toReversed()) {
    if (sha256 === '' || length === null || wanted.has(sha256)) continue
    held += length
    if (held > MAX_BODY_CHARS) break
    wanted.add(sha256)
    chunk.push(sha256)
    size += length
    if (size > BODY_CHARS_PER_QUERY) await load()
  }
  await load()
  return bodies
}

/** Lets go of the bodies that are too many, the oldest first; the newest of each file stays. */
export function releaseBodies(files: readonly (readonly PolicyVersion[])[]): void {
  const held = new Set<string>()
  let size = 0
  const all = files.flatMap((versions) => versions.map((version, i) => ({ version, last: i === versions.length - 1 })))
  for (const { version, last } of all.sort((a, b) => b.version.first_seen - a.version.first_seen)) {
    if (version.body === undefined || held.has(version.sha256)) continue
    size += version.body.length
    held.add(version.sha256)
    if (size > MAX_BODY_CHARS && !last) version.body = undefined
  }
}

/**
 * What stores a version that is new, and forgets those of its file that are too many, and hostnames that are; never one
 * of `kept`, which is asked for still: that it was is stored seldom, and names that strangers make up are newer then.
 */
export const insertVersion = (version: PolicyVersion, kept: readonly string[]): Sql[] => [
  sql`insert into policies (hostname, kind, url, status, reason, sha256, body, truncated, content_type, etag,
      last_modified, first_seen, last_seen)
    values (${version.hostname}, ${version.kind}, ${version.url}, ${version.status}, ${version.reason ?? null},
      ${version.sha256}, ${version.body ?? null}, ${version.truncated}, ${version.content_type}, ${version.etag ?? null},
      ${version.last_modified ?? null}, ${new Date(version.first_seen)}, ${new Date(version.last_seen)})`,
  sql`delete from policies where hostname = ${version.hostname} and kind = ${version.kind} and first_seen < (
      select min(first_seen) from (select first_seen from policies
        where hostname = ${version.hostname} and kind = ${version.kind} order by first_seen desc limit ${MAX_VERSIONS}) kept)`,
  sql`delete from policies where hostname not in (
      select hostname from (select hostname, max(last_seen) as seen from policies group by hostname
        order by seen desc, hostname limit ${MAX_STORED_HOSTNAMES}) kept)
    and hostname not in (select unnest(from_json(${JSON.stringify(kept)}, '["VARCHAR"]')))`,
]

/** What stores that a version was seen again. */
export const updateVersion = (version: PolicyVersion): Sql =>
  sql`update policies set last_seen = ${new Date(version.last_seen)}, status = ${version.status},
      reason = ${version.reason ?? null}, url = ${version.url}, etag = ${version.etag ?? null},
      last_modified = ${version.last_modified ?? null}
    where hostname = ${version.hostname} and kind = ${version.kind} and first_seen = ${new Date(version.first_seen)}`
