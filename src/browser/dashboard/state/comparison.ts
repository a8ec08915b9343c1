import { windowOf } from './window.js'

interface Meta {
  comparison?: { start: string; end: string } | undefined
  recorded?: { since?: string } | undefined
}

/** The time that an answer is compared with, if nothing of it is recorded: then there is no change, not even from 0. */
export function unrecordedComparison(meta: Meta | undefined): { start: string; end: string } | undefined {
  const time = windowOf(meta?.comparison)
  if (time === undefined || meta?.recorded === undefined) return undefined
  const { since } = meta.recorded
  return since === undefined || Date.parse(since) >= Date.parse(time.end) ? time : undefined
}
