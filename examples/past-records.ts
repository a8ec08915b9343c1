import { createHash, randomBytes } from 'node:crypto'
import { POLICY_PATHS, type PolicyKind, type PolicyVersion } from '../src/agents/policy/version.js'
import { createVersionWriter } from '../src/agents/policy/version-store.js'
import { insertSpan } from '../src/manage/recording-spans.js'
import { openStores } from '../src/storage/duckdb/open-files.js'
import { gapOf } from './past-events.js'
import { createPastEditions } from './past-samples.js'

const DAY_MS = 86_400_000
/** The day before the end of the history on which robots.txt got the rule about the prices. */
const CHANGED_DAYS_AGO = 16
const NEW_RULE = /^Disallow: \/pricing\n/m

/** Returns when robots.txt changed in the made-up past: in an afternoon (UTC). */
export const policyChangeOf = (until: number): number =>
  (Math.floor(until / DAY_MS) - CHANGED_DAYS_AGO) * DAY_MS + 15 * 3_600_000

interface Past {
  /** The data directory, which no readership has opened yet. */
  data: string
  /** The site itself, which is asked for its files. */
  origin: string
  hostname: string
  /** Paths of its pages. */
  pages: readonly string[]
  /** Beginning and end of the history, in milliseconds since 1970. */
  since: number
  until: number
}

/**
 * Stores the versions of robots.txt and llms.txt that the past of the demo had, so that its fetches are judged as those of
 * the running demo are, the times in which it recorded, and the editions of its pages. Call before the proxy starts: the files
 * belong to one process.
 */
export async function writePastRecords({ data, origin, hostname, pages, since, until }: Past): Promise<void> {
  const read = async (kind: PolicyKind) => (await fetch(origin + POLICY_PATHS[kind])).text()
  const [robots, llms, changed] = [await read('robots'), await read('llms'), policyChangeOf(until)]
  const version = (kind: PolicyKind, body: string, first_seen: number, last_seen: number): PolicyVersion => ({
    hostname,
    kind,
    url: `http://${hostname}${POLICY_PATHS[kind]}`,
    status: 200,
    sha256: createHash('sha256').update(body).digest('hex'),
    body,
    truncated: false,
    content_type: 'text/plain; charset=utf-8',
    first_seen,
    last_seen,
  })
  const settings = { memory_limit: '64MB', threads: 1, temp_limit: '100MB' }
  const { events, records } = await openStores({
    data,
    settings: { events: settings, records: settings },
    random: randomBytes,
    now: () => new Date(),
    clock: () => performance.now(),
    log: () => {},
  })
  try {
    const put = await createPastEditions({ origin, hostname, pages, since, until })
    await events.writePageEditions({ put, remove: [] })
    const writer = createVersionWriter({ records, now: () => until, log: () => {}, hostnames: () => [hostname] })
    writer.add(version('llms', llms, since, until))
    writer.add(version('robots', robots.replace(NEW_RULE, ''), since, changed))
    writer.add(version('robots', robots, changed, until))
    await writer.flush(true)
    const gap = gapOf(until)
    const spans =
      gap.start > since ? [[since, gap.start] as const, [gap.end, until] as const] : [[since, until] as const]
    for (const [began, ended] of spans)
      await records.write(insertSpan({ began: new Date(began), ended: new Date(ended), cause: 'not_running' }))
  } finally {
    await records.close()
    await events.close()
  }
}
