import type { Outbound } from '../../base/outbound/outbound.js'
import type { PolicyFileState } from './file-schedule.js'
import type { PolicyFileList } from './policy-files.js'

/** Few, because the origin has its visitors to serve. At most one is of the same hostname. */
const MAX_CONCURRENT_FETCHES = 8
/** Fetches of hostnames that no site lists. A client can make them up, so they leave room for those that a site lists. */
const MAX_UNLISTED_FETCHES = 4

interface FetchQueueDeps {
  files: Pick<PolicyFileList, 'all' | 'isListed'>
  /** Returns how a hostname's files are fetched; undefined if they cannot be. */
  outboundOf: (hostname: string) => Outbound | undefined
  /** Fetches one file. Never rejects. */
  fetchFile: (file: PolicyFileState, outbound: Outbound) => Promise<void>
  /** Milliseconds since 1970. */
  now: () => number
}

/** Chooses which of the files that are due are fetched, and when. */
export function createFetchQueue({ files, outboundOf, fetchFile, now }: FetchQueueDeps) {
  const running = new Map<string, Promise<void>>()
  let closed = false

  /**
   * Returns the file to fetch next, or undefined if none may be fetched now. A host that responds slowly delays only its
   * own files: its other file waits, hostnames that a site lists go first, and files that failed go last.
   */
  const nextDueFile = (): PolicyFileState | undefined => {
    const time = now()
    const unlisted = [...running.keys()].filter((hostname) => !files.isListed(hostname)).length
    const isUnlisted = (file: PolicyFileState) => Number(!files.isListed(file.hostname))
    if (running.size >= MAX_CONCURRENT_FETCHES) return undefined
    return files
      .all()
      .filter((file) => file.due <= time && !running.has(file.hostname))
      .filter((file) => unlisted < MAX_UNLISTED_FETCHES || !isUnlisted(file))
      .sort((a, b) => isUnlisted(a) - isUnlisted(b) || a.failures - b.failures || a.due - b.due)
      .find((file) => outboundOf(file.hostname) !== undefined)
  }

  /** Starts the fetches that are due and may run, and others when these end. Resolves when all of them have ended. */
  const fetchDue = async (): Promise<void> => {
    const started: Promise<void>[] = []
    for (let file = nextDueFile(); file !== undefined && !closed; file = nextDueFile()) {
      const { hostname } = file
      const outbound = outboundOf(hostname)
      if (outbound === undefined) break
      const fetch = fetchFile(file, outbound).finally(() => running.delete(hostname))
      running.set(hostname, fetch)
      started.push(fetch.then(fetchDue))
    }
    await Promise.all(started)
  }

  return {
    fetchDue,
    /** Resolves when the fetches that run now have ended. */
    whenIdle: () => Promise.all(running.values()),
    /** Starts no further fetch. */
    close() {
      closed = true
    },
  }
}
