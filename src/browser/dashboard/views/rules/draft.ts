import type { Prefill } from '../../parts/act-link.js'
import { operatorName } from '../../parts/claimed-name.js'
import { place } from '../../state/address.js'
import { formatBytes, formatDay } from '../../state/format.js'
import type { TriedRule } from '../../state/rehearsal.js'
import type { Rule } from '../../state/rules.js'
import { t } from '../../texts/index.js'

type Optional = 'budget' | 'license_url' | 'until'
type OfRecord = 'id' | 'version' | 'site' | 'position' | 'changed_at' | 'changed_by' | 'ended'
/** The fields of a rule that the form edits. */
export type Draft = Omit<Rule, Optional | OfRecord> & { [K in Optional]?: Rule[K] | undefined }

export const ACTIONS = ['allow', 'block', 'pay', 'limit', 'gone'] as const
export const STATUS = { allow: 200, block: 403, pay: 402, limit: 429, gone: 410 } as const
export const IDENTITIES = ['verified', 'unverifiable', 'spoofed'] as const

/** The budget that a limit begins with. */
export const BUDGET: NonNullable<Draft['budget']> = { limit: 60, unit: 'fetches', per: 'hour', by: 'agent' }

const EMPTY: Draft = {
  ...{ name: '', agents: [], operators: [], purposes: [], except: [], identity: [], disallowed: false, paths: [] },
  ...{ methods: [], action: 'block', text: {}, strict: false, refuse_search_engines: false, state: 'rehearse' },
}

/** Returns the fields of a stored rule. */
export function draftOf(rule: Rule): Draft {
  const { id: _id, version: _v, site: _s, position: _p, changed_at: _at, changed_by: _by, ended: _e, ...fields } = rule
  return fields
}

/** Returns a new rule as the address fills it in: a link from a number leads here. */
export function prefilled(
  { name = '', agents, operators, identity, disallowed, paths, action }: Prefill = place.value.own,
): Draft {
  const list = (text?: string) => (text ? [text] : [])
  const chosen = ACTIONS.find((each) => each === action) ?? EMPTY.action
  return {
    ...EMPTY,
    name: name.slice(0, 100),
    agents: list(agents),
    operators: list(operators),
    identity: IDENTITIES.filter((each) => each === identity),
    disallowed: disallowed === 'yes',
    paths: list(paths),
    action: chosen,
    ...(chosen === 'limit' ? { budget: BUDGET } : {}),
  }
}

/** The rule as a rehearsal takes it: one that is off is tried as if it were rehearsed. */
export function tried({ budget, license_url, until, name, state, ...draft }: Draft, id?: number): TriedRule {
  return {
    ...draft,
    ...(budget && { budget }),
    ...(until && { until }),
    ...(license_url && URL.canParse(license_url) && { license_url }),
    ...(id !== undefined && { id }),
    name: name.trim() || '?',
    state: state === 'off' ? 'rehearse' : state,
  }
}

/** A stored rule as the rehearsal takes it. */
export const asTried = (rule: Rule): TriedRule => tried(draftOf(rule), rule.id)

/** Names of agents by `agent_id`. */
export type Names = ReadonlyMap<string, string>

/** Says a rule in one line: who, where, above which budget, and what they get. */
export function ruleText(rule: Draft, names: Names): string {
  const { rules, units, parts } = t()
  const { budget } = rule
  const few = (list: readonly string[]) => (list.length > 4 ? [...list.slice(0, 4), rules.more(list.length - 4)] : list)
  const who = [
    ...rule.agents.map((id) => names.get(id) ?? id),
    ...rule.operators.map(operatorName),
    ...rule.purposes.map((purpose) => parts.purpose[purpose] ?? purpose),
  ]
  const amount = budget && (budget.unit === 'bytes' ? formatBytes(budget.limit) : units.fetches(budget.limit))
  const said = [
    ...few(who.length > 0 ? who : [rules.anyAgent]),
    ...rule.identity.map((each) => parts.verification[each].toLowerCase()),
    ...few(rule.paths.length > 0 ? rule.paths : [rule.disallowed ? rules.disallowedOnly : rules.everywhere]),
    ...(budget && amount ? [rules.above(amount, rules.per[budget.per], rules.by[budget.by])] : []),
  ]
  const gets = rule.action === 'allow' ? rules.passes : `${STATUS[rule.action]}`
  return `${said.join(', ')}: ${gets}${rule.until ? `, ${rules.untilDay(formatDay(rule.until))}` : ''}.`
}
