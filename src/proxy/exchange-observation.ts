import type { Observation } from '../capture/observation.js'
import type { Exchange } from './exchange.js'
import { observeRequest } from './observe-request.js'

/** An exchange that is over as a fact (contract 3). */
export const toObservation = (exchange: Exchange, duration: number): Observation =>
  Object.assign(
    observeRequest(exchange.req, exchange.ip, exchange.arrivedAt, {
      url: exchange.path,
      host: exchange.host,
      target: exchange.req.url ?? exchange.path,
      hop: exchange.hop,
    }),
    {
      status: exchange.status === 0 ? 499 : exchange.status,
      bytes: exchange.bytes,
      duration_ms: Math.max(0, Math.round(duration)),
      content_type: exchange.content_type,
      ...(exchange.observedHeaders && { response: exchange.observedHeaders }),
    },
  )
