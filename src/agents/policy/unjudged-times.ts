import { DAY_MS } from '../../base/time-units.js'
import type { PolicyFileState } from './file-schedule.js'
import { firstAnswerTime, MAX_BACKDATING_MS } from './version.js'

/** The rows of a hostname from `since` to before `until`, in milliseconds since 1970. */
export interface UnjudgedTime {
  hostname: string
  since: number
  until: number
}

/** Collects the times whose stored rows may lack the judgement of a file, because it was not known when they arrived. */
export function createUnjudgedTimes(now: () => number) {
  const times = new Map<string, UnjudgedTime>()
  return {
    /** Notes that a file is known. */
    addFile({ hostname, versions }: PolicyFileState): void {
      const first = firstAnswerTime(versions)
      if (first === undefined) return
      const until = now() + 1
      // Earlier rows were judged when the file became known to an earlier process.
      const since = Math.max(first, until - DAY_MS) - MAX_BACKDATING_MS
      times.set(hostname, { hostname, since: Math.min(since, times.get(hostname)?.since ?? since), until })
    },
    /** Returns and forgets the times. */
    take(): UnjudgedTime[] {
      const taken = [...times.values()]
      times.clear()
      return taken
    },
  }
}
