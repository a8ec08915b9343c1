import type { Prefill } from '../../parts/act-link.js'
import { operatorName } from '../../parts/claimed-name.js'
import { place } from '../../state/address.js'
import { formatBytes, formatDay } from '../../state/format.js'
import type { Rule, TriedRule } from '../../state/rules.js'
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

/** Whether a rule would refuse every agent everywhere. */
export const matchesAll = (rule: Draft): boolean =>
  rule.action !== 'allow' &&
  [rule.agents, rule.operators, rule.purposes, rule.identity].every((list) => list.length === 0) &&
  !rule.disallowed &&
  rule.budget === undefined &&
  (rule.paths.length === 0 || rule.paths.some((path) => /^\/?\*\*(?:\/\*+)?$/.test(path)))

/** The rule as a rehearsal takes it: one that is off is tried as if it were rehearsed. */
export function tried({ budget, license_url, until, ...draft }: Draft, id?: number): TriedRule {
  return {
    ...draft,
    ...(budget ? { budget } : {}),
    ...(until ? { until } : {}),
    ...(license_url && URL.canParse(license_url) ? { license_url } : {}),
    ...(draft.name.trim() === '' ? { name: '?' } : {}),
    ...(id === undefined ? {} : { id }),
    state: draft.state === 'off' ? 'rehearse' : draft.state,
  }
}

/** Names of agents by `agent_id`. */
export type Names = ReadonlyMap<string, string>

/** Names whom a rule is about. */
const whoOf = (rule: Draft, names: Names): string[] => [
  ...rule.agents.map((id) => names.get(id) ?? id),
  ...rule.operators.map(operatorName),
  ...rule.purposes.map((purpose) => t().parts.purpose[purpose] ?? purpose),
]

/** Says in words what a budget lets pass. */
function budgetText({ limit, unit, per, by }: NonNullable<Draft['budget']>): string {
  const { rules, units } = t()
  return rules.above(unit === 'bytes' ? formatBytes(limit) : units.fetches(limit), rules.per[per], rules.by[by])
}

/** Says a rule in one line: who, where, and what they get. */
export function ruleText(rule: Draft, names: Names): string {
  const { rules } = t()
  const who = whoOf(rule, names)
  const identity = rule.identity.map((each) => rules.identity[each].toLowerCase()).join(', ')
  const parts = [
    who.length > 0 ? who.slice(0, 4).join(', ') : rules.any(identity),
    ...(who.length > 4 ? [rules.more(who.length - 4)] : []),
    ...(who.length > 0 && identity ? [identity] : []),
    rule.paths.slice(0, 3).join(', ') || (rule.disallowed ? rules.disallowedOnly : rules.everywhere),
    ...(rule.paths.length > 3 ? [rules.more(rule.paths.length - 3)] : []),
    ...(rule.budget ? [budgetText(rule.budget)] : []),
  ]
  const gets = rule.action === 'allow' ? rules.passes : `${STATUS[rule.action]}`
  return `${parts.join(', ')}: ${gets}${rule.until ? `, ${rules.untilDay(formatDay(rule.until))}` : ''}.`
}

/** Seconds of a budget's window, after which an agent may come back at the latest. */
const WINDOW_S = { minute: 60, hour: 3_600, day: 86_400 }

/** The answer that a refused agent gets, as text: the status, the headers that say why, and the owner's words. */
export function answerText({ action, text, license_url, budget }: Draft, form: 'plain' | 'html' | 'json'): string {
  if (action === 'allow') return ''
  const reason = { block: 'Forbidden', pay: 'Payment Required', limit: 'Too Many Requests', gone: 'Gone' }[action]
  const type = { plain: 'text/plain', html: 'text/html', json: 'application/json' }[form]
  const lines = [`HTTP/1.1 ${STATUS[action]} ${reason}`, `Content-Type: ${type}; charset=utf-8`]
  if (action === 'limit') lines.push(`Retry-After: ${WINDOW_S[budget?.per ?? 'hour']}`)
  if (action === 'pay' && license_url)
    lines.push(
      `Link: <${license_url}>; rel="license"; type="application/rsl+xml"`,
      'WWW-Authenticate: License error="invalid_request", error_description="A licence is required"',
    )
  return [...lines, '', text[form] ?? t().rules.ownText].join('\n')
}
