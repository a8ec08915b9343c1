import type { Hop } from './hop.js'
import type { Incoming, Outgoing } from './response-writer.js'

/** One request and what became of it. */
export interface Exchange {
  readonly req: Incoming
  readonly res: Outgoing
  readonly method: string
  /** Origin-form with the query, byte for byte; of a refused request whatever stood there. */
  readonly path: string
  /** As the client named it, with or without port; empty where it named none. */
  readonly host: string
  /** The client's address. */
  readonly ip: string
  /** The connection it came on. */
  readonly hop: Hop
  /** Wall clock at arrival, epoch ms; and a clock that never goes back, ms. */
  readonly arrivedAt: number
  readonly startedAt: number
  /** We would not send it on. */
  readonly refused: boolean
  /** Of the response; 0 until there is one. */
  status: number
  /** Of the body, to the client. */
  bytes: number
  content_type: string
  /** As `Observation.response`. */
  observedHeaders: Record<string, string> | undefined
  /** Nothing more will be written; the client may still be reading. */
  ended: boolean
  /** The client has to take what is there before there is more. */
  backpressured: boolean
  /** Whoever waits for the client to take it has a limit set. */
  timerSet: boolean
  /** Where it stands among those that are not over. */
  index: number
}
