import { join } from 'node:path'
import type { Log } from '../../base/log.js'
import { openPrivateFile } from '../../base/private-file.js'
import { nameRuleSet } from '../../rules/build-rule-set.js'
import { NO_RULES, RuleSet } from '../../rules/rule-set.js'

export type CurrentRules = ReturnType<typeof openCurrentRules>

interface CurrentRulesDeps {
  readonly log: Log
  /** Decides by them in this process, where it serves sites. */
  readonly rules?: { apply(set: RuleSet): void }
}

/**
 * Opens the active rules as the last process of the data directory left them: they apply before the store is open, and
 * while it cannot be read. A file that is not whole is logged and ignored.
 */
export function openCurrentRules(
  { data, rules: setting }: { readonly data: string; readonly rules?: 'on' | 'off' | undefined },
  { log, rules: live }: CurrentRulesDeps,
) {
  const isOff = setting === 'off'
  const file = openPrivateFile(join(data, 'rules.json'))
  const listeners: ((set: RuleSet) => void)[] = live ? [(set) => live.apply(set)] : []
  let latest = readRules(file, log)
  let current = withoutRules(latest, isOff)
  let stored = latest.version
  let isFailing = false
  /** Writes the file if it has another set. Call it again where that failed. */
  const store = () => {
    if (stored === latest.version) return
    try {
      file.write(`${JSON.stringify(latest)}\n`)
      stored = latest.version
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'the active rules could not be written to rules.json; that is retried')
      isFailing = true
    }
  }
  live?.apply(current)
  return {
    /** Nothing is decided, whatever the rules are. */
    isOff,
    store,
    /** Makes a set the active one, and stores it if it is another one. */
    set(set: RuleSet): void {
      latest = set
      const next = withoutRules(set, isOff)
      const isNew = next.version !== current.version
      current = next
      if (isNew) for (const listener of listeners) listener(current)
      store()
    },
    /** Calls the listener with the active rules, now and whenever they change. */
    watch(listener: (set: RuleSet) => void): void {
      listeners.push(listener)
      listener(current)
    },
  }
}

function readRules(file: { read(): string | undefined }, log: Log): RuleSet {
  try {
    const text = file.read()
    return text === undefined ? NO_RULES : RuleSet.parse(JSON.parse(text))
  } catch (error) {
    log.warn({ err: error }, 'rules.json cannot be read: no rule applies until the store is open')
    return NO_RULES
  }
}

/** Returns the set with its redirects and its robots.txt only, if rules are off. */
export const withoutRules = (set: RuleSet, isOff: boolean): RuleSet =>
  isOff ? nameRuleSet(set.sites.map((site) => ({ ...site, rules: [] }))) : set
