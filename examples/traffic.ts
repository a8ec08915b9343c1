import { setMaxListeners } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout } from 'node:timers/promises'
import { createVisits, type Step, type Visit } from './visits.js'

interface TrafficOptions {
  /** The URL that requests go to: the proxy. */
  target: URL
  /** Paths of the site's pages, most popular first. */
  pages: readonly string[]
  /** Returns numbers in [0, 1); the same numbers give the same visits. */
  random: () => number
  /** Whether the proxy adds the tracker to pages, so that browsers send its hits. */
  tracked?: boolean
  /** Visits that begin in a second. */
  rate?: number
  /** Visits made without pauses before the stream begins. */
  burst?: number
  /** Waits for milliseconds; may reject when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

interface Traffic {
  /** Resolves when the responses to the burst have arrived. */
  ready: Promise<void>
  sent(): { requests: number; failed: number }
  /** Aborts the visits in progress and resolves when all have ended. */
  close(): Promise<void>
}

const sleep = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal })
/** Bounds the visits in progress, so that a hanging proxy does not make the demo grow. */
const MAX_CONCURRENT_VISITS = 60

/** Sends a slow stream of visits by people and agents as real requests, and survives a proxy that is down for a while. */
export function startTraffic(options: TrafficOptions): Traffic {
  const { target, pages, random, tracked = false, rate = 0.7, burst = 0, wait = sleep } = options
  const visits = createVisits(random, { base: target.origin, pages, tracked })
  const { Agent, request } = target.protocol === 'https:' ? https : http
  // A certificate for the demo is usually self-signed, and nothing that the visitors send is secret.
  const agent = new Agent({ keepAlive: true, maxSockets: 32, rejectUnauthorized: false })
  const stop = new AbortController()
  // Every pause and every request adds a listener; this is not a leak.
  setMaxListeners(0, stop.signal)
  const tagsOf = createTagStore()
  const running = new Set<Promise<void>>()
  const count = { requests: 0, failed: 0 }

  const play = async (visit: Visit, hurried: boolean): Promise<void> => {
    const tags = tagsOf(visit.visitor)
    for (const step of visit.steps) {
      if (stop.signal.aborted) return
      if (hurried && step.leaveAfter) continue
      if (!hurried) await wait(step.wait, stop.signal)
      count.requests++
      await send(step, tags).catch(() => {
        if (!stop.signal.aborted) count.failed++
      })
    }
  }

  const send = (step: Step, tags: Map<string, string>): Promise<void> =>
    new Promise((done, fail) => {
      const tag = step.method === 'GET' ? tags.get(step.path) : undefined
      const headers = { ...step.headers, ...(tag && { 'if-none-match': tag }) }
      const req = request(target, { method: step.method, path: step.path, headers, agent, signal: stop.signal })
      const leave = step.leaveAfter ? AbortSignal.timeout(step.leaveAfter) : undefined
      leave?.addEventListener('abort', () => {
        req.destroy()
        done()
      })
      req.on('error', fail)
      req.on('response', (res) => {
        const { etag } = res.headers
        if (etag && step.method === 'GET' && !step.leaveAfter) tags.set(step.path, etag)
        res.on('error', fail)
        res.on('end', done)
        res.resume()
      })
      req.end(step.body)
    })

  const track = (work: Promise<void>): Promise<void> => {
    // Closing the stream aborts its pauses; no other error is thrown.
    const settled = work.catch(() => {}).finally(() => running.delete(settled))
    running.add(settled)
    return settled
  }
  const rush = async (): Promise<void> => {
    let left = burst
    const worker = async () => {
      while (left-- > 0 && !stop.signal.aborted) await play(visits.next(), true)
    }
    await Promise.all(Array.from({ length: Math.min(8, burst) }, worker))
  }
  const stream = async (): Promise<void> => {
    await ready
    while (!stop.signal.aborted) {
      if (running.size < MAX_CONCURRENT_VISITS) void track(play(visits.next(), false))
      await wait((-Math.log(1 - random()) * 1000) / rate, stop.signal)
    }
  }
  const ready = track(rush())
  void track(stream())
  return {
    ready,
    sent: () => ({ ...count }),
    async close() {
      stop.abort()
      agent.destroy()
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Returns a function that finds the validators a visitor has by path; those of the last thousand visitors are kept. */
function createTagStore(): (visitor: string) => Map<string, string> {
  const kept = new Map<string, Map<string, string>>()
  return (visitor) => {
    const tags = kept.get(visitor) ?? new Map<string, string>()
    kept.delete(visitor)
    kept.set(visitor, tags)
    for (const oldest of kept.keys()) {
      if (kept.size <= 1000) break
      kept.delete(oldest)
    }
    return tags
  }
}
