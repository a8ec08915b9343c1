import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Window } from '../../analytics/query/calendar.js'
import { isCount } from '../../analytics/query/metrics.js'
import { MINUTE_MS } from '../../base/time-units.js'
import { sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import type { Alert, Alerts } from '../alerts.js'
import type { WithId } from '../collection.js'
import type { Sites } from '../sites.js'
import { type AlertEvent, createAlertEvent } from './alert-event.js'
import { type MeasureDeps, measureAlert } from './measure.js'
import { alertNoticeStatements } from './notices.js'

/** Rows are stored at most this long after their time, except those that other servers send late. */
const STORE_DELAY_MS = MINUTE_MS
const EVALUATION_TIMEOUT_MS = 30_000
/** An alert pauses for this many times the length of its last evaluation, so an expensive one takes a thirtieth of the time. */
const MIN_PAUSE_RATIO = 30
/** A window that lacks no more than this share counts as complete: a restart loses about as much. */
const MAX_MISSING_SHARE = 0.01
/** After a smaller step back of the clock minutes are not evaluated twice. */
const MAX_CLOCK_STEP_BACK_MS = 10 * MINUTE_MS

/** Reports whether alerts of this kind are about something that appears: sent once, and never resolved. */
const isOneOff = ({ kind }: Pick<Alert, 'kind'>): boolean => kind === 'new_agent' || kind === 'policy_changed'

/** Returns the end of the last window that is complete at `now`, epoch ms. */
export const lastCompleteMinute = (now: Date): number =>
  Math.floor((now.getTime() - STORE_DELAY_MS) / MINUTE_MS) * MINUTE_MS

/**
 * Returns an alert's window that ends at `end`. The window of a one-off alert begins where it last fired, so that what
 * appeared during its quiet period is included and nothing is sent twice.
 */
export function alertWindow(alert: Pick<Alert, 'kind' | 'window_minutes'>, end: number, fired?: number): Window {
  const length = alert.window_minutes * MINUTE_MS
  const since = end - (fired ?? Number.NEGATIVE_INFINITY)
  const firedLately = fired !== undefined && since >= 0 && since < quietPeriodMs(alert.window_minutes) + length
  return { start: new Date(isOneOff(alert) && firedLately ? fired : end - length), end: new Date(end) }
}

const COMPARE = {
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
} as const

/** Reports whether a verdict holds however many rows are missing: a count can only have been larger, a time without a read shorter. */
const isConclusive = ({ kind, metric, op }: Pick<Alert, 'kind' | 'metric' | 'op'>, verdict: boolean): boolean =>
  kind !== 'change' &&
  kind !== 'old_edition' &&
  (metric === undefined || kind === 'budget' || isCount(metric)) &&
  verdict === (op === 'gt' || op === 'gte')

interface AlertEvaluatorDeps extends MeasureDeps {
  alerts: Pick<Alerts, 'list' | 'get' | 'invalidate'>
  sites: Pick<Sites, 'list'>
  records: Records
  /** Returns how many milliseconds of a window are not known to be stored completely. */
  missingMs(window: Window): Promise<number>
  now(): Date
  /** Monotonic milliseconds. */
  clock(): number
  log(details: object, message: string): void
  /** Called after notices were written. */
  wakeDelivery(): void
}

/** The progress of an alert's evaluation, beside its record. */
interface EvaluationState {
  state: AlertState
  /** The state that the table holds. */
  stored: AlertState
  readonly knownAgents: Set<string>
  /** End of the last window that was evaluated, epoch ms. */
  evaluatedTo?: number
  /** Earliest next evaluation, by the monotonic clock. */
  due: number
  failing: boolean
}

/** Evaluates alerts by the reads of the API: each once a minute, unless it is expensive. */
export function createAlertEvaluator(deps: AlertEvaluatorDeps) {
  const { alerts, sites, records, now, clock, log } = deps
  const states = new Map<number, EvaluationState>()

  const loadState = async (id: number): Promise<EvaluationState> => {
    const current = states.get(id) ?? (await readState(records, id))
    states.set(id, current)
    return current
  }

  const evaluate = async (
    alert: WithId<Alert>,
    site: { id: number; name: string },
    current: EvaluationState,
    ending: AbortSignal,
  ) => {
    const end = lastCompleteMinute(now())
    const steppedBack = current.evaluatedTo === undefined ? undefined : current.evaluatedTo - end
    if (steppedBack !== undefined && steppedBack >= 0 && steppedBack < MAX_CLOCK_STEP_BACK_MS) return
    const of = definitionDigest(alert)
    if (current.state.of !== of) {
      current.knownAgents.clear()
      await saveState(deps, alert, current, { of, firing: false, calm: 0 })
    }
    const window = alertWindow(alert, end, current.state.fired)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(EVALUATION_TIMEOUT_MS)])
    const started = clock()
    const measured = await measureAlert(alert, window, { ...deps, knownAgents: current.knownAgents, signal })
    current.due = started + (clock() - started) * MIN_PAUSE_RATIO
    // Changed or deleted meanwhile: the next minute evaluates the new definition.
    const latest = (await alerts.list(alert.site)).find(({ id }) => id === alert.id)
    if (latest?.version !== alert.version) return
    let verdict = measured.value === undefined ? undefined : COMPARE[alert.op](measured.value, alert.value)
    if (verdict !== undefined && verdict !== current.state.firing && !isConclusive(alert, verdict))
      if (!(await isComplete(deps, alert, window))) verdict = undefined
    const quiet = quietPeriodMs(alert.window_minutes)
    const { state, event } = nextAlertState(current.state, verdict, { at: end, quiet, moment: isOneOff(alert) })
    await saveState(
      deps,
      alert,
      current,
      state,
      event && createAlertEvent(event, { alert, site, window, at: now() }, measured),
    )
    current.evaluatedTo = end
  }

  return {
    /** Evaluates every alert on the last complete window, one after the other. Missed minutes are not made up for. */
    async tick(signal: AbortSignal): Promise<void> {
      const all: WithId<Alert>[] = []
      const sitesById = new Map((await sites.list()).map((site) => [site.id, site]))
      for (const site of sitesById.keys()) all.push(...(await alerts.list(site)))
      const ids = new Set(all.map(({ id }) => id))
      for (const id of states.keys()) if (!ids.has(id)) states.delete(id)
      for (const alert of all) {
        if (signal.aborted) return
        const site = sitesById.get(alert.site)
        if (!site) continue
        const current = await loadState(alert.id)
        if (clock() < current.due) continue
        try {
          if (alert.enabled) await evaluate(alert, site, current, signal)
          // A disabled alert stops firing, so that it starts afresh when it is enabled again.
          else if (current.state.firing)
            await saveState(deps, alert, current, { ...current.state, firing: false, calm: 0 })
          if (current.failing) log({ alert: alert.id }, 'an alert is evaluated again')
          current.failing = false
        } catch (error) {
          if (signal.aborted) return
          if (!current.failing) log({ err: error, alert: alert.id }, 'an alert could not be evaluated; it is retried')
          current.failing = true
        }
      }
    },
  }
}

