import { createHash } from 'node:crypto'
import type { ArrivingRequest, SubstituteResponse } from '../../capture/decision.js'

const MAX_AGE_S = 300
/** Beyond this length `If-None-Match` is not read: a client chooses it. */
const MAX_CONDITION_CHARS = 1_000

/** Returns whether a request is for robots.txt. */
export const asksForRobots = ({ target, method }: ArrivingRequest): boolean =>
  /^\/robots\.txt(?:\?|$)/.test(target) && (method === 'GET' || method === 'HEAD')

/** Creates the response with a robots.txt that readership serves in place of the origin's; 304 if the client has it. */
export function createManagedRobots(body: string): (request: ArrivingRequest) => SubstituteResponse {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const common = [
    ['cache-control', `public, max-age=${MAX_AGE_S}`],
    ['etag', etag],
  ] as const
  const whole = { status: 200, headers: [['content-type', 'text/plain; charset=utf-8'], ...common], body } as const
  return ({ if_none_match: condition = '' }) => {
    const tags = condition.slice(0, MAX_CONDITION_CHARS).split(',')
    const isKnown = tags.some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
    return isKnown ? { status: 304, headers: common, body: '' } : whole
  }
}
