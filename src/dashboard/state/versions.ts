import type { DataOf } from '../client/index.js'
import { type Params, type Result, useRead } from './data.js'

/** One version of robots.txt or llms.txt. Fields that the API does not tell are absent. */
export interface Version {
  kind: 'robots' | 'llms'
  since: string
  /** Absent while it is active. */
  until?: string | undefined
  standing: 'served' | 'unavailable' | 'unreachable'
  groups?: number
  rules?: number
  links?: number
  text?: string
  /** How many agents have read it, and the first reads of each. */
  readers?: number
  agents?: readonly { agent_id: string; name: string; first_read: string; last_read: string }[]
}

export type Versions = Omit<Result<'/api/policy'>, 'data'> & { data?: readonly Version[] }

const standingOf = (status: number): Version['standing'] =>
  status >= 200 && status < 300 ? 'served' : status === 0 || status >= 500 ? 'unreachable' : 'unavailable'

type Listed = DataOf<'/api/policy'>['versions']

/** Each version of a list, newest first, with the time at which the next one of its kind began. */
const withEnds = (listed: Listed): Version[] =>
  listed.map(({ kind, fetched_at, status }, i) => {
    const newer = listed.slice(0, i).findLast((each) => each.kind === kind)
    return { kind, since: fetched_at, until: newer?.fetched_at, standing: standingOf(status) }
  })

/** Asks for the versions of both files of a hostname, newest first. */
export function useVersions(query: Params | undefined): Versions {
  const { data, ...answer } = useRead('/api/policy', query)
  return { ...answer, ...(data ? { data: withEnds(data.versions) } : {}) }
}