async function readState(records: Records, id: number): Promise<EvaluationState> {
  const [row] = await records.query(sql`select state from alerts where id = ${id}`)
  const state = AlertState.parse(typeof row?.state === 'string' ? JSON.parse(row.state) : {})
  return { state, stored: state, knownAgents: new Set(), due: Number.NEGATIVE_INFINITY, failing: false }
}

/** Writes state and notices in one transaction; writes nothing if neither changed. */
async function saveState(
  { records, alerts, now, wakeDelivery }: AlertEvaluatorDeps,
  alert: WithId<Alert>,
  current: EvaluationState,
  state: AlertState,
  event?: AlertEvent,
): Promise<void> {
  if (event || state.firing !== current.stored.firing || state.fired !== current.stored.fired) {
    const at = now()
    const fired = event?.event === 'fired' ? sql`, last_fired_at = ${at}` : sql``
    await records.write(
      sql`update alerts set state = ${JSON.stringify(state)}${fired} where id = ${alert.id}`,
      ...(event ? alertNoticeStatements(alert, `alert:${alert.id}:${event.window.end}:${event.event}`, event, at) : []),
    )
    current.stored = state
    if (event) {
      alerts.invalidate()
      wakeDelivery()
    }
  }
  current.state = state
}

/** Reports whether everything that the measurement covers was recorded. */
async function isComplete(
  { missingMs }: AlertEvaluatorDeps,
  { kind, window_minutes }: Alert,
  { start, end }: Window,
): Promise<boolean> {
  const before = kind === 'change' ? window_minutes * MINUTE_MS : 0
  const covered = { start: new Date(start.getTime() - before), end }
  return (await missingMs(covered)) <= MAX_MISSING_SHARE * (end.getTime() - covered.start.getTime())
}

/** Returns a digest of an alert's definition; when it changes, the state of the earlier one is reset. */
function definitionDigest({ kind, metric, audience, filters, op, value, window_minutes }: Alert): string {
  const text = JSON.stringify([kind, metric ?? null, audience, filters, op, value, window_minutes])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The state of an alert between evaluations. */
export const AlertState = z.object({
  /** Digest of what was evaluated: a changed definition starts afresh. */
  of: z.string().default(''),
  firing: z.boolean().default(false),
  /** Consecutive evaluations, while firing, in which the condition did not hold. */
  calm: z.int().default(0),
  /** When it last fired, epoch ms. */
  fired: z.number().optional(),
})
export type AlertState = z.output<typeof AlertState>

/** Requires two evaluations without the condition, so a value that wavers around its limit is one alert. */
const CALM_EVALUATIONS_TO_RESOLVE = 2

/** Returns how long an alert stays quiet after it has fired: its window, at least an hour. */
export const quietPeriodMs = (window_minutes: number): number => Math.max(window_minutes, 60) * MINUTE_MS

/**
 * Returns the state after an evaluation at `at` (epoch ms), and the event to send. An undefined `verdict` changes nothing:
 * an unknown value neither fires nor resolves. A one-off alert (`moment`) never resolves.
 */
export function nextAlertState(
  state: AlertState,
  verdict: boolean | undefined,
  { at, quiet, moment }: { at: number; quiet: number; moment: boolean },
): { state: AlertState; event?: 'fired' | 'resolved' } {
  if (verdict === undefined) return { state }
  if (verdict && (moment || !state.firing)) {
    // The clock may have been set back since.
    if (state.fired !== undefined && Math.abs(at - state.fired) < quiet) return { state }
    return { state: { ...state, firing: !moment, calm: 0, fired: at }, event: 'fired' }
  }
  if (!state.firing) return { state }
  if (verdict) return { state: { ...state, calm: 0 } }
  const calm = state.calm + 1
  if (calm < CALM_EVALUATIONS_TO_RESOLVE) return { state: { ...state, calm } }
  return { state: { ...state, firing: false, calm: 0 }, event: 'resolved' }
}
