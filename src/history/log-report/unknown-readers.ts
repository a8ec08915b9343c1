import type { LogEntry } from '../access-logs/log-format.js'
import type { LogReport } from './report.js'
import { createTopCounter } from './top-counter.js'
import { createVisitorTable, hashText } from './visitor-table.js'

const LIST_LENGTH = 100
const MAX_PATHS = 200_000

/** Creates the counts of logs without user agents: people and agents cannot be told apart, so no number is either's. */
export function createUnknownReaders() {
  const paths = createTopCounter(MAX_PATHS, () => ({ count: 0 }))
  const statuses = new Map<number, number>()
  const addresses = createVisitorTable()
  let requests = 0
  let bytes = 0
  return {
    add({ address, status, bytes: sent = 0, timestamp }: LogEntry, pathname: string): void {
      requests++
      bytes += sent
      paths.add(pathname)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      addresses.addPageview(hashText(address, 0), Math.floor(timestamp / 1000))
    },
    isComplete: () => paths.isComplete,
    /** Returns the counts; undefined without a request. */
    finish(): LogReport['unknown_readers'] {
      if (requests === 0) return undefined
      return {
        requests,
        bytes,
        addresses: addresses.totals().visitors,
        paths: paths.top(LIST_LENGTH).map(([pathname, { count }]) => ({ pathname, requests: count })),
        statuses: [...statuses]
          .map(([status, requests]) => ({ status, requests }))
          .sort((a, b) => b.requests - a.requests || a.status - b.status),
      }
    },
  }
}
