import type { FetchDecision } from '../../capture/decision.js'
import type { Observation } from '../../capture/observation.js'
import type { Hop } from './hop.js'
import { observeRequest } from './observe-request.js'
import type { Incoming, Outgoing } from './response-writer.js'

/** One request and its response. */
export interface Exchange {
  readonly req: Incoming
  readonly res: Outgoing
  readonly method: string
  /** The target in origin-form with the query, byte for byte; of a refused request, the target as it came. */
  readonly path: string
  /** The host as the client named it, with or without port; empty if it named none. */
  readonly host: string
  /** The client's address. */
  readonly ip: string
  readonly hop: Hop
  /** Wall clock at arrival, epoch ms. */
  readonly arrivedAt: number
  /** Monotonic clock at arrival, ms. */
  readonly startedAt: number
  /** The proxy refused the request instead of forwarding it. */
  readonly refused: boolean
  /** The response's status; 0 until there is one. */
  status: number
  /** Body bytes sent to the client. */
  bytes: number
  content_type: string
  /** As `Observation.response`. */
  observedHeaders: Record<string, string> | undefined
  /** A redirect was sent in place of a missing page. */
  redirected?: boolean
  /** The decision of the rules for agents; undefined if they say nothing about the request. */
  decision: FetchDecision | undefined
  /** Nothing more will be written; the client may still be reading. */
  ended: boolean
  /** The client has to read what is buffered before more is sent. */
  backpressured: boolean
  /** A timeout for the client's reading is running. */
  timerSet: boolean
  /** Position in the list of running exchanges. */
  index: number
}

/** The letters of `Observation.head_form`. */
const FIELD_LETTERS: ReadonlyMap<string | undefined, string> = new Map(
  Object.entries({
    ...{ Host: 'H', 'User-Agent': 'U', Accept: 'A', 'Accept-Encoding': 'E' },
    ...{ host: 'h', 'user-agent': 'u', accept: 'a', 'accept-encoding': 'e' },
    ...{ ':method': 'm', ':authority': 'y', ':scheme': 'z', ':path': 'p' },
  }),
)
const MAX_HEAD_FORM_LETTERS = 16

/** Returns `Observation.head_form`; undefined if another proxy may have written the head, and for all but pages. */
function headForm({ req, hop, method, content_type }: Exchange): string | undefined {
  if (hop.trusted || method !== 'GET' || !content_type.startsWith('text/html')) return undefined
  const { headers, rawHeaders } = req
  if (!headers['user-agent']?.includes('Chrome/')) return undefined
  if ((headers.via ?? headers.forwarded ?? headers['x-forwarded-for']) !== undefined) return undefined
  let form = 'stream' in req ? '2' : hop.proto === 'https' ? 's' : '1'
  for (let i = 0; i < rawHeaders.length && form.length <= MAX_HEAD_FORM_LETTERS; i += 2)
    form += FIELD_LETTERS.get(rawHeaders[i]) ?? ''
  return form
}

/** Returns the record of a finished exchange; a client that left before the response has status 499. */
export function toObservation(exchange: Exchange, durationMs: number): Observation {
  const head_form = headForm(exchange)
  return Object.assign(
    observeRequest(exchange.req, exchange.ip, exchange.arrivedAt, {
      url: exchange.path,
      host: exchange.host,
      target: exchange.req.url ?? exchange.path,
      hop: exchange.hop,
    }),
    {
      status: exchange.status === 0 ? 499 : exchange.status,
      bytes: exchange.bytes,
      duration_ms: Math.max(0, Math.round(durationMs)),
      content_type: exchange.content_type,
      ...(exchange.observedHeaders && { response: exchange.observedHeaders }),
      ...(exchange.redirected && { redirected: true }),
      ...(exchange.decision?.decided && { decided: exchange.decision.decided }),
      ...(head_form !== undefined && { head_form }),
    },
  )
}
