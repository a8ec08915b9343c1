import type { Agent } from '../catalog.js'
import type { Request } from '../verdict.js'

/**
 * What the signatures of one request say (Web Bot Auth: RFC 9421 with the webbotauth profile).
 * - `none`: none is tagged `web-bot-auth`;
 * - `valid`: `agent` is who signed, whatever the user agent says;
 * - `invalid`: it is forged, expired, replayed or not well formed, as `reason` says; never for lack of our knowledge;
 * - `pending`: the directory is being asked for the key; `later` tells, within 2 s, and is then never `pending`;
 * - `undecidable`: we lack what it takes: no such directory in the catalog, no keys held, a covered field that is not observed.
 */
export interface Checked {
  state: 'none' | 'valid' | 'invalid' | 'pending' | 'undecidable'
  /** `valid`: who signed. Otherwise whose directory the request names, where the catalog has it: a claim. */
  agent?: Agent
  /** One snake_case word; absent of `none` and `valid`. */
  reason?: string
  /** Of `pending`; never rejects. */
  later?: Promise<Checked>
}

/** One directory of keys as it is held. */
export interface HeldDirectory {
  agent_ids: string[]
  directory: string
  /** Usable keys. */
  keys: number
  /** When the copy was fetched; ISO-8601 UTC. Absent: there is none. */
  refreshed_at?: string
  /** Why the last attempt failed; absent after one that did not. */
  error?: string
}

export interface Signatures {
  /**
   * Never throws, never waits. `at` is milliseconds since 1970, when the request arrived. The same request object asked
   * twice gets the same answer; another one with the same nonce is a replay.
   */
  check(request: Request, at: number): Checked
  /** Asks every directory now. Never rejects: what failed stands in the `error` of its entry. */
  refresh(): Promise<HeldDirectory[]>
  held(): HeldDirectory[]
  /** Begins to keep the copies fresh. */
  start(): void
  /** Ends the timers; resolves when nothing is on its way. */
  close(): Promise<void>
}
