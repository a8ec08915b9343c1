import type { Agent } from './catalog.js'

/** How a claim to be an agent was checked, and with what result (contract 3). */
export const VERIFICATION_STATUSES = [
  'web_bot_auth',
  'ranges',
  'rdns',
  'spoofed',
  'unverifiable',
  'indeterminate',
] as const
export type VerificationStatus = (typeof VERIFICATION_STATUSES)[number]

export interface Verdict {
  /** True where confirmed, false where spoofed, null where nobody can say. */
  verified: boolean | null
  verification: VerificationStatus
}

export const VERDICTS: { readonly [V in VerificationStatus]: Verdict } = {
  web_bot_auth: { verified: true, verification: 'web_bot_auth' },
  ranges: { verified: true, verification: 'ranges' },
  rdns: { verified: true, verification: 'rdns' },
  spoofed: { verified: false, verification: 'spoofed' },
  unverifiable: { verified: null, verification: 'unverifiable' },
  indeterminate: { verified: null, verification: 'indeterminate' },
}

/** What of a request its verification needs; an `Observation` is one. */
export interface VerifiableRequest {
  method: string
  hostname: string
  pathname: string
  query?: string
  ip: string
  user_agent?: string
  referrer?: string
  headers?: Readonly<Record<string, string>>
  /** What a signature may cover, of a request that carries one (RFC 9421 2.2). */
  signed?: { scheme: 'http' | 'https'; authority: string; target: string }
}

/** What can be said at once, and where more may be known soon, that: it never rejects and ends in bounded time. */
export interface ClaimCheck {
  now: Verdict
  later?: Promise<Verdict>
}

export interface Verifier {
  /** The agent whose valid Web Bot Auth signature a request carries, whatever its user agent says; undefined: none. */
  signer(request: VerifiableRequest, at: number): Agent | undefined
  /** Whether a request is this agent's. `at` is milliseconds since 1970, when it arrived. Never throws, never waits. */
  check(agent: Agent | undefined, request: VerifiableRequest, at: number): ClaimCheck
}
