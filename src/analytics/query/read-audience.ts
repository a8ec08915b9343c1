import { ApiError } from '../../base/errors.js'
import { AUDIENCES, type Audience } from './dimensions.js'
import { ENVELOPE_SHAPE, type Envelope } from './envelope.js'
import type { Warning } from './read-warnings.js'

/**
 * The audiences that a read accepts. `only`: the read is about this audience, whatever is requested; with `mixesAudiences` it
 * compares people with agents and applies a filter on a dimension of one of them to that one. `default` applies if the
 * request names no audience; all three are accepted. `peopleOnly`: the read is about people.
 */
export type ReadAudience =
  | { readonly only: Audience; readonly mixesAudiences?: true }
  | { readonly default: Audience; readonly peopleOnly?: PeopleOnly }

interface PeopleOnly {
  /** The read to ask about agents; absent: agents have an answer of their own here. */
  readonly instead?: string
  /** For audience `all`, the read leaves out the metrics that cannot be summed; otherwise it answers for people. */
  readonly sums?: true
}

/**
 * A read about what only people have. Audience `all` gets people's rows with a warning. Audience `agent` gets what agents
 * have of it, if the read defines that, and a warning that names the read to ask `instead`.
 */
export const peopleOnly = (instead: string, sums?: true): ReadAudience => ({
  default: 'human',
  peopleOnly: { instead, ...(sums ? { sums } : {}) },
})

/** A read that answers about people and about agents, and whose answers do not add up. Audience `all` gets people's rows. */
export const oneAudience = (sums?: true): ReadAudience => ({
  default: 'human',
  peopleOnly: sums ? { sums } : {},
})

/**
 * Returns the audience whose rows are read, the one that the response is for, and a warning if the read does not have all
 * that it has for people.
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
  const { instead } = peopleOnly
  if (audience === 'agent') {
    if (instead === undefined) return { audience, shown: audience }
    const message = `Agents lack what only people have; for agents, ask GET ${instead}.`
    return { audience, shown: audience, note: { code: 'ask_instead', message } }
  }
  const note =
    instead === undefined
      ? {
          code: 'agents_apart',
          message: 'Agents are not added to this: only people are counted. Ask audience=agent too.',
        }
      : { code: 'people_only', message: 'Agents have none of this: only people are counted here.' }
  return { audience: 'human', shown: peopleOnly.sums ? 'all' : 'human', note }
}

/** Throws `validation_error` for both readerships together, where visits of one and reads of the other are counted. */
export function requireOneReadership(audience: Audience): 'human' | 'agent' {
  if (audience !== 'all') return audience
  const message = 'Visits of people and reads of agents do not add up: write audience=human or audience=agent.'
  throw new ApiError('validation_error', message, 'audience')
}

/** The parameter `audience` of a read, as the API document describes it. */
export function describeAudience(accepted: ReadAudience) {
  const { audience } = ENVELOPE_SHAPE
  if ('only' in accepted)
    return audience.describe(`Always \`${accepted.only}\`: the read is about no other audience, whatever is requested.`)
  const others = AUDIENCES.filter((one) => one !== accepted.default).map((one) => `\`${one}\``)
  return accepted.default === 'human'
    ? audience
    : audience.describe(`The audience: \`${accepted.default}\` (default), ${others.join(' or ')}.`)
}

/** Warnings about a window, a comparison and sessions to leave out that were requested, where the read does not follow. */
export function noteFixed(
  read: { audience: ReadAudience; window?: unknown; compare?: Envelope['compare'] | 'required' },
  query: URLSearchParams,
  { compare, suspected, audience }: Pick<Envelope, 'compare' | 'suspected' | 'audience'>,
): Warning[] {
  const warnings: Warning[] = []
  const isAboutAgents =
    'only' in read.audience
      ? read.audience.only === 'agent' && !read.audience.mixesAudiences
      : (audience ?? read.audience.default) === 'agent'
  if (suspected === 'exclude' && isAboutAgents)
    warnings.push({
      code: 'suspected_are_people',
      message: 'suspected=exclude leaves out sessions of people; this answer is about agents.',
    })
  if (read.window && ['start', 'end', 'range', 'granularity'].some((name) => query.has(name)))
    warnings.push({ code: 'window_fixed', message: 'This read has a window of its own, whatever is requested.' })
  const fixed = read.window ? 'none' : read.compare
  const isOverridden = fixed === 'required' ? compare === 'none' : compare !== fixed
  if (fixed !== undefined && query.has('compare') && isOverridden) {
    const message =
      fixed === 'none'
        ? 'This read compares nothing, whatever is requested.'
        : fixed === 'required'
          ? 'This read always compares: with the window before, unless compare=year.'
          : 'This read always compares with the window before.'
    warnings.push({ code: 'comparison_fixed', message })
  }
  return warnings
}

const FIXED_AUDIENCES: Record<Audience, string> = {
  human: 'This read is about people, whatever audience is requested.',
  agent: 'This read is about agents, whatever audience is requested; reads about people are below /api/stats.',
  all: 'This read compares people with agents, whatever audience is requested.',
}
