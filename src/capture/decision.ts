import type { Observation } from './observation.js'

/** A request that arrived, as the rules for agents need it. */
export interface ArrivingRequest {
  user_agent: string
  method: string
  /** `Host` or `:authority`, with or without the port. */
  host: string
  /** The request target with its query, byte for byte. */
  target: string
  /** The client's address. */
  ip: string
  accept: string | undefined
  /** `If-None-Match`, for a robots.txt that readership serves; undefined: it is sent whole. */
  if_none_match?: string | undefined
  /** Whether the request carries a signature (`Signature-Input`): it is checked once only, when its row is made. */
  isSigned: boolean
  /** The time of the decision, in milliseconds since 1970: a request that was queued must not count in a window that is over. */
  at: number
  /** Whether the caller can wait for `FetchDecision.later`; if not, a strict rule decides by what is known. */
  canWait: boolean
}

/** The worker's verdict on the claim of an address to be an agent. */
export interface ClaimVerdict {
  ip: string
  agent_id: string
  /** Whether the request carried a signature: its verdict says nothing about requests without one. */
  isSigned: boolean
  identity: 'verified' | 'spoofed' | 'unverifiable'
}

/** A response that takes the place of the site's. */
export interface SubstituteResponse {
  status: number
  /** Names in lower case; without `content-length`. */
  headers: readonly (readonly [name: string, value: string])[]
  body: string
}

/** The decision of the rules for agents about a request. */
export interface FetchDecision {
  /** The rule that decided; absent if none did. */
  decided?: NonNullable<Observation['decided']>
  /** Sent in place of the site's response; absent if the request passes. */
  response?: SubstituteResponse
  /** Counts the bytes of the response's body towards budgets, once the response is over; absent without such budgets. */
  countBytes?(bytes: number): void
  /** Resolves with the decision to follow in place of this one, within 200 ms, where a strict rule waits. Never rejects. */
  later?: Promise<FetchDecision | undefined>
}

/** A response of the site that a redirect may take the place of. */
export interface MissingPage {
  status: number
  method: string
  /** The request target with its query, byte for byte. */
  target: string
  /** `Host` or `:authority`, with or without the port. */
  host: string
}

/** The redirect that takes the place of a response. */
export interface Redirection {
  status: number
  location: string
}
