import type { Observation } from './record/observation.js'

/** What the proxy and every adapter are written against: three functions, no framework in sight. */
export interface Readership {
  /** Never throws, never waits: a site must not be slower or fail because it is measured. */
  record(observation: Observation): void
  /** The HTTP API of the spec as one web-standard function. */
  fetch(request: Request, peer: { ip: string }): Promise<Response>
  close(): Promise<void>
}
