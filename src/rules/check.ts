import { type Agent, PURPOSES, verificationMethods } from '../agents/agent.js'
import type { Catalog } from '../agents/catalog.js'
import { UNKNOWN_AGENT } from '../agents/identify.js'
import { suggestName } from '../base/nearest-name.js'
import { createPathMatcher } from '../capture/excluded-paths.js'
import { namesAgent } from './decide.js'
import { isNeverRefused } from './never-refused.js'
import { type DecidingRule, IDENTITIES } from './rule.js'

/** A reason why a rule is refused, and the field that it is about. */
export interface RuleProblem {
  readonly field: string
  readonly message: string
}

/**
 * Returns the first reason why a rule cannot be stored as it is; undefined without one. Names that `stored` has already may
 * have left the catalogue since.
 */
export function findRuleProblem(rule: DecidingRule, catalog: Catalog, stored?: DecidingRule): RuleProblem | undefined {
  return (
    findUnknownName(rule, catalog, stored) ??
    findBudgetProblem(rule) ??
    findIdlePath(rule) ??
    (rule.action !== 'allow' && isAboutEverything(rule) ? EVERYTHING : undefined) ??
    findRefusedSearchEngines(rule, catalog)
  )
}

const EVERYTHING: RuleProblem = {
  field: 'agents',
  message: 'This would refuse every agent everywhere. Name an agent, a path or a budget.',
}

function findUnknownName(
  { agents, operators, purposes, except }: DecidingRule,
  { get, agents: all }: Catalog,
  stored: DecidingRule | undefined,
): RuleProblem | undefined {
  const isAgent = (id: string) => id === UNKNOWN_AGENT.id || get(id) !== undefined
  const isPurpose = (name: string) => PURPOSES.some((purpose) => purpose === name)
  const isOperator = (name: string) => name === UNKNOWN_AGENT.operator || all.some(({ operator }) => operator === name)
  const ids = () => all.map(({ id }) => id)
  for (const [field, names, isKnown, kind, candidates] of [
    ['agents', agents, isAgent, 'agent', ids],
    ['except', except, isAgent, 'agent', ids],
    ['operators', operators, isOperator, 'operator', () => [...new Set(all.map(({ operator }) => operator))]],
    ['purposes', purposes, isPurpose, 'purpose', () => PURPOSES],
  ] as const) {
    const at = names.findIndex((name) => !isKnown(name) && !stored?.[field].includes(name))
    const name = names[at]
    if (name === undefined) continue
    const message = `The catalogue has no ${kind} ${JSON.stringify(name)}${suggestName(kind === 'agent' ? name.toLowerCase() : name, candidates())}`
    return { field: `${field}[${at}]`, message }
  }
  return undefined
}

function findBudgetProblem({ action, budget }: DecidingRule): RuleProblem | undefined {
  if (action === 'limit' && budget === undefined) return { field: 'budget', message: 'A limit needs a budget.' }
  if (action === 'allow' && budget !== undefined)
    return { field: 'budget', message: 'A rule that allows has no budget: it refuses nothing.' }
  return undefined
}

/** Finds a path that no refused fetch can have: the owner would wait in vain for the rule. */
function findIdlePath({ paths, action }: DecidingRule): RuleProblem | undefined {
  for (const [n, path] of paths.entries()) {
    if (/[?#]/.test(path))
      return {
        field: `paths[${n}]`,
        message: 'A path is compared without its query: leave out what begins with ? or #.',
      }
    if (action !== 'allow' && isNeverRefused(path, new Set()))
      return { field: `paths[${n}]`, message: `${path} is never refused: agents read there what they may fetch.` }
  }
  return undefined
}

/** Paths that together only a list of patterns for every path matches. */
const PROBES = ['/', '/a', '/b/', '/c-1/d_2', '/e/f/g/h/i/', '/j.k', '/l/m/n.o', '/~p/%C3%A4/q/r/s/t/u/v/w.x']

/** Returns whether a rule is about every fetch of every agent that it does not spare. */
function isAboutEverything({
  agents,
  operators,
  purposes,
  identity,
  disallowed,
  paths,
  budget,
}: DecidingRule): boolean {
  const lists = (names: readonly string[], all: readonly string[]) => all.every((name) => names.includes(name))
  const isNaming = (agents.length > 0 || operators.length > 0 || purposes.length > 0) && !lists(purposes, PURPOSES)
  if (isNaming || disallowed || budget !== undefined) return false
  if (identity.length > 0 && !lists(identity, IDENTITIES)) return false
  return paths.length === 0 || PROBES.every(createPathMatcher(paths))
}

/** Search engines that a message names; it counts the others. */
const MAX_NAMED = 5

function findRefusedSearchEngines(rule: DecidingRule, catalog: Catalog): RuleProblem | undefined {
  if (rule.state !== 'on' || rule.refuse_search_engines) return undefined
  const names = listRefusedSearchEngines(rule, catalog).map(({ name }) => name)
  if (names.length === 0) return undefined
  const [shown, others] = [names.slice(0, MAX_NAMED).join(', '), names.length - MAX_NAMED]
  return {
    field: 'refuse_search_engines',
    message: `This rule would refuse search engines: ${shown}${others > 0 ? ` and ${others} more` : ''}. List them in \`except\`, or set \`refuse_search_engines\`.`,
  }
}

/**
 * Returns a rule as it decides: while its owner has not agreed to refuse search engines, it leaves out those that it names. The
 * catalogue may have got new ones since the rule was switched on.
 */
export function leaveOutSearchEngines(rule: DecidingRule, catalog: Pick<Catalog, 'agents'>): DecidingRule {
  if (rule.state !== 'on' || rule.refuse_search_engines) return rule
  const engines = listRefusedSearchEngines(rule, catalog)
  return engines.length === 0 ? rule : { ...rule, except: [...rule.except, ...engines.map(({ id }) => id)] }
}

/** Returns the search engines that a rule refuses: it names them by agent, operator or purpose, and can match them as what they are. */
export const listRefusedSearchEngines = (rule: DecidingRule, { agents }: Pick<Catalog, 'agents'>): Agent[] =>
  agents.filter(
    (agent) =>
      rule.action !== 'allow' &&
      agent.purpose === 'search' &&
      !agent.robots_only &&
      namesAgent(rule, agent) &&
      !rule.except.includes(agent.id) &&
      isGenuineMatched(rule, agent),
  )

/** Returns whether the identities of a rule include the one that an agent has if its claim is true. */
const isGenuineMatched = ({ identity }: DecidingRule, agent: Agent): boolean =>
  identity.length === 0 || identity.includes(verificationMethods(agent).length > 0 ? 'verified' : 'unverifiable')
