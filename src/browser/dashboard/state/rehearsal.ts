import { useEffect, useState } from 'preact/hooks'
import type { paths } from '../client/index.js'
import { client, isProblem, type Problem, send } from './client.js'
import { quantity } from './quantity.js'
import { envelope } from './question.js'

type Responses = paths['/api/policy/rehearsal']['post']['responses']
export type TextRehearsal = Responses[200]['content']['application/json']['data']

/** The last result with the text that it is about, and whether a newer one is under way. */
export interface Tried {
  result?: TextRehearsal
  text?: string
  problem?: Problem
  isWaiting: boolean
  retry(): void
}

/** A number of a rehearsal with its word: its units are those of the reads. */
export const fetchesOf = (n: number) => quantity('/api/policy/violations/agents fetches', n)
export const pagesOf = (n: number) => quantity('/api/agents/coverage total', n)

/** A text is tried so long after the last edit. */
const PAUSE_MS = 300

/** Tries a text on the window on screen after each pause of its author; an earlier question is cancelled. */
export function useTextRehearsal(text: string | undefined, hostname: string | undefined): Tried {
  const { site, range, start, end } = envelope('agent')
  const [tried, setTried] = useState<Omit<Tried, 'isWaiting' | 'retry'> & { key?: string }>({})
  const [turn, setTurn] = useState(0)
  const window = Object.fromEntries(
    Object.entries({ range, start, end, hostname }).filter(([, value]) => value !== undefined),
  )
  const key = JSON.stringify([site, window, text, turn])
  useEffect(() => {
    if (text === undefined) return
    const stop = new AbortController()
    const timer = setTimeout(() => {
      const body = { site: Number(site), text, ...window }
      send(client.POST('/api/policy/rehearsal', { body, signal: stop.signal })).then(
        ({ data: result }) => stop.signal.aborted || setTried({ result, text, key }),
        (problem: unknown) =>
          stop.signal.aborted || (isProblem(problem) && setTried((before) => ({ ...before, problem, key }))),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key])
  return { ...tried, isWaiting: text !== undefined && tried.key !== key, retry: () => setTurn(turn + 1) }
}
