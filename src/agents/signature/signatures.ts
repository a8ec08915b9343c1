import { SECOND_MS } from '../../base/time-units.js'
import type { Agent } from '../catalog.js'
import type { Proof, VerifiableRequest } from '../verdict.js'
import { checkSignatures, createNonces, mayCarrySignature, type SignatureFinding } from './check.js'
import { createDirectories, type DirectoriesDeps, type DirectoryStatus } from './directories.js'

/**
 * The result of checking the signatures of one request (Web Bot Auth: RFC 9421 with the webbotauth profile).
 * - `none`: no signature is tagged `web-bot-auth`;
 * - `valid`: `agent` signed the request, whatever its user agent says;
 * - `invalid`: the check failed: a signature is forged or replayed; `reason` says which;
 * - `unusable`: a signature is expired, malformed, names an unknown key or covers too little, so it proves nothing;
 * - `pending`: the key is being fetched; `later` resolves within 2 s to a check that is not `pending`;
 * - `undecidable`: the directory is not in the catalog, its keys are missing, or a covered field was not observed.
 */
export interface SignatureCheck {
  state: 'none' | 'valid' | 'invalid' | 'unusable' | 'pending' | 'undecidable'
  /** If `valid`, the agent that signed. Otherwise the agent whose directory the request names, which is only a claim. */
  agent?: Agent | undefined
  /** The host of the directory that the request names, if no agent of the catalog has it. */
  host?: string | undefined
  /** If `valid`: the directory with the key. */
  proof?: Proof | undefined
  /** One snake_case word; absent if `none` or `valid`. */
  reason?: string
  /** Present if `pending`; never rejects. */
  later?: Promise<SignatureCheck> | undefined
}

export type { DirectoryStatus }

interface SignaturesDeps extends DirectoriesDeps {
  /** Monotonic milliseconds. If present, checks without a valid signature may take a quarter of the time and no more. */
  clock?: () => number
}

/** A little less than a row waits for its verification. */
const KEY_FETCH_TIMEOUT_MS = 1_800
const MAX_WASTED_MS_PER_SECOND = 250

const NO_SIGNATURE: SignatureCheck = { state: 'none' }

export type Signatures = ReturnType<typeof createSignatures>

/** Checks the signatures of requests with the keys of the agents' directories. Reads the cached directories at once. */
export function createSignatures(deps: SignaturesDeps) {
  const { clock = () => 0 } = deps
  const directories = createDirectories(deps)
  const context = { directoryOf: directories.directoryOf, nonces: createNonces() }
  // A request is checked for its signer and then for its claim. Both together use its nonce once.
  const results = new WeakMap<VerifiableRequest, SignatureCheck>()
  let secondStart = clock()
  let wastedMs = 0
  let faultLogged = false
  const longLivedSigners = new Set<string>()

  /** Logs once for each directory, of which the catalog has few. */
  function warnOfLongLife(directory: string): void {
    if (longLivedSigners.has(directory)) return
    longLivedSigners.add(directory)
    const message =
      'signatures by keys of a directory are valid for more than a day; a copy of one can be used that long'
    deps.log.warn({ directory }, message)
  }

  function conclude(request: VerifiableRequest, at: number, mayFetch: boolean): SignatureCheck {
    const [first, ...rest] = checkSignatures(request, at, context)
    if (first === undefined) return NO_SIGNATURE
    const best = rest.reduce((best, next) => (STATE_RANK[next.state] > STATE_RANK[best.state] ? next : best), first)
    const agent = best.directory?.agent
    if (best.state === 'valid') {
      if (best.longLived) warnOfLongLife(best.directory.url)
      const { url: source, refreshed_at: at } = best.directory
      return { state: 'valid', agent, proof: at === undefined ? undefined : { source, at } }
    }
    if (best.state === 'undecidable') return { state: best.state, reason: best.reason, agent, host: best.host }
    if (best.state !== 'key_unknown') return { state: best.state, reason: best.reason, agent }
    const reason = best.directory.keys === undefined ? 'directory_unavailable' : 'key_unknown'
    const fetching = mayFetch ? directories.renew(best.directory.url) : undefined
    if (fetching === undefined) return { state: 'undecidable', reason, agent }
    const later = within(deps.after, fetching).then(() => checkInBudget(request, at, false))
    return { state: 'pending', reason, agent, later }
  }

  function checkInBudget(request: VerifiableRequest, at: number, mayFetch: boolean): SignatureCheck {
    const from = clock()
    if (from - secondStart >= SECOND_MS) {
      secondStart = from
      wastedMs = 0
    }
    let result: SignatureCheck = { state: 'undecidable', reason: 'too_many' }
    if (wastedMs < MAX_WASTED_MS_PER_SECOND) {
      try {
        result = conclude(request, at, mayFetch)
      } catch (error) {
        result = { state: 'undecidable', reason: 'fault' }
        if (!faultLogged) deps.log.warn({ err: error }, 'a signature could not be checked; this is logged once')
        faultLogged = true
      }
      if (result.state !== 'valid') wastedMs += clock() - from
    }
    results.set(request, result)
    return result
  }

  return {
    /**
     * Checks the signatures of a request that arrived at `at`, in milliseconds since 1970. Never throws, never waits. The
     * same request object gets the same result again; another object with the same nonce is a replay.
     */
    check(request: VerifiableRequest, at: number): SignatureCheck {
      if (!mayCarrySignature(request)) return NO_SIGNATURE
      return results.get(request) ?? checkInBudget(request, at, true)
    },
    refresh: directories.refresh,
    directories: directories.status,
    start: directories.start,
    close: directories.close,
  }
}

/** Resolves with `promise`, or after `KEY_FETCH_TIMEOUT_MS`. */
const within = (after: DirectoriesDeps['after'], promise: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    const cancel = after(KEY_FETCH_TIMEOUT_MS, resolve)
    void promise.then(() => {
      cancel()
      resolve()
    })
  })

/** The signature with the highest rank counts if there are several. */
const STATE_RANK: { readonly [S in SignatureFinding['state']]: number } = {
  unusable: 0,
  undecidable: 1,
  invalid: 2,
  key_unknown: 3,
  valid: 4,
}
