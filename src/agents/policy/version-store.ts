import { z } from 'zod'
import { isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import { POLICY_KINDS, type PolicyVersion } from './version.js'

/** Versions that are stored of one file of one hostname. */
export const MAX_VERSIONS = 200
/** Hostnames whose versions are stored. Beyond it, hostnames that are no longer fetched are deleted, the oldest first. */
const MAX_STORED_HOSTNAMES = 256
/** Characters of bodies in memory, newest first. Older versions can be shown, but requests are not judged by them. */
const MAX_BODY_CHARS = 32 << 20
/** Characters of bodies that one query reads, because the engine of the records has little memory. */
const BODY_CHARS_PER_QUERY = 4 << 20
/** `last_seen` of unchanged versions is stored this often; new versions are stored at once. */
const RENEWALS_STORE_MS = 3_600_000
const STORE_RETRY_MS = 30_000

const PolicyRow = z.object({
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
const BodyRow = z.object({ sha256: z.string(), body: z.string() })

/** Reads every stored version, oldest first. Throws `ApiError` if the records cannot be read. */
export async function loadVersions(records: Pick<Records, 'query'>): Promise<PolicyVersion[]> {
  const storedRows = await records.query(sql`
    select hostname, kind, url, status, reason, sha256, length(body) as length, truncated, content_type, etag,
      last_modified, first_seen, last_seen
    from policies order by first_seen`)
  const rows = storedRows.map((row) => PolicyRow.parse(row))
  const bodies = await loadBodies(records, rows)
  return rows.map(({ length, ...row }) => ({
    ...row,
    body: row.sha256 === '' ? undefined : bodies.get(row.sha256),
    reason: row.reason ?? undefined,
    etag: row.etag ?? undefined,
    last_modified: row.last_modified ?? undefined,
    first_seen: row.first_seen.getTime(),
    last_seen: row.last_seen.getTime(),
  }))
}

async function loadBodies(
  records: Pick<Records, 'query'>,
  rows: readonly z.infer<typeof PolicyRow>[],
): Promise<Map<string, string>> {
  const bodies = new Map<string, string>()
  const wanted = new Set<string>()
  let total = 0
  let chunk: string[] = []
  let size = 0
  const loadChunk = async () => {
    if (chunk.length === 0) return
    const digests = join(
      chunk.map((sha256) => sql`${sha256}`),
      ', ',
    )
    const found = await records.query(sql`
      select sha256, max(body) as body from policies where sha256 in (${digests}) group by sha256`)
    for (const row of found) {
      const { sha256, body } = BodyRow.parse(row)
      bodies.set(sha256, body)
    }
    chunk = []
    size = 0
  }
  for (const { sha256, length } of rows.toReversed()) {
    if (sha256 === '' || length === null || wanted.has(sha256)) continue
    total += length
    if (total > MAX_BODY_CHARS) break
    wanted.add(sha256)
    chunk.push(sha256)
    size += length
    if (size > BODY_CHARS_PER_QUERY) await loadChunk()
  }
  await loadChunk()
  return bodies
}

/** Drops bodies from memory if there are too many, the oldest first. The newest version of each file keeps its body. */
export function releaseBodies(files: readonly (readonly PolicyVersion[])[]): void {
  const counted = new Set<string>()
  let size = 0
  const all = files.flatMap((versions) => versions.map((version, i) => ({ version, last: i === versions.length - 1 })))
  for (const { version, last } of all.sort((a, b) => b.version.first_seen - a.version.first_seen)) {
    if (version.body === undefined || counted.has(version.sha256)) continue
    size += version.body.length
    counted.add(version.sha256)
    if (size > MAX_BODY_CHARS && !last) version.body = undefined
  }
}

interface VersionWriterDeps {
  records: Records
  /** Milliseconds since 1970. */
  now: () => number
  log: (level: 'warn', message: string, error: unknown) => void
  /** Returns the hostnames that are fetched; their versions are not deleted. */
  hostnames: () => readonly string[]
}

/** Stores versions. What could not be stored is tried again. */
export function createVersionWriter({ records, now, log, hostnames }: VersionWriterDeps) {
  const added = new Set<PolicyVersion>()
  const renewed = new Set<PolicyVersion>()
  let running: Promise<void> = Promise.resolve()
  let storeAfter = 0
  let renewAfter = now() + RENEWALS_STORE_MS

  const store = async (everything: boolean) => {
    const time = now()
    const renewals = everything || time >= renewAfter ? [...renewed] : []
    const insertions = [...added]
    if (insertions.length + renewals.length === 0 || (!everything && time < storeAfter)) return
    try {
      const fetched = hostnames()
      await records.write(
        ...insertions.flatMap((version) => insertVersion(version, fetched)),
        ...renewals.map(updateVersion),
      )
      for (const version of insertions) added.delete(version)
      for (const version of renewals) renewed.delete(version)
      if (time >= renewAfter) renewAfter = time + RENEWALS_STORE_MS
    } catch (error) {
      storeAfter = time + STORE_RETRY_MS
      log('warn', 'policy versions could not be stored; they stay in memory and are stored later', error)
    }
  }

  return {
    add(version: PolicyVersion) {
      added.add(version)
    },
    /** Marks a version as fetched again without a change. */
    renew(version: PolicyVersion) {
      if (!added.has(version)) renewed.add(version)
    },
    /** Stores what is due, or everything. Never rejects. */
    flush(everything = false): Promise<void> {
      running = running.then(() => store(everything))
      return running
    },
  }
}

/**
 * Returns the statements that store a new version, delete versions of its file beyond `MAX_VERSIONS`, and delete hostnames
 * beyond `MAX_STORED_HOSTNAMES`. The hostnames in `fetched` are never deleted: their `last_seen` is stored seldom, so
 * made-up hostnames may look newer.
 */
const insertVersion = (version: PolicyVersion, fetched: readonly string[]): Sql[] => [
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
    and not ${isIn(raw('hostname'), fetched)}`,
]

const updateVersion = (version: PolicyVersion): Sql =>
  sql`update policies set last_seen = ${new Date(version.last_seen)}, status = ${version.status},
      reason = ${version.reason ?? null}, url = ${version.url}, etag = ${version.etag ?? null},
      last_modified = ${version.last_modified ?? null}
    where hostname = ${version.hostname} and kind = ${version.kind} and first_seen = ${new Date(version.first_seen)}`
