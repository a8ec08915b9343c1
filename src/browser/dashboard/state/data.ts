import { useEffect, useRef, useState } from 'preact/hooks'
import type { DataOf, MetaOf, ReadPath } from '../client/index.js'
import { root } from './address.js'
import { askJson } from './batch.js'
import { type Problem, toProblem } from './client.js'
import { unrecordedComparison, withoutComparison } from './comparison.js'
import { isReadable } from './shared-scopes.js'
import { whileVisible } from './visible.js'

/** Since when the site is recorded, and the times in the window that are not. */
export interface Recorded {
  since?: string
  /** `joined`: how many gaps lie in the time, with recorded times between them. */
  gaps?: readonly Gap[]
  /** The same in the time that the answer is compared with. */
  comparison?: readonly Gap[] | undefined
}

interface Gap {
  start: string
  end: string
  reason: string
  joined?: number | undefined
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

interface Answer {
  data: unknown
  meta: unknown
  at: number
}

/** Answers by address; the oldest leave first. */
const answers = new Map<string, Answer>()
const MAX_ANSWERS = 300
/** An answer that is younger is shown without asking again. */
const FRESH_MS = 20_000

const underway = new Map<string, Promise<Answer>>()

/**
 * Forgets answers, so that views ask again: after a change, or for a refresh. `part` is in the addresses to forget. A
 * question that is under way is asked again, because its answer may be older than the change.
 */
export function forget(part = ''): void {
  void askAgain(part)
}

/** Forgets answers and asks again what is on screen; resolves when the views have the new answers. */
async function askAgain(part: string): Promise<void> {
  for (const known of [answers, underway]) for (const key of known.keys()) if (key.includes(part)) known.delete(key)
  await Promise.all([...listeners].map((listener) => listener(part)))
}
/** Each asks again if its address has the part. */
const listeners = new Set<(part: string) => Promise<unknown> | undefined>()

async function ask(address: string): Promise<Answer> {
  const body = await askJson(address)
  if (typeof body !== 'object' || body === null) throw toProblem(200, body)
  const data: unknown = Reflect.get(body, 'data')
  const meta: MetaOf<ReadPath> | undefined = Reflect.get(body, 'meta')
  // No view can show a change that is not true.
  return { data: unrecordedComparison(meta) ? withoutComparison(data) : data, meta, at: Date.now() }
}

/** Returns the data of a read, without the cache; throws a `Problem`. */
export const askData = async <P extends ReadPath>(path: P): Promise<DataOf<P>> =>
  (await ask(addressOf(path, {}))).data as DataOf<P>

/** Begins to ask a read, so that the view that draws it has the answer earlier. A failure shows when it is drawn. */
export function prefetch(path: ReadPath, query: Params): void {
  if (isReadable(path)) askOnce(addressOf(path, query)).catch(() => {})
}

function remember(address: string, answer: Answer): void {
  answers.delete(address)
  answers.set(address, answer)
  for (const key of answers.keys()) {
    if (answers.size <= MAX_ANSWERS) break
    answers.delete(key)
  }
}

/** Equal questions that are under way are asked once. */
function askOnce(address: string): Promise<Answer> {
  const running = underway.get(address)
  if (running) return running
  const asked: Promise<Answer> = ask(address)
    .then((answer) => {
      if (underway.get(address) === asked) remember(address, answer)
      return answer
    })
    .finally(() => underway.get(address) === asked && underway.delete(address))
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

/** The problem of a read that the share link does not open. */
const NOT_SHARED: Problem = { status: 403, code: 'forbidden', message: '', at: new Date() }

/**
 * Asks a read and asks again when the question changes. `query` undefined: nothing is asked. `every` refreshes after that
 * many milliseconds while the page is visible. A read that the share link does not open is not asked.
 */
export function useRead<P extends ReadPath>(
  path: P,
  query: Params | undefined,
  { params, every }: { params?: Params; every?: number } = {},
): Result<P> {
  const isOpen = isReadable(path)
  const key = query === undefined || !isOpen ? undefined : addressOf(path, query, params)
  const [shown, setShown] = useState<{ key?: string; answer?: Answer; problem?: Problem }>(() => initial(key))
  const asked = useRef<string | undefined>(undefined)
  // Asks while drawing, because effects run from the bottom of the page to its top: the top of the page is asked first.
  if (key !== undefined && key !== asked.current && !answers.has(key)) askOnce(key).catch(() => {})
  asked.current = key

  useEffect(() => {
    if (key === undefined) return
    let last = 0
    const load = () => {
      last += 1
      const turn = last
      // An answer that comes after a later question was sent, or after the view has gone, is not drawn.
      const draw = (next: { answer: Answer } | { problem: Problem }) =>
        turn === last &&
        // A problem stands beside earlier data only if these answer the same question.
        setShown((old) => ({ ...('problem' in next && old.key === key && old.answer ? old : {}), key, ...next }))
      return askOnce(key).then(
        (answer) => draw({ answer }),
        (problem: Problem) => draw({ problem }),
      )
    }
    const known = answers.get(key)
    if (known) setShown({ key, answer: known })
    if (!known || Date.now() - known.at > FRESH_MS) void load()
    const onForget = (part: string) => (key.includes(part) ? load() : undefined)
    listeners.add(onForget)
    const stop = every === undefined ? undefined : whileVisible(every, () => void load())
    return () => {
      last += 1
      listeners.delete(onForget)
      stop?.()
    }
  }, [key, every])

  // In the same frame as a change of the question, so that switching back shows what is known at once.
  const known = key === undefined ? undefined : answers.get(key)
  const answer = shown.key === key ? (shown.answer ?? known) : (known ?? shown.answer)
  const isOwn = shown.key === key || known !== undefined
  const problem = shown.key === key ? shown.problem : undefined
  return {
    ...(answer && key !== undefined ? { data: answer.data as DataOf<P>, meta: answer.meta as MetaOf<P> } : {}),
    ...(problem ? { problem } : query !== undefined && !isOpen ? { problem: NOT_SHARED } : {}),
    loading: key !== undefined && !problem && !(isOwn && answer !== undefined),
    stale: key !== undefined && !isOwn && answer !== undefined,
    retry: () => key !== undefined && forget(key),
  }
}

function initial(key: string | undefined) {
  const answer = key === undefined ? undefined : answers.get(key)
  return answer && key !== undefined ? { key, answer } : {}
}
