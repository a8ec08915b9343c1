import type { Worker } from 'node:cluster'
import { waitAtMost } from '../../../base/wait-at-most.js'
import type { Instance } from '../../instance/instance.js'
import type { FromSiteProcess, SiteProcessCounts, SiteProcessOptions, ToSiteProcess } from './protocol.js'

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
  drops: [],
}

/**
 * One process of the site, as the first process sees it: hands its rows and facts to the instance, and asks for its
 * counters. Long because the messages share the counters and the questions.
 */
export function createSiteProcess(
  worker: Pick<Worker, 'send' | 'on' | 'process'>,
  options: () => SiteProcessOptions,
  instance: Pick<Instance, 'recordBatch' | 'countDrop' | 'policySeen'>,
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
  let answerListen = (_result: ListenResult): void => {}
  const listening = new Promise<ListenResult>((resolve) => {
    answerListen = resolve
  })
  const ended = new Promise<string>((resolve) => {
    const end = (reason: string) => {
      hasEnded = true
      // Rows that the process still held are gone; rows that it had handed over are not.
      counts = {
        ...counts,
        proxy: { ...counts.proxy, active: 0 },
        recorder: { ...counts.recorder, waiting: 0, on: true },
      }
      for (const answer of questions.values()) answer()
      answerListen({ code: '', message: reason })
      resolve(reason)
    }
    // Messages may still be unread when the process has exited.
    const disconnected = new Promise<void>((read) => worker.on('disconnect', () => read()))
    worker.on('exit', (code, signal) => {
      const exit = signal ? `it was ended by ${signal}` : `it ended with ${code}`
      void disconnected.then(() => end(failure ?? exit))
    })
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) end(`it cannot be started: ${error.message}`)
    })
  })
  const take = (taken: SiteProcessCounts): void => {
    counts = taken
    for (const { site, door, reason, count } of taken.drops) instance.countDrop(site, door, reason, count)
  }
  worker.on('message', (message: FromSiteProcess) => {
    switch (message.type) {
      case 'ready':
        isReady = true
        return post(options())
      case 'listening':
        return answerListen({ port: message.port })
      case 'failed':
        failure = message.message
        return answerListen({ code: message.code, message: message.message })
      case 'batch': {
        const { sequence, batch } = message
        return void instance.recordBatch(batch).then(
          () => post({ type: 'settled', sequence }),
          (error) =>
            post({ type: 'settled', sequence, failure: error instanceof Error ? error.message : String(error) }),
        )
      }
      case 'policy_seen':
        return instance.policySeen(message.hostname, message.path, message.at)
      case 'counts':
        take(message.counts)
        if (message.id !== undefined) questions.get(message.id)?.()
        return
    }
  })
  return {
    /** Sends a message; one to a process that is not ready is left out, because it gets its options first. */
    post,
    /** Resolves once the process listens or cannot. */
    listening,
    /** Resolves with the reason when the process has ended. */
    ended,
    counts: (): SiteProcessCounts => counts,
    /** Brings the counters up to date; with `flush`, once every row that was recorded before is stored. */
    async refresh(flush: boolean): Promise<void> {
      if (!isReady || hasEnded) return
      lastQuestion += 1
      const id = lastQuestion
      const answered = new Promise<void>((resolve) => questions.set(id, resolve))
      post({ type: 'count', id, flush })
      if (flush) await answered
      else await waitAtMost(ANSWER_TIMEOUT_MS, answered)
      questions.delete(id)
    },
    async stop(grace_ms: number): Promise<void> {
      if (isReady) post({ type: 'stop', grace_ms })
      else worker.process.kill('SIGKILL')
      await waitAtMost(grace_ms + EXIT_TIMEOUT_MS, ended)
      if (!hasEnded) worker.process.kill('SIGKILL')
      await ended
    },
  }
}
