import { createHash } from 'node:crypto'
import type { Alert, Alerts } from '../manage/alerts.js'
import type { WithId } from '../manage/collection.js'
import type { Sites } from '../manage/sites.js'
import type { Window } from '../query/calendar.js'
import { isCount } from '../query/metrics.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AlertEvent, createAlertEvent } from './alert-event.js'
import { AlertState, nextAlertState, quietPeriodMs } from './hysteresis.js'
import { type MeasureDeps, measureAlert } from './measure.js'
import { noticeStatements } from './outbox.js'

const MINUTE_MS = 60_000
/** Rows are stored this long after what they tell of, at the latest (contract 3), but for what other servers hold back. */
const STORE_DELAY_MS = MINUTE_MS
/** One evaluation may take so long. */
const EVALUATION_TIMEOUT_MS = 30_000
/** Of the time no more than a thirtieth goes into one alert: what is costly to ask is asked less often. */
const MIN_PAUSE_RATIO = 30
/** The share of a window in which something may be missing, and it counts as complete: as a restart leaves it. */
const MAX_MISSING_SHARE = 0.01
/** A clock that went back by less has its minutes once; by more, anew. */
const MAX_CLOCK_STEP_BACK_MS = 10 * MINUTE_MS

/** Things that appear, and are told once: there is no end to tell of them. */
const isOneOff = ({ kind }: Pick<Alert, 'kind'>): boolean => kind === 'new_agent' || kind === 'policy_changed'

/** The end of the last window that is complete at `now`. */
export const lastCompleteMinute = (now: Date): number =>
  Math.floor((now.getTime() - STORE_DELAY_MS) / MINUTE_MS) * MINUTE_MS

/**
 * The window of an alert that ends at `end`. Of things that appear what came while it was quiet is in it too, and nothing
 * that was told.
 */
export function alertWindow(alert: Pick<Alert, 'kind' | 'window_minutes'>, end: number, fired?: number): Window {
  const length = alert.window_minutes * MINUTE_MS
  const since = end - (fired ?? Number.NEGATIVE_INFINITY)
  const told = fired !== undefined && since >= 0 && since < quietPeriodMs(alert.window_minutes) + length
  return { start: new Date(isOneOff(alert) && told ? fired : end - length), end: new Date(end) }
}

const COMPARE = {
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
} as const

/** Whether a verdict stands however much is missing in the window: a count can only have been larger. */
const isConclusive = ({ kind, metric, op }: Pick<Alert, 'kind' | 'metric' | 'op'>, verdict: boolean): boolean =>
  kind !== 'change' && (metric === undefined || isCount(metric)) && verdict === (op === 'gt' || op === 'gte')

export interface AlertEvaluatorDeps extends MeasureDeps {
  alerts: Pick<Alerts, 'list' | 'get' | 'invalidate'>
  sites: Pick<Sites, 'list'>
  records: Records
  /** Milliseconds of a window for which nobody knows whether all of it was stored. */
  missingMs(window: Window): Promise<number>
  now(): Date
  /** Monotonic milliseconds. */
  clock(): number
  log(details: object, message: string): void
  /** Notices were written. */
  ring(): void
}

/** What is known of an alert beside its record. */
interface EvaluationState {
  state: AlertState
  /** As the table has it. */
  kept: AlertState
  readonly known: Set<string>
  /** End of the last window that was evaluated, epoch ms. */
  upto?: number
  /** By the clock: not evaluated again before. */
  due: number
  failing: boolean
}

export interface AlertEvaluator {
  /** Evaluates every alert on the last complete window, one after the other; what was missed is not made up for. */
  tick(signal: AbortSignal): Promise<void>
}

