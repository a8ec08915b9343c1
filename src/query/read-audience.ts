import { ApiError } from '../errors.js'
import type { Audience } from './dimensions.js'
import type { Warning } from './read-context.js'

/**
 * The audiences that a read accepts. `only`: the read is about this audience, whatever is requested; with `mixesAudiences` it
 * compares people with agents and applies a filter on a dimension of one of them to that one. `default` applies if the
 * request names no audience; all three are accepted, unless only people have what the read is about (`peopleOnly`).
 */
export type ReadAudience =
  | { readonly only: Audience; readonly mixesAudiences?: true }
  | { readonly default: Audience; readonly peopleOnly?: PeopleOnly }

interface PeopleOnly {
  /** The read that answers for agents. */
  readonly instead: string
  /** For audience `all`, the read leaves out the metrics that cannot be summed; otherwise it answers for people. */
  readonly sums?: true
}

/**
 * A read about what only people have. Audience `all` gets people's rows with a warning; audience `agent` is refused, and
 * the message names the read to ask `instead`.
 */
export const peopleOnly = (instead: string, sums?: true): ReadAudience => ({
  default: 'human',
  peopleOnly: { instead, ...(sums ? { sums } : {}) },
})

/**
 * Returns the audience whose rows are read, the one that the response is for, and a warning if that is not what was
 * requested. Throws `validation_error` if the read is about people and agents are requested.
 */
export function resolveAudience(
  accepted: ReadAudience,
  requested: Audience | undefined,
): { audience: Audience; shown: Audience; note?: Warning } {
  if ('only' in accepted) {
    const { only } = accepted
    const note = { code: 'audience_fixed', message: FIXED_AUDIENCES[only] }
    return { audience: only, shown: only, ...(requested === undefined || requested === only ? {} : { note }) }
  }
  const audience = requested ?? accepted.default
  const { peopleOnly } = accepted
  if (!peopleOnly || audience === 'human') return { audience, shown: audience }
  if (audience === 'agent') {
    const message = `This read is about people; for agents, ask GET ${peopleOnly.instead}.`
    throw new ApiError('validation_error', message, 'audience')
  }
  const note = { code: 'people_only', message: 'Agents have none of this: only people are counted here.' }
  return { audience: 'human', shown: peopleOnly.sums ? 'all' : 'human', note }
}

const FIXED_AUDIENCES: Record<Audience, string> = {
  human: 'This read is about people, whatever audience is requested.',
  agent: 'This read is about agents, whatever audience is requested; reads about people are below /api/stats.',
  all: 'This read compares people with agents, whatever audience is requested.',
}
