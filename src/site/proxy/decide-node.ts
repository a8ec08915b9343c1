import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FetchDecision, SubstituteResponse } from '../../capture/decision.js'
import type { Observation } from '../../capture/observation.js'
import type { Readership } from '../../capture/readership-interface.js'
import { observe } from './observe-node.js'
import type { RequestOverrides } from './observe-request.js'

/** Exchanges that were decided about: a middleware that is mounted twice must not count a fetch twice. */
const seen = new WeakSet<object>()

/**
 * Records an exchange of a Node server, and responds in place of the site if a rule for agents refuses the request. Returns
 * true if the site must not respond, or not yet: then `overrides.onWait` says when.
 */
export function decideAndObserve(
  readership: Pick<Readership, 'record' | 'decide'>,
  req: IncomingMessage,
  res: ServerResponse,
  { ip, host, overrides }: { ip: string; host: string; overrides: RequestOverrides },
): boolean {
  let decision: FetchDecision | undefined
  const record = (observation: Observation) => {
    const { decided, countBytes } = decision ?? {}
    countBytes?.(observation.bytes)
    readership.record(decided === undefined ? observation : { ...observation, decided })
  }
  observe(req, res, ip, record, overrides)
  if (readership.decide === undefined || seen.has(res)) return false
  seen.add(res)
  const proceed = (made: FetchDecision | undefined): boolean => {
    decision = made
    if (made?.response === undefined) return true
    // A client that left needs no response, nor one that the application has answered while the request waited.
    if (!res.destroyed && !res.headersSent) respond(res, made.response)
    return false
  }
  const made = readership.decide({
    user_agent: req.headers['user-agent'] ?? '',
    method: req.method ?? 'GET',
    host,
    target: overrides.url ?? req.url ?? '/',
    ip,
    accept: req.headers.accept,
    if_none_match: req.headers['if-none-match'],
    isSigned: req.headers['signature-input'] !== undefined,
    at: Date.now(),
    canWait: overrides.onWait !== undefined,
  })
  if (made?.later === undefined) return !proceed(made)
  overrides.onWait?.(made.later.then(proceed))
  return true
}

function respond(res: ServerResponse, { status, headers, body }: SubstituteResponse): void {
  res.statusCode = status
  for (const [name, value] of headers) res.setHeader(name, value)
  if (status !== 304) res.setHeader('content-length', Buffer.byteLength(body))
  res.end(body)
}
