import { signal } from '@preact/signals'
import { root } from './address.js'
import { client, isProblem, type Problem, send, toProblem } from './client.js'
import { forget } from './data.js'

/** A log that was chosen, until the server has all of it. */
export interface Upload {
  readonly key: number
  readonly site: number
  readonly file: File
  readonly host: string | undefined
  readonly state: 'waiting' | 'sending' | 'failed'
  /** Bytes that are sent. */
  readonly sent: number
  /** Why it failed. */
  readonly problem?: Problem
}

/** Uploads of this tab, in the order in which they were chosen. They go on while other views are open. */
export const uploads = signal<readonly Upload[]>([])

/** An organisation has one import at a time; until it ends the next log waits. */
const RETRY_MS = 2_000

let lastKey = 0
let isRunning = false
/** Ends the request that is under way. */
let abort: (() => void) | undefined

const change = (key: number, changes: Partial<Upload>): void => {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...changes } : each))
}
const isListed = (key: number): boolean => uploads.value.some((each) => each.key === key)

/** Sends logs one after the other. `host` is the hostname of lines without one. */
export function upload(site: number, files: readonly File[], host: string | undefined): void {
  uploads.value = [
    ...uploads.value,
    ...files.map((file): Upload => ({ key: ++lastKey, site, file, host, state: 'waiting', sent: 0 })),
  ]
  void sendAll()
}

export function retryUpload(key: number): void {
  change(key, { state: 'waiting', sent: 0 })
  void sendAll()
}

/** Takes an upload off the list; ends it if it is under way. */
export function dropUpload({ key, state }: Upload): void {
  uploads.value = uploads.value.filter((each) => each.key !== key)
  if (state === 'sending') abort?.()
}

/** Asks before the tab is closed: a log that is not sent whole is not imported. */
const warn = (event: BeforeUnloadEvent) => event.preventDefault()

async function sendAll(): Promise<void> {
  if (isRunning) return
  isRunning = true
  addEventListener('beforeunload', warn)
  try {
    for (;;) {
      const next = uploads.value.find(({ state }) => state === 'waiting')
      if (next === undefined) return
      await sendOne(next)
    }
  } finally {
    isRunning = false
    removeEventListener('beforeunload', warn)
  }
}

/** Sends one log when no other import of the site runs, and again while one of the organisation's other sites does. */
async function sendOne(one: Upload): Promise<void> {
  while (isListed(one.key)) {
    try {
      if (!(await isBusy(one.site))) {
        change(one.key, { state: 'sending', sent: 0 })
        await post(one)
        dropUpload({ ...one, state: 'waiting' })
        forget('/api/imports')
        return
      }
    } catch (error) {
      if (!isProblem(error)) throw error
      if (error.status !== 409) {
        change(one.key, { state: 'failed', problem: error })
        return
      }
    }
    change(one.key, { state: 'waiting', sent: 0 })
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

async function isBusy(site: number): Promise<boolean> {
  const { data } = await send(client.GET('/api/imports', { params: { query: { site } } }))
  return data.some(({ state }) => state === 'running' || state === 'removing')
}

/** Sends the file. The browser reads it from the disk as it goes out, so that a large one does not fill the memory. */
function post({ key, site, file, host }: Upload): Promise<void> {
  const query = new URLSearchParams({ site: `${site}`, name: file.name.slice(0, 200) })
  if (host !== undefined) query.set('host', host)
  // `fetch` does not tell how much has gone out.
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.open('POST', `${root.href}api/imports?${query}`)
    request.responseType = 'json'
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.upload.addEventListener('progress', ({ loaded }) => change(key, { sent: loaded }))
    request.addEventListener('load', () =>
      request.status === 202 ? resolve() : reject(toProblem(request.status, request.response)),
    )
    request.addEventListener('error', () => reject(toProblem(0, undefined)))
    request.addEventListener('abort', () => reject(toProblem(0, undefined)))
    abort = () => request.abort()
    request.send(file)
  })
}
