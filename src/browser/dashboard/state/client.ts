import { signal } from '@preact/signals'
import { createReadershipClient } from '../client/index.js'
import { root } from './address.js'

/** The client of the API that serves this page; the browser's session, or a share link, is its credential. */
export const client = createReadershipClient({ baseUrl: root.href })

/** A failed request as the reader is told about it. */
export interface Problem {
  /** The HTTP status; 0: no response came. */
  status: number
  code: string
  message: string
  /** The field of a form or the query parameter that is wrong. */
  field?: string
  at: Date
}

/** When the session, or the unlocked share link, ended, as far as this page has seen; undefined while it lasts. */
export const sessionEndedAt = signal<Date | undefined>(undefined)

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Reads an error body of the API: `{ error: { code, message, field } }`. */
export function toProblem(status: number, body: unknown): Problem {
  const error: unknown = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  const part = (name: 'code' | 'message' | 'field') =>
    typeof error === 'object' && error !== null && name in error ? text(Reflect.get(error, name)) : undefined
  const field = part('field')
  // With a field, it is a wrong password or code.
  if (status === 401 && field === undefined) sessionEndedAt.value ??= new Date()
  return {
    status,
    code: part('code') ?? (status === 0 ? 'unreachable' : 'unknown'),
    message: part('message') ?? '',
    ...(field === undefined ? {} : { field }),
    at: new Date(),
  }
}

const unreachable = () => {
  throw toProblem(0, undefined)
}

/** Sends a request; throws a `Problem` if no answer comes, or one that is not a success. */
export async function openResponse(address: string, init: RequestInit): Promise<Response> {
  const response = await fetch(address, init).catch(unreachable)
  if (!response.ok) throw toProblem(response.status, await response.json().catch(() => undefined))
  return response
}

/** Sends a request and returns the body of its answer; undefined for one without JSON. Throws a `Problem`. */
export async function request(address: string, init: RequestInit = {}): Promise<unknown> {
  const response = await openResponse(address, init)
  return response.json().catch(() => undefined)
}

/**
 * Sends a request whose answer is lines: `{ done, total }` while it is at work, and last the body, which is returned. Throws a
 * `Problem`.
 */
export async function requestWithProgress(
  address: string,
  init: RequestInit,
  onProgress: (share: number) => void,
): Promise<unknown> {
  const { body: stream } = await openResponse(address, init)
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ; ) {
    const { value = '', done = true } = (await reader?.read().catch(unreachable)) ?? {}
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const body: object = JSON.parse(line)
      if ('error' in body) throw toProblem(500, body)
      if (!('done' in body && 'total' in body)) return body
      onProgress(Number(body.done) / Math.max(1, Number(body.total)))
    }
    if (done) return unreachable()
  }
}

/** Returns the `data` of a call of `client`; throws a `Problem`. For changes: `await send(client.POST('/api/goals', …))`. */
export async function send<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer: Awaited<typeof call>
  try {
    answer = await call
  } catch {
    throw toProblem(0, undefined)
  }
  const { data, error, response } = answer
  if (!response.ok) throw toProblem(response.status, error)
  // A 204 has no body.
  return data as T
}

export const isProblem = (error: unknown): error is Problem =>
  typeof error === 'object' && error !== null && 'status' in error && 'code' in error
