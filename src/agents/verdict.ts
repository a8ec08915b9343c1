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
  /** The list or directory that confirmed the claim: its URL, or the name of a local file; absent for other ways. */
  proof?: string
  /** When it was last confirmed to be current. */
  proof_at?: Date
}

/** A list of addresses or a directory of keys that confirmed a claim. */
export interface Proof {
  source: string
  /** When it was last confirmed to be current; milliseconds since 1970. */
  at: number
}

/** Returns a verdict with what confirmed the claim. */
export const provenBy = (verdict: Verdict, proof: Proof | undefined): Verdict =>
  proof === undefined ? verdict : { ...verdict, proof: proof.source, proof_at: new Date(proof.at) }

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
