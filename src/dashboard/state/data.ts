import { useEffect, useState } from 'preact/hooks'
import type { DataOf, MetaOf, ReadPath } from '../client/index.js'
import { root } from './address.js'
import { type Problem, toProblem } from './client.js'
import { whileVisible } from './visible.js'

/** Since when the site is recorded, and the times in the window that are not. */
export interface Recorded {
  since?: string
  gaps?: readonly { start: string; end: string; reason: string }[]
}

/** The answer of one read as a view draws it. Earlier data stays while a new answer is under way. */
export interface Result<P extends ReadPath> {
  data?: DataOf<P>
  meta?: MetaOf<P>
  problem?: Problem
  /** No answer of this question has come yet, and it has been asked. */
  loading: boolean
  /** `data` answers an earlier question. */
  stale: boolean
  retry(): void
}

type Answer = { data: unknown; meta: unknown; at: number }

/** Answers by address; the oldest leave first. */
const answers = new Map<string, Answer>()
const MAX_ANSWERS = 300
/** An answer that is younger is shown without asking again. */
const FRESH_MS = 20_000

const underway = new Map<string, Promise<Answer>>()

/** Forgets answers, so that views ask again: after a change, or for a refresh. `part` is in the addresses to forget. */
export function forget(part = ''): void {
  for (const key of answers.keys()) if (key.includes(part)) answers.delete(key)
  for (const listener of listeners) listener(part)
}
const listeners = new Set<(part: string) => void>()

async function ask(address: string): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(address, { headers: { accept: 'application/json' } })
  } catch {
    throw toProblem(0, undefined)
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw toProblem(response.status, body)
  const { data, meta } = body as { data: unknown; meta: unknown }
  const answer = { data, meta, at: Date.now() }
  answers.delete(address)
  answers.set(address, answer)
  for (const key of answers.keys()) {
    if (answers.size <= MAX_ANSWERS) break
    answers.delete(key)
  }
  return answer
}

/** Equal questions that are under way are asked once. */
function askOnce(address: string): Promise<Answer> {
  const running = underway.get(address)
  if (running) return running
  const asked = ask(address).finally(() => underway.delete(address))
  underway.set(address, asked)
  return asked
}

/** A list is a parameter that is given several times. */
export type Params = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Returns the address of a read below the dashboard's root. `{id}` in the path is filled from `params`. */
export function addressOf(path: string, query: Params, params: Params = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${params[name] ?? ''}`))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const each of typeof value === 'object' ? value : [value])
      if (each !== undefined) search.append(name, `${each}`)
  return `${root.href.replace(/\/$/, '')}${filled}?${search}`
}

/**
 * Asks a read and asks again when the question changes. `query` undefined: nothing is asked. `every` refreshes after that
 * many milliseconds while the page is visible.
 */
export function useRead<P extends ReadPath>(
  path: P,
  query: Params | undefined,
  { params, every }: { params?: Params; every?: number } = {},
): Result<P> {
  const key = query === undefined ? undefined : addressOf(path, query, params)
  const [shown, setShown] = useState<{ key?: string; answer?: Answer; problem?: Problem }>(() => initial(key))
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    if (key === undefined) return
    let current = true
    const load = () =>
      askOnce(key).then(
        (answer) => current && setShown({ key, answer }),
        (problem: Problem) => current && setShown(({ answer }) => ({ key, problem, ...(answer ? { answer } : {}) })),
      )
    const known = answers.get(key)
    if (known) setShown({ key, answer: known })
    if (!known || Date.now() - known.at > FRESH_MS || turn > 0) void load()
    const onForget = (part: string) => key.includes(part) && void load()
    listeners.add(onForget)
    const stop = every === undefined ? undefined : whileVisible(every, () => void load())
    return () => {
      current = false
      listeners.delete(onForget)
      stop?.()
    }
  }, [key, turn, every])

  // In the same frame as a change of the question, so that switching back shows what is known at once.
  const known = key === undefined ? undefined : answers.get(key)
  const answer = shown.key === key ? (shown.answer ?? known) : (known ?? shown.answer)
  const isOwn = shown.key === key || known !== undefined
  const problem = shown.key === key ? shown.problem : undefined
  return {
    ...(answer && key !== undefined ? { data: answer.data as DataOf<P>, meta: answer.meta as MetaOf<P> } : {}),
    ...(problem ? { problem } : {}),
    loading: key !== undefined && !problem && !(isOwn && answer !== undefined),
    stale: key !== undefined && !isOwn && answer !== undefined,
    retry: () => setTurn((n) => n + 1),
  }
}

function initial(key: string | undefined) {
  const answer = key === undefined ? undefined : answers.get(key)
  return answer && key !== undefined ? { key, answer } : {}
}
