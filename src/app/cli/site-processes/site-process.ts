import type { Worker } from 'node:cluster'
import { createDeferred } from '../../../base/deferred.js'
import { waitAtMost } from '../../../base/wait-at-most.js'
import type { Instance } from '../../instance/instance.js'
import type { FromSiteProcess, SiteProcessCounts, SiteProcessOptions, ToSiteProcess } from './protocol.js'
import type { RuleSharing } from './rule-sharing.js'

/** A process that does not answer within this time is not waited for: its last counters stand. */
const ANSWER_TIMEOUT_MS = 5_000
/** A process that was told to stop ends this soon after its grace period, or is killed. */
const EXIT_TIMEOUT_MS = 5_000

/** The answer of a process that tried to listen. */
export type ListenResult = { port: number } | { code: string; message: string }

export type SiteProcess = ReturnType<typeof createSiteProcess>

/** The counters of a process that has not said anything. */
export const NO_COUNTS: SiteProcessCounts = {
  proxy: { statuses: {}, failures: {}, active: 0 },
  recorder: { waiting: 0, drops: {}, on: true },
  rules: [],
  drops: [],
}

/**
 * One process of the site, as the first process sees it: hands its rows and facts to the instance, and asks for its
 * counters.
 */
export function createSiteProcess(
  worker: Pick<Worker, 'send' | 'on' | 'process'>,
  options: () => SiteProcessOptions,
  instance: Pick<Instance, 'recordBatch' | 'countDrop' | 'policySeen' | 'pageSampled'>,
  rules: RuleSharing,
) {
  let counts = NO_COUNTS
  let isReady = false
  let hasEnded = false
  let lastQuestion = 0
  /** Why the process cannot listen; it ends by itself then. */
  let failure: string | undefined
  const questions = new Map<number, () => void>()
  const post = (message: ToSiteProcess | SiteProcessOptions): void => {
    // With a callback, a failed send emits no `error` event; `exit` follows.
    if (isReady && !hasEnded) worker.send(message, () => {})
  }
  const listening = createDeferred<ListenResult>()
  const ended = createDeferred<string>()
  watchExit(worker, (reason) => {
    hasEnded = true
    counts = withoutProcess(counts)
    for (const answer of questions.values()) answer()
    listening.resolve({ code: '', message: failure ?? reason })
    ended.resolve(failure ?? reason)
  })
  worker.on('message', (message: FromSiteProcess) => {
    switch (message.type) {
      case 'ready':
        isReady = true
        return post(options())
      case 'listening':
        return listening.resolve({ port: message.port })
      case 'failed':
        failure = message.message
        return listening.resolve({ code: message.code, message: message.message })
      case 'batch':
        return void storeBatch(instance, message).then(post)
      case 'check_claim':
      case 'spent':
        return rules.receive(message, { post })
      case 'policy_seen':
        return instance.policySeen(message.hostname, message.path, message.at)
      case 'page_sampled':
        return instance.pageSampled(message.page)
      case 'counts':
        counts = message.counts
        for (const { site, door, reason, count } of counts.drops) instance.countDrop(site, door, reason, count)
        if (message.id !== undefined) questions.get(message.id)?.()
        return
    }
  })
  return {
    /** Sends a message; one to a process that is not ready is left out, because it gets its options first. */
    post,
    /** Resolves once the process listens or cannot. */
    listening: listening.promise,
    /** Resolves with the reason when the process has ended. */
    ended: ended.promise,
    counts: (): SiteProcessCounts => counts,
    /** Brings the counters up to date; with `flush`, once every row that was recorded before is stored. */
    async refresh(flush: boolean): Promise<void> {
      if (!isReady || hasEnded) return
      const id = ++lastQuestion
      const answered = new Promise<void>((resolve) => questions.set(id, resolve))
      post({ type: 'count', id, flush })
      await (flush ? answered : waitAtMost(ANSWER_TIMEOUT_MS, answered))
      questions.delete(id)
    },
    async stop(grace_ms: number): Promise<void> {
      if (isReady) post({ type: 'stop', grace_ms })
      else worker.process.kill('SIGKILL')
      await waitAtMost(grace_ms + EXIT_TIMEOUT_MS, ended.promise)
      if (!hasEnded) worker.process.kill('SIGKILL')
      await ended.promise
    },
  }
}

/** Stores a batch, and returns the message that settles it. */
const storeBatch = (
  { recordBatch }: Pick<Instance, 'recordBatch'>,
  { sequence, batch }: Extract<FromSiteProcess, { type: 'batch' }>,
): Promise<ToSiteProcess> =>
  recordBatch(batch).then(
    () => ({ type: 'settled', sequence }),
    (error) => ({ type: 'settled', sequence, failure: error instanceof Error ? error.message : String(error) }),
  )

/** Calls `end` with the reason when the process has exited and all of its messages are read. */
function watchExit(worker: Pick<Worker, 'on' | 'process'>, end: (reason: string) => void): void {
  // Messages may still be unread when the process has exited.
  const disconnected = new Promise<void>((read) => worker.on('disconnect', () => read()))
  worker.on('exit', (code, signal) => {
    void disconnected.then(() => end(signal ? `it was ended by ${signal}` : `it ended with ${code}`))
  })
  worker.on('error', (error) => {
    if (worker.process.pid === undefined) end(`it cannot be started: ${error.message}`)
  })
}

/** Rows that a process still held when it ended are gone; rows that it had handed over are not. */
const withoutProcess = ({ proxy, recorder, rules, drops }: SiteProcessCounts): SiteProcessCounts => ({
  proxy: { ...proxy, active: 0 },
  recorder: { ...recorder, waiting: 0, on: true },
  rules,
  drops,
})
