import type { Agent } from './agent.js'

/** How a claim to be an agent was checked, and with which result. The folder's README defines each status. */
export const VERIFICATION_STATUSES = [
  'web_bot_auth',
  'ranges',
  'rdns',
  'spoofed',
  'unverifiable',
  'indeterminate',
] as const
type VerificationStatus = (typeof VERIFICATION_STATUSES)[number]

export interface Verdict {
  /** True if confirmed, false if spoofed, null if neither can be shown. */
  verified: boolean | null
  verification: VerificationStatus
}

export const VERDICTS: { readonly [S in VerificationStatus]: Verdict } = {
  web_bot_auth: { verified: true, verification: 'web_bot_auth' },
  ranges: { verified: true, verification: 'ranges' },
  rdns: { verified: true, verification: 'rdns' },
  spoofed: { verified: false, verification: 'spoofed' },
  unverifiable: { verified: null, verification: 'unverifiable' },
  indeterminate: { verified: null, verification: 'indeterminate' },
}

/** The parts of a request that its verification needs. An `Observation` has them all. */
export interface VerifiableRequest {
  method: string
  hostname: string
  pathname: string
  query?: string
  ip: string
  user_agent?: string
  referrer?: string
  headers?: Readonly<Record<string, string>>
  /** Values that a signature may cover; present if the request carries a signature (RFC 9421 2.2). */
  signed?: { scheme: 'http' | 'https'; authority: string; target: string }
}

/** The verdict that is known at once and, if more may be known soon, a promise that never rejects and ends in bounded time. */
interface ClaimCheck {
  now: Verdict
  later?: Promise<Verdict>
}

export interface Verifier {
  /** Returns the agent whose valid Web Bot Auth signature the request carries, whatever its user agent says. */
  signer(request: VerifiableRequest, at: number): Agent | undefined
  /** Checks that the request is this agent's. `at` is its arrival in milliseconds since 1970. Never throws, never waits. */
  check(agent: Agent | undefined, request: VerifiableRequest, at: number): ClaimCheck
}
