import type { Agent } from '../catalog.js'
import type { VerifiableRequest } from '../verdict.js'
import { checkSignatures, mayCarrySignature, type SignatureFinding } from './check.js'
import { createDirectories, type DirectoriesDeps, type DirectoryStatus } from './directories.js'
import { createNonces } from './nonces.js'

/**
 * What the signatures of one request say (Web Bot Auth: RFC 9421 with the webbotauth profile).
 * - `none`: none is tagged `web-bot-auth`;
 * - `valid`: `agent` is who signed, whatever the user agent says;
 * - `invalid`: it is forged, expired, replayed or not well formed, as `reason` says; never for lack of our knowledge;
 * - `pending`: the directory is being asked for the key; `later` tells, within 2 s, and is then never `pending`;
 * - `undecidable`: we lack what it takes: no such directory in the catalog, no keys held, a covered field that is not observed.
 */
export interface SignatureCheck {
  state: 'none' | 'valid' | 'invalid' | 'pending' | 'undecidable'
  /** `valid`: who signed. Otherwise whose directory the request names, where the catalog has it: a claim. */
  agent?: Agent
  /** One snake_case word; absent of `none` and `valid`. */
  reason?: string
  /** Of `pending`; never rejects. */
  later?: Promise<SignatureCheck>
}

export interface Signatures {
  /**
   * Never throws, never waits. `at` is milliseconds since 1970, when the request arrived. The same request object asked
   * twice gets the same answer; another one with the same nonce is a replay.
   */
  check(request: VerifiableRequest, at: number): SignatureCheck
  /** Asks every directory now. Never rejects: what failed stands in the `error` of its entry. */
  refresh(): Promise<DirectoryStatus[]>
  directories(): DirectoryStatus[]
  /** Begins to keep the copies fresh. */
  start(): void
  /** Ends the timers; what is still on its way changes nothing any more. */
  close(): void
}

export type { DirectoryStatus }

interface SignaturesDeps extends DirectoriesDeps {
  /** Monotonic milliseconds. Given, checks that come to nothing may take a quarter of the time, and no more. */
  clock?: () => number
}

/** A little less than a row waits for its verification (issue 3). */
const KEY_FETCH_TIMEOUT_MS = 1_800
const MAX_NONCES = 100_000
const SECOND_MS = 1_000
/** Milliseconds of each second. */
const MAX_WASTED_MS_PER_SECOND = 250

const NO_SIGNATURE: SignatureCheck = { state: 'none' }

/** Who signed requests: the check, and the directories of keys behind it. Reads the kept copies at once. */
export function createSignatures(deps: SignaturesDeps): Signatures {
  const { clock = () => 0 } = deps
  const directories = createDirectories(deps)
  const knowledge = { directoryOf: directories.directoryOf, nonces: createNonces(MAX_NONCES) }
  // A request is asked for its signer and then for its claim; that is one use of its nonce.
  const known = new WeakMap<VerifiableRequest, SignatureCheck>()
  let second = clock()
  let wasted = 0
  let faulted = false

  function conclude(request: VerifiableRequest, at: number, last: boolean): SignatureCheck {
    const [first, ...rest] = checkSignatures(request, at, knowledge)
    if (first === undefined) return NO_SIGNATURE
    const best = rest.reduce((best, next) => (STATE_RANK[next.state] > STATE_RANK[best.state] ? next : best), first)
    const agent = best.held && { agent: best.held.agent }
    if (best.state === 'valid') return { state: 'valid', ...agent }
    if (best.state !== 'key_unknown') return { state: best.state, reason: best.reason, ...agent }
    const reason = best.held.keys === undefined ? 'directory_unavailable' : 'key_unknown'
    const asked = last ? undefined : directories.renew(best.held.directory)
    if (asked === undefined) return { state: 'undecidable', reason, ...agent }
    const later = within(deps.after, asked).then(() => judge(request, at, true))
    return { state: 'pending', reason, ...agent, later }
  }

  function judge(request: VerifiableRequest, at: number, last: boolean): SignatureCheck {
    const from = clock()
    if (from - second >= SECOND_MS) {
      second = from
      wasted = 0
    }
    let checked: SignatureCheck = { state: 'undecidable', reason: 'too_many' }
    if (wasted < MAX_WASTED_MS_PER_SECOND) {
      try {
        checked = conclude(request, at, last)
      } catch (error) {
        checked = { state: 'undecidable', reason: 'fault' }
        if (!faulted) deps.log.warn({ err: error }, 'a signature could not be checked; further ones are not reported')
        faulted = true
      }
      if (checked.state !== 'valid') wasted += clock() - from
    }
    known.set(request, checked)
    return checked
  }

  return {
    check(request, at) {
      if (!mayCarrySignature(request)) return NO_SIGNATURE
      return known.get(request) ?? judge(request, at, false)
    },
    refresh: directories.refresh,
    directories: directories.held,
    start: directories.start,
    close: directories.close,
  }
}

/** Resolves with `promise`, or when nobody waits any longer. */
const within = (after: DirectoriesDeps['after'], promise: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    const cancel = after(KEY_FETCH_TIMEOUT_MS, resolve)
    void promise.then(() => {
      cancel()
      resolve()
    })
  })

/** Of several signatures the one that says most. */
const STATE_RANK: { readonly [S in SignatureFinding['state']]: number } = {
  undecidable: 0,
  invalid: 1,
  key_unknown: 2,
  valid: 3,
}
