import type { ServerResponse } from 'node:http'
import type { Redirection } from '../../capture/decision.js'
import { isMissing, redirectionHeaders } from '../../rules/redirect.js'

/** Fields of the connection stay as the application set them, and so does the date. */
const KEPT_FIELDS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'date'])

/**
 * Sends a redirect in place of the application's response if its status is 404 or 410; every other response passes unchanged.
 * Node passes each head through `writeHead`, also one that `write`, `end` or `flushHeaders` sends. The body is discarded as the
 * application writes it, because a stream that is cut off would leave its source open. Call it after `observe`, which must not
 * count these bytes. The returned object says whether the redirect was sent.
 */
export function redirectMissing(res: ServerResponse, redirection: Redirection): { readonly isReplaced: boolean } {
  const { writeHead, write, end } = res
  let isReplaced = false
  let isEnding = false
  res.writeHead = (...args: unknown[]): ServerResponse => {
    if (res.headersSent || !isMissing(Number(args[0]))) return Reflect.apply(writeHead, res, args)
    isReplaced = true
    for (const name of res.getHeaderNames()) if (!KEPT_FIELDS.has(name)) res.removeHeader(name)
    // Without a text of its own, Node sends that of the status.
    res.statusMessage = ''
    // Until the application's body is over, the connection carries no other response: the client opens another one.
    const isLasting = !isEnding && res.req.httpVersionMajor === 1
    const fields = {
      ...Object.fromEntries(redirectionHeaders(redirection)),
      ...{ 'content-length': 0, ...(isLasting && { Connection: 'close' }) },
    }
    Reflect.apply(writeHead, res, [redirection.status, fields])
    // The client need not wait until a long body is over.
    res.flushHeaders()
    return res
  }
  /** Returns whether a part of the body is discarded. The head is sent first, or Node would send it with this part. */
  const discards = (): boolean => {
    // Called by its name, since other middleware may have replaced it later.
    if (!res.headersSent && !res.destroyed && isMissing(res.statusCode)) res.writeHead(res.statusCode)
    return isReplaced && !res.writableEnded
  }
  res.write = (...args: unknown[]): boolean => {
    if (!discards()) return Reflect.apply(write, res, args)
    const callback = args.find(isFunction)
    if (callback) process.nextTick(callback)
    return true
  }
  res.end = (...args: unknown[]): ServerResponse => {
    isEnding = true
    return Reflect.apply(end, res, discards() ? args.filter(isFunction) : args)
  }
  return {
    get isReplaced() {
      return isReplaced
    },
  }
}

const isFunction = (value: unknown): value is () => void => typeof value === 'function'
