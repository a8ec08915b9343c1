import type { DecidingRule, RuleState } from '../rules/rule.js'
import { Sql, sql } from '../storage/sql.js'
import { type AutomaticNote, automaticNoteStatements } from './annotations.js'

type Ending = Pick<DecidingRule, 'state' | 'until'>

/** Returns whether the end of a rule has passed. */
export const hasEnded = ({ until }: Pick<Ending, 'until'>, at: Date): boolean =>
  until !== undefined && Date.parse(until) <= at.getTime()

/** Returns the state that a rule has at an instant: from its `until` on it counts as off, and so does one that does not exist. */
const stateAt = (rule: Ending | undefined, at: Date): RuleState =>
  rule === undefined || hasEnded(rule, at) ? 'off' : rule.state

/**
 * Returns the statements of the note that a change of a rule makes: when it begins to decide, and when it no longer does. A
 * rehearsal changes nothing on the site, so its beginning makes no note.
 */
export function ruleNoteStatements(change: {
  /** Within the transaction that creates the rule, the SQL that gives its id. */
  readonly id: number | Sql
  readonly record: { readonly site: number; readonly name: string }
  readonly before?: Ending | undefined
  readonly after?: Ending | undefined
  readonly at: Date
}): Sql[] {
  const { id, at, after } = change
  const { site, name } = change.record
  const [before, state] = [stateAt(change.before, at), stateAt(after, at)]
  if ((before === 'on') === (state === 'on')) return []
  const end = after === undefined ? 'was deleted' : state === 'rehearse' ? 'is in rehearsal' : 'is off'
  const rest = JSON.stringify({ name, state, before: { state: before } }).slice(1)
  return automaticNoteStatements(
    {
      ...{ site, kind: 'rule_changed', at, cause: `rule_changed:${name}:${at.toISOString()}` },
      text: `Rule “${name}” ${state === 'on' ? 'is on' : end}`,
    },
    sql`'{"rule":' || cast(${id instanceof Sql ? id : String(id)} as varchar) || ${`,${rest}`}`,
  )
}

/** Returns the note about a rule that was on until its end; undefined if it has not ended, or was not on. */
export function ruleEndNote(
  rule: Ending & Pick<DecidingRule, 'id' | 'name'> & { readonly site: number; readonly changed_at: Date },
  now: Date,
): AutomaticNote | undefined {
  const { id, site, name, state, until, changed_at } = rule
  if (until === undefined || state !== 'on' || !hasEnded(rule, now) || hasEnded(rule, changed_at)) return undefined
  return {
    ...{ site, kind: 'rule_changed', at: new Date(until), cause: `rule_ended:${id}:${until}` },
    text: `Rule “${name}” has ended`,
    data: { rule: id, name, state: 'off', before: { state } },
  }
}
