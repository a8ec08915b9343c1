import type { ImportedLine } from '../../worker-client/log-batch.js'
import { hash64 } from '../ingest/hash64.js'

/** Lines of a log this far apart are in order: servers write a line when the response ends, some with the time of its beginning. */
const DISORDER_MS = 10 * 60_000
/** In a log without order, as of files that were joined the latest first, no time comes to an end. */
const MAX_KEYS = 500_000

/**
 * Creates the function that gives each line of an import a key, the same in every import of it. A line that one log has
 * twice is two requests with two keys; a line that two logs have (one is a copy of the other's end) is one. The key is a
 * hash with a secret, because it is stored and a line has an address. `isRepeated` tells that another log had the line.
 */
export function createLineKeys(secret: string, max = MAX_KEYS) {
  /** By log, how often it has had a line: two generations of ten minutes of the logs' time, or of `max` lines. */
  let [current, previous] = [new Map<number, LineCounts>(), new Map<number, LineCounts>()]
  const start = `${secret}line`
  const logs = new Set<number>()
  let size = 0
  let since = Number.NEGATIVE_INFINITY
  const countOf = (log: number, base: bigint): number =>
    current.get(log)?.get(base) ?? previous.get(log)?.get(base) ?? 0
  return (line: ImportedLine): { key: bigint; isRepeated: boolean } => {
    if (line.time - since > DISORDER_MS || size >= max) {
      previous = current
      current = new Map()
      size = 0
      since = line.time
    }
    const base = hashLine(start, line)
    const earlier = countOf(line.log, base)
    const counted: LineCounts = current.get(line.log) ?? new Map()
    current.set(line.log, counted.set(base, earlier + 1))
    logs.add(line.log)
    size++
    let isRepeated = false
    for (const log of logs) if (log !== line.log && countOf(log, base) > earlier) isRepeated = true
    return { key: BigInt.asUintN(64, base + BigInt(earlier)), isRepeated }
  }
}

type LineCounts = Map<bigint, number>

function hashLine(start: string, line: ImportedLine): bigint {
  const { time, address, host, method, target, status, bytes, referrer, user_agent } = line
  return hash64(
    `${start}\0${time}\0${address}\0${host}\0${method}\0${target}\0${status}\0${bytes}\0${referrer}\0${user_agent}`,
  )
}
