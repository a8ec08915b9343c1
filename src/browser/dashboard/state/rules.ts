import type { DataOf } from '../client/index.js'
import { client, send } from './client.js'
import { forget, useRead } from './data.js'
import { siteQuery } from './question.js'
import type { RulesRehearsal } from './rehearsal.js'
import { site } from './session.js'

export type Rule = DataOf<'/api/rules'>[number]
export type RuleState = Rule['state']
export type RehearsedRule = RulesRehearsal['rules'][number]

/** The rules of the site in their order. */
export const useRules = () => useRead('/api/rules', { site: siteQuery.value.site })

/** Whether rules are paused, and what each front has. */
export const useRuleState = () => useRead('/api/rules/state', { site: siteQuery.value.site }, { every: 15_000 })

/** Whether a rule refuses: it is switched on, and its end is not over. */
export const isOn = ({ state, ended }: Rule): boolean => state === 'on' && !ended

/** Pauses all rules of the site, or resumes them. */
export async function setPaused(isPaused: boolean): Promise<void> {
  const body = { site: site.value?.id ?? 0 }
  await send(isPaused ? client.POST('/api/rules/pause', { body }) : client.POST('/api/rules/resume', { body }))
  forget('/api/rules')
}
