import type { DecidingRule, RuleState } from '../rules/rule.js'
import { type Sql, sql } from '../storage/sql.js'
import { type AutomaticNote, automaticNoteStatements } from './annotations.js'
import { lastId } from './ids.js'

/** Returns whether the end of a rule has passed. */
export const hasEnded = ({ until }: Pick<DecidingRule, 'until'>, at: Date): boolean =>
  until !== undefined && Date.parse(until) <= at.getTime()

/** Returns the state that a rule has at an instant: from its `until` on it counts as off. */
export const stateAt = (rule: Pick<DecidingRule, 'state' | 'until'>, at: Date): RuleState =>
  hasEnded(rule, at) ? 'off' : rule.state

interface RuleTransition {
  readonly site: number
  readonly at: Date
  /** Undefined while the rule is being created. */
  readonly id: number | undefined
  readonly name: string
  readonly before: RuleState
  /** Undefined if the rule is deleted. */
  readonly after: Pick<DecidingRule, 'state' | 'until'> | undefined
}

/**
 * Returns the statements of the note that a change of a rule makes: when it begins to decide, and when it no longer does. A
 * rehearsal changes nothing on the site, so its beginning makes no note.
 */
export function ruleNoteStatements({ site, at, id, name, before, after }: RuleTransition): Sql[] {
  const state = after === undefined ? 'off' : stateAt(after, at)
  if ((before === 'on') === (state === 'on')) return []
  const end = after === undefined ? 'was deleted' : state === 'rehearse' ? 'is in rehearsal' : 'is off'
  const note = {
    site,
    kind: 'rule_changed',
    at,
    cause: `rule_changed:${name}:${at.toISOString()}`,
    text: `Rule “${name}” ${state === 'on' ? 'is on' : end}`,
  } as const
  const data = { name, state, before: { state: before } }
  if (id !== undefined) return automaticNoteStatements({ ...note, data: { rule: id, ...data } })
  const rest = `,${JSON.stringify(data).slice(1)}`
  return automaticNoteStatements(note, sql`'{"rule":' || cast(${lastId('rules')} as varchar) || ${rest}`)
}

/** Returns the note about a rule that was on until its end; undefined if it has not ended, or was not on. */
export function ruleEndNote(
  rule: Pick<DecidingRule, 'id' | 'name' | 'state' | 'until'> & { readonly site: number; readonly changed_at: Date },
  now: Date,
): AutomaticNote | undefined {
  const { id, site, name, state, until, changed_at } = rule
  if (until === undefined || state !== 'on' || !hasEnded(rule, now) || hasEnded(rule, changed_at)) return undefined
  return {
    site,
    kind: 'rule_changed',
    at: new Date(until),
    cause: `rule_ended:${id}:${until}`,
    text: `Rule “${name}” has ended`,
    data: { rule: id, name, state: 'off', before: { state } },
  }
}

/** Returns the statements of the note that a pause of a site's rules, or its end, makes. */
export const pauseNoteStatements = (site: number, paused: boolean, at: Date): Sql[] =>
  automaticNoteStatements({
    site,
    kind: 'rules_paused',
    at,
    cause: `rules_paused:${paused}:${at.toISOString()}`,
    text: paused ? 'Rules were paused' : 'Rules are active again',
    data: { paused },
  })
