import type { ArrivingRequest } from '../../capture/decision.js'
import type { Exchange } from './exchange.js'
import type { Incoming } from './response-writer.js'

/** Returns a request as the rules for agents need it: references only, because this runs for every request of a site with rules. */
export const toArrivingRequest = (
  {
    req,
    method,
    host,
    path,
    ip,
  }: Pick<Exchange, 'method' | 'host' | 'path' | 'ip'> & { req: Pick<Incoming, 'headers'> },
  at: number,
  canWait: boolean,
): ArrivingRequest => ({
  user_agent: req.headers['user-agent'] ?? '',
  method,
  host,
  target: path,
  ip,
  accept: req.headers.accept,
  if_none_match: req.headers['if-none-match'],
  isSigned: req.headers['signature-input'] !== undefined,
  at,
  canWait,
})
