import type { Observation } from '../capture/observation.js'
import type { Exchange } from './exchange.js'
import { requestFacts } from './facts.js'

/** An exchange that is over as a fact (contract 3). */
export const observation = (exchange: Exchange, duration: number): Observation =>
  Object.assign(
    requestFacts(exchange.req, exchange.ip, exchange.arrived, {
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
      ...(exchange.observed && { response: exchange.observed }),
    },
  )
