import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ArrivingRequest, FetchDecision, SubstituteResponse } from '../../capture/decision.js'
import type { Observation } from '../../capture/observation.js'
import type { Readership } from '../../capture/readership-interface.js'
import { observe } from './observe-node.js'
import type { RequestOverrides } from './observe-request.js'
import { redirectMissing } from './redirect-node.js'

/** Exchanges that were decided about: a middleware that is mounted twice must not count a fetch twice. */
const seen = new WeakSet<object>()

/**
 * Records an exchange of a Node server, and responds in place of the site if a rule for agents refuses the request, or a
 * redirect takes the place of its 404. Returns true if the site must not respond, or not yet: then `overrides.onWait` says when.
 */
export function decideAndObserve(
  readership: Pick<Readership, 'record' | 'decide' | 'redirect'>,
  req: IncomingMessage,
  res: ServerResponse,
  { ip, host, overrides }: { ip: string; host: string; overrides: RequestOverrides },
): boolean {
  let decision: FetchDecision | undefined
  let replacement: ReturnType<typeof redirectMissing> | undefined
  const record = (observation: Observation) => {
    const { decided, countBytes } = decision ?? {}
    countBytes?.(observation.bytes)
    const marks = { ...(decided && { decided }), ...(replacement?.isReplaced && { redirected: true as const }) }
    readership.record({ ...observation, ...marks })
  }
  observe(req, res, ip, record, overrides)
  if (seen.has(res)) return false
  seen.add(res)
  const request: ArrivingRequest = {
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
  }
  const proceed = (made: FetchDecision | undefined): boolean => {
    decision = made
    if (made?.response === undefined) {
      const redirection = readership.redirect?.(request)
      if (redirection !== undefined) replacement = redirectMissing(res, redirection)
      return true
    }
    // A client that left needs no response, nor one that the application has answered while the request waited.
    if (!res.destroyed && !res.headersSent) respond(res, made.response)
    return false
  }
  const made = readership.decide?.(request)
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
