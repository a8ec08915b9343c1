import { loadCatalog } from '../../agents/catalog.js'
import { createLock } from '../../base/lock.js'
import type { Log } from '../../base/log.js'
import type { Manage } from '../../manage/manage.js'
import { readRuleSources } from '../../manage/rule-sources.js'
import { buildRuleSet } from '../../rules/build-rule-set.js'
import type { Records } from '../../storage/store.js'
import type { CurrentRules } from './rules-on-disk.js'

interface RuleKeeperDeps {
  readonly records: Records
  readonly manage: Pick<Manage, 'sites' | 'rules'>
  readonly currentRules: CurrentRules
  readonly log: Log
}

/** Calls of `retry` after a change of a robots.txt: the worker announces it before it is stored, and may store it late. */
const RETRIES_AFTER_POLICY_CHANGE = 5

export type RuleKeeper = ReturnType<typeof createRuleKeeper>

/**
 * Keeps the active rules up to date with the records. While these cannot be read, the last rules stay: a set is built as a
 * whole, or not at all.
 */
export function createRuleKeeper({ records, manage, currentRules, log }: RuleKeeperDeps) {
  const lock = createLock()
  let retries = 0
  let isFailing = false
  const build = async (): Promise<void> => {
    try {
      const sites = await manage.sites.list()
      const rules = await manage.rules.all()
      const needsRobots = rules.some(({ state }) => state !== 'off')
      const sources = await readRuleSources(records, needsRobots)
      currentRules.set(buildRuleSet({ catalog: loadCatalog(), sites, rules, ...sources }))
      isFailing = false
    } catch (error) {
      if (!isFailing)
        log.warn({ err: error }, 'the rules could not be read: the last ones stay active; that is retried')
      isFailing = true
      retries = Math.max(retries, 1)
    }
  }
  /** Resolves after a build that began after the call. Never rejects. */
  const refresh = (): Promise<void> => lock(build)
  return {
    refresh,
    /** Builds the rules again if the last try failed, or a robots.txt has changed. Call it every few seconds. */
    async retry(): Promise<void> {
      currentRules.store()
      if (retries === 0) return
      retries -= 1
      await refresh()
    },
    /** A version of robots.txt is about to be stored. */
    policyChanged(): void {
      retries = RETRIES_AFTER_POLICY_CHANGE
    },
  }
}