/** Alerts over the reads: each once a minute, unless its question is a costly one. */
export function createAlertEvaluator(deps: AlertEvaluatorDeps): AlertEvaluator {
  const { alerts, sites, records, missingMs: lacking, now, clock, log, ring } = deps
  const memories = new Map<number, EvaluationState>()

  const remembered = async (id: number): Promise<EvaluationState> => {
    const known = memories.get(id)
    if (known) return known
    const [row] = await records.query(sql`select state from alerts where id = ${id}`)
    const state = AlertState.parse(typeof row?.state === 'string' ? JSON.parse(row.state) : {})
    const memory: EvaluationState = {
      state,
      kept: state,
      known: new Set(),
      due: Number.NEGATIVE_INFINITY,
      failing: false,
    }
    memories.set(id, memory)
    return memory
  }

  /** State and notices in one transaction; an alert at rest writes nothing. */
  const keep = async (alert: WithId<Alert>, memory: EvaluationState, state: AlertState, event?: AlertEvent) => {
    if (event || state.firing !== memory.kept.firing || state.fired !== memory.kept.fired) {
      const at = now()
      const fired = event?.event === 'fired' ? sql`, last_fired_at = ${at}` : sql``
      const notices = event
        ? alert.channels.flatMap((channel, i) => {
            const key = `alert:${alert.id}:${event.window.end}:${event.event}:${i + 1}`
            return noticeStatements({ key, site: alert.site, source: { alert: alert.id }, channel, payload: event }, at)
          })
        : []
      await records.write(
        sql`update alerts set state = ${JSON.stringify(state)}${fired} where id = ${alert.id}`,
        ...notices,
      )
      memory.kept = state
      if (event) {
        alerts.invalidate()
        ring()
      }
    }
    memory.state = state
  }

  /** Whether all that it was measured by is there. */
  const isComplete = async ({ kind, window_minutes }: Alert, { start, end }: Window): Promise<boolean> => {
    const before = kind === 'change' ? window_minutes * MINUTE_MS : 0
    const asked = { start: new Date(start.getTime() - before), end }
    return (await lacking(asked)) <= MAX_MISSING_SHARE * (end.getTime() - asked.start.getTime())
  }

  const evaluate = async (
    alert: WithId<Alert>,
    site: { id: number; name: string },
    memory: EvaluationState,
    ending: AbortSignal,
  ) => {
    const end = lastCompleteMinute(now())
    const ago = memory.upto === undefined ? undefined : memory.upto - end
    if (ago !== undefined && ago >= 0 && ago < MAX_CLOCK_STEP_BACK_MS) return
    const of = definitionDigest(alert)
    if (memory.state.of !== of) {
      memory.known.clear()
      await keep(alert, memory, { of, firing: false, calm: 0 })
    }
    const window = alertWindow(alert, end, memory.state.fired)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(EVALUATION_TIMEOUT_MS)])
    const from = clock()
    const measured = await measureAlert(alert, window, { ...deps, known: memory.known, signal })
    const took = clock() - from
    memory.due = from + took * MIN_PAUSE_RATIO
    // Changed or deleted meanwhile: nobody wants to hear what it was, and the next minute measures it anew.
    const present = (await alerts.list(alert.site)).find(({ id }) => id === alert.id)
    if (present?.version !== alert.version) return
    let verdict = measured.value === undefined ? undefined : COMPARE[alert.op](measured.value, alert.value)
    if (verdict !== undefined && verdict !== memory.state.firing && !isConclusive(alert, verdict))
      if (!(await isComplete(alert, window))) verdict = undefined
    const quiet = quietPeriodMs(alert.window_minutes)
    const { state, told } = nextAlertState(memory.state, verdict, { at: end, quiet, moment: isOneOff(alert) })
    await keep(alert, memory, state, told && createAlertEvent(told, { alert, site, window, at: now() }, measured))
    memory.upto = end
  }

  return {
    async tick(signal) {
      const all: WithId<Alert>[] = []
      const of = new Map((await sites.list()).map((site) => [site.id, site]))
      for (const site of of.keys()) all.push(...(await alerts.list(site)))
      const ids = new Set(all.map(({ id }) => id))
      for (const id of memories.keys()) if (!ids.has(id)) memories.delete(id)
      for (const alert of all) {
        if (signal.aborted) return
        const site = of.get(alert.site)
        if (!site) continue
        const memory = await remembered(alert.id)
        if (clock() < memory.due) continue
        try {
          if (alert.enabled) await evaluate(alert, site, memory, signal)
          // It begins anew when it is enabled again.
          else if (memory.state.firing) await keep(alert, memory, { ...memory.state, firing: false, calm: 0 })
          if (memory.failing) log({ alert: alert.id }, 'an alert is evaluated again')
          memory.failing = false
        } catch (error) {
          if (signal.aborted) return
          if (!memory.failing)
            log({ err: error, alert: alert.id }, 'an alert could not be evaluated; it is tried again')
          memory.failing = true
        }
      }
    },
  }
}

/** What an alert is about: when it changes, what was true of it before says nothing. */
function definitionDigest({ kind, metric, audience, filters, op, value, window_minutes }: Alert): string {
  const text = JSON.stringify([kind, metric ?? null, audience, filters, op, value, window_minutes])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
