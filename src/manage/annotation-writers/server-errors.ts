import { MINUTE_MS } from '../../base/time-units.js'
import type { AnnotationData, Annotations, AutomaticNote } from '../annotations.js'
import type { ActivityMinute } from './activity.js'

/** A burst is at least so many errors, and such a share of all responses, within `WINDOW_MS`. */
const MIN_ERRORS = 20
const MIN_SHARE = 0.1
const WINDOW_MS = 5 * MINUTE_MS
/** A burst is over when no errors were frequent for this long. */
const CALM_MS = 30 * MINUTE_MS
/** A burst's counts are written this often while they grow. */
const WRITE_INTERVAL_MS = MINUTE_MS
const CAUSE = 'server_errors:'

/** The errors of a burst, as its note has them. */
interface Burst {
  readonly cause: string
  /** Epoch ms. */
  readonly start: number
  end: number
  errors: number
  responses: number
  statuses: Record<string, number>
}

interface SiteState {
  /** The last `WINDOW_MS`, by start of the minute. */
  minutes: Map<number, ActivityMinute>
  /** The burst that is not over. */
  burst: Burst | undefined
  /** Minutes after the last error of the burst; they belong to it if it goes on. */
  since: ActivityMinute[]
  /** When the burst's note was last written, and whether its counts have grown since. */
  written: number
  isUnsaved: boolean
}

const countErrors = (statuses: Readonly<Record<string, number>>): number =>
  Object.values(statuses).reduce((sum, n) => sum + n, 0)

/** Adds the counts of minutes to a burst. */
function addMinutes(burst: Burst, minutes: Iterable<ActivityMinute>): void {
  for (const { responses, statuses } of minutes) {
    burst.responses += responses
    burst.errors += countErrors(statuses)
    for (const [status, n] of Object.entries(statuses)) burst.statuses[status] = (burst.statuses[status] ?? 0) + n
  }
}

/** Writes one note for each burst of responses with a status of 500 or more, and keeps its counts until the burst is over. */
export function createServerErrorNotes({ annotations }: { annotations: Annotations }) {
  const sites = new Map<number, SiteState>()

  /** Finds the burst that a process before this one may have noted. */
  const restore = async (site: number, now: number): Promise<Burst | undefined> => {
    const last = await annotations.latestCause(site, CAUSE)
    if (last === undefined || now - last.at.getTime() > CALM_MS) return undefined
    const start = Date.parse(last.cause.slice(CAUSE.length))
    const { errors = 0, responses = 0, statuses = {} } = last.data ?? {}
    return { cause: last.cause, start, end: last.at.getTime(), errors, responses, statuses: { ...statuses } }
  }

  const merge = (state: SiteState, added: readonly ActivityMinute[], now: number): void => {
    for (const minute of added) {
      const { at, responses, statuses } = minute
      const known = state.minutes.get(at) ?? { at, responses: 0, statuses: {} }
      const sum = { ...known.statuses }
      for (const [status, n] of Object.entries(statuses)) sum[status] = (sum[status] ?? 0) + n
      state.minutes.set(at, { at, responses: known.responses + responses, statuses: sum })
    }
    for (const at of state.minutes.keys()) if (at + MINUTE_MS <= now - WINDOW_MS) state.minutes.delete(at)
  }

  const isBurst = ({ minutes }: SiteState): boolean => {
    let [errors, responses] = [0, 0]
    for (const minute of minutes.values()) {
      errors += countErrors(minute.statuses)
      responses += minute.responses
    }
    return errors >= MIN_ERRORS && errors >= MIN_SHARE * responses
  }

  return {
    /** Adds what a site did since the last call. Rejects if the records cannot be read or written. */
    async add(site: number, added: readonly ActivityMinute[], now: number): Promise<void> {
      const state: SiteState = sites.get(site) ?? {
        minutes: new Map(),
        burst: undefined,
        since: [],
        written: 0,
        isUnsaved: false,
      }
      sites.set(site, state)
      merge(state, added, now)
      if (state.burst && now - state.burst.end > CALM_MS) state.burst = undefined
      const isFailing = isBurst(state)
      if (isFailing && state.burst === undefined) {
        state.burst = (await restore(site, now)) ?? startBurst(state)
        state.since = [...state.minutes.values()].filter(({ at }) => at >= (state.burst?.start ?? 0))
      } else if (state.burst) state.since.push(...added)
      const { burst } = state
      if (burst === undefined) return
      if (isFailing && state.since.some(({ statuses }) => countErrors(statuses) > 0)) {
        addMinutes(burst, state.since.splice(0))
        burst.end = now
        state.isUnsaved = true
      }
      if (state.isUnsaved && (!isFailing || now - state.written >= WRITE_INTERVAL_MS)) {
        const note = toNote(site, burst)
        await annotations.addAutomatic([note])
        await annotations.updateAutomatic(note)
        state.written = now
        state.isUnsaved = false
      }
    },
    /** Forgets sites that no longer exist. */
    keep(ids: ReadonlySet<number>): void {
      for (const site of sites.keys()) if (!ids.has(site)) sites.delete(site)
    },
  }
}

/** Starts a burst with the first minute that had errors. */
function startBurst({ minutes }: SiteState): Burst {
  const failing = [...minutes.values()].filter(({ statuses }) => countErrors(statuses) > 0)
  const start = Math.min(...failing.map(({ at }) => at))
  const cause = `${CAUSE}${new Date(start).toISOString()}`
  return { cause, start, end: start, errors: 0, responses: 0, statuses: {} }
}

function toNote(
  site: number,
  { cause, start, end, errors, responses, statuses }: Burst,
): AutomaticNote & { readonly text: string } {
  const data: AnnotationData = {
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    errors,
    responses,
    statuses: { ...statuses },
  }
  const text = `${errors} of ${responses} responses had a 5xx status`
  return { site, cause, kind: 'server_errors', at: new Date(start), seen: new Date(end), text, data }
}
