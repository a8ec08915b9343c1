import { useEffect, useState } from 'preact/hooks'
import type { DataOf, paths } from '../client/index.js'
import { client, isProblem, type Problem, send } from './client.js'
import { forget, useRead } from './data.js'
import { envelope, siteQuery } from './question.js'
import { site } from './session.js'

export type Rule = DataOf<'/api/rules'>[number]
export type RuleState = Rule['state']
type RehearsalBody = NonNullable<paths['/api/rules/rehearsal']['post']['requestBody']>['content']['application/json']
export type Rehearsal = paths['/api/rules/rehearsal']['post']['responses'][200]['content']['application/json']['data']
export type RehearsedRule = Rehearsal['rules'][number]
/** A rule as the rehearsal takes it. */
export type TriedRule = NonNullable<RehearsalBody['rules']>[number]

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

/** Milliseconds after an edit until the rules are tried, and after which the reader is told that it takes a while. */
const EDIT_MS = 300
const SLOW_MS = 1_000

/** The last answers by question, so that a view that comes back draws at once. */
const cache = new Map<string, Rehearsal>()
const MAX_KNOWN = 20

interface Shown {
  key?: string
  data?: Rehearsal
  problem?: Problem
}

/**
 * Tries rules on the window on screen; undefined: nothing is asked. An earlier result stays, as `stale`, until the new one
 * is there.
 */
export function useRehearsal(rules: readonly TriedRule[] | undefined) {
  const { site: id = 0, range, start, end } = envelope('agent')
  const body = { site: id, ...(start ? { start, end } : { range }), rules }
  const key = rules === undefined ? undefined : JSON.stringify(body)
  const [shown, setShown] = useState<Shown>(() => shownOf(key))
  const [turn, setTurn] = useState(0)
  const [slow, setSlow] = useState<() => void>()
  useEffect(() => {
    if (key === undefined || cache.has(key)) return setShown((old) => (key === undefined ? old : shownOf(key)))
    const stop = new AbortController()
    const ask = async () => {
      const late = setTimeout(() => setSlow(() => () => stop.abort()), SLOW_MS)
      try {
        const call = client.POST('/api/rules/rehearsal', { body: body as RehearsalBody, signal: stop.signal })
        const { data } = await send(call)
        if (cache.size >= MAX_KNOWN) cache.clear()
        cache.set(key, data)
        setShown({ key, data })
      } catch (problem) {
        if (!isProblem(problem)) throw problem
        if (!isGone) setShown((old) => ({ ...old, key, problem }))
      } finally {
        clearTimeout(late)
        if (!isGone) setSlow(undefined)
      }
    }
    let isGone = false
    const timer = setTimeout(() => void ask(), shown.data ? EDIT_MS : 0)
    return () => {
      isGone = true
      clearTimeout(timer)
      stop.abort()
    }
  }, [key, turn])
  const isOwn = shown.key === key
  return {
    ...(shown.data && key !== undefined ? { data: shown.data } : {}),
    ...(isOwn && shown.problem ? { problem: shown.problem } : {}),
    loading: key !== undefined && shown.data === undefined && !(isOwn && shown.problem),
    stale: key !== undefined && shown.data !== undefined && !isOwn,
    /** Cancels a rehearsal that takes long; absent while none does. */
    cancel: slow,
    retry: () => {
      setShown(({ data }) => (data ? { data } : {}))
      setTurn(turn + 1)
    },
  }
}
export type Rehearsed = ReturnType<typeof useRehearsal>

function shownOf(key: string | undefined): Shown {
  const data = key === undefined ? undefined : cache.get(key)
  return key !== undefined && data ? { key, data } : {}
}
