import { useEffect, useState } from 'preact/hooks'
import type { paths } from '../client/index.js'
import { root } from './address.js'
import { isProblem, type Problem, requestWithProgress } from './client.js'
import { envelope } from './question.js'

type Path = '/api/rules/rehearsal' | '/api/policy/rehearsal'
type Body<P extends Path> = NonNullable<paths[P]['post']['requestBody']>['content']['application/json']
type Answer<P extends Path> = paths[P]['post']['responses'][200]['content']['application/json']['data']
/** The thing that is tried. The window is the one on screen. */
type Input<P extends Path> = Omit<Body<P>, 'site' | 'range' | 'start' | 'end' | 'progress'>

export type RulesRehearsal = Answer<'/api/rules/rehearsal'>
export type TextRehearsal = Answer<'/api/policy/rehearsal'>
/** A rule as the rehearsal takes it. */
export type TriedRule = NonNullable<Body<'/api/rules/rehearsal'>['rules']>[number]

/** Milliseconds after an edit until it is tried, and after which the reader is told that it takes a while. */
const EDIT_MS = 300
const SLOW_MS = 1_000

interface Shown<P extends Path> {
  key?: string
  data?: Answer<P>
  /** The thing that `data` is about. */
  of?: Input<P> | undefined
  problem?: Problem
}

/** The last answer of each kind, so that a form that was saved, or a view that comes back, draws at once. */
const latest = new Map<Path, Shown<Path>>()

/**
 * Tries something on the window on screen; undefined: nothing is asked. An earlier result stays, as `stale`, until the new
 * one is there.
 */
export function useRehearsal<P extends Path>(path: P, input: Input<P> | undefined) {
  const { site, range, start, end } = envelope('agent')
  const body = JSON.stringify({ site, ...(start ? { start, end } : { range }), progress: true, ...input })
  const key = input && path + body
  const [shown, setShown] = useState<Shown<P>>(() => {
    const known = latest.get(path) as Shown<P> | undefined
    return known?.key === key ? (known ?? {}) : {}
  })
  const [turn, setTurn] = useState(0)
  const [cancel, setCancel] = useState<() => void>()
  const [share, setShare] = useState<number>()
  useEffect(() => {
    if (key === undefined || shown.key === key) return
    const stop = new AbortController()
    const show = (next: Shown<P>) => stop.signal.aborted || setShown(next)
    const ask = async () => {
      const onCancel = () => {
        show({ ...shown, key, problem: { status: 0, code: 'cancelled', message: '', at: new Date() } })
        stop.abort()
      }
      const late = setTimeout(() => setCancel(() => onCancel), SLOW_MS)
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body, signal: stop.signal }
      try {
        const { data } = Object(await requestWithProgress(`${root.href.replace(/\/$/, '')}${path}`, init, setShare))
        latest.set(path, { key, data, of: input })
        show({ key, data, of: input })
      } catch (problem) {
        if (!isProblem(problem)) throw problem
        show({ ...shown, key, problem })
      } finally {
        clearTimeout(late)
        setCancel(undefined)
        setShare(undefined)
      }
    }
    const timer = setTimeout(() => void ask(), shown.data ? EDIT_MS : 0)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key, turn])
  const { problem, data, of } = shown
  const isOwn = shown.key === key
  const isAsked = key !== undefined
  return {
    ...(data && isAsked ? { data, of } : {}),
    ...(isOwn && problem ? { problem } : {}),
    loading: isAsked && data === undefined && !isOwn,
    stale: isAsked && data !== undefined && !isOwn,
    /** Cancels a rehearsal that takes long; absent while none does. */
    cancel,
    /** The part that is done, from 0 to 1, of one that takes long. */
    share,
    retry: () => {
      setShown(({ key: _key, problem: _problem, ...old }) => old)
      setTurn(turn + 1)
    },
  }
}
export type Rehearsed = ReturnType<typeof useRehearsal<'/api/rules/rehearsal'>>
export type TriedText = ReturnType<typeof useRehearsal<'/api/policy/rehearsal'>>
