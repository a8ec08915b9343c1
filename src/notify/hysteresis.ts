import { z } from 'zod'

/** What an alert remembers from one evaluation to the next. */
export const AlertState = z.object({
  /** What was evaluated: another one begins anew. */
  of: z.string().default(''),
  firing: z.boolean().default(false),
  /** Evaluations in a row in which the condition did not hold, while it fires. */
  calm: z.int().default(0),
  /** Epoch ms of the last time it fired. */
  fired: z.number().optional(),
})
export type AlertState = z.output<typeof AlertState>

/** Evaluations in a row without the condition that end it: one that wavers around its value is one alert. */
const CALM_EVALUATIONS_TO_RESOLVE = 2
const MINUTE_MS = 60_000

/** An alert that fired stays quiet for its window, and for an hour at least, ms. */
export const quietPeriodMs = (window_minutes: number): number => Math.max(window_minutes, 60) * MINUTE_MS

/**
 * The state behind an evaluation at `at` (epoch ms), and what is to be told. Without a verdict nothing changes: what cannot
 * be computed neither fires nor ends anything. Of a `moment` (something appeared) no end is told.
 */
export function nextAlertState(
  state: AlertState,
  verdict: boolean | undefined,
  { at, quiet, moment }: { at: number; quiet: number; moment: boolean },
): { state: AlertState; told?: 'fired' | 'resolved' } {
  if (verdict === undefined) return { state }
  if (verdict && (moment || !state.firing)) {
    // By whichever way the clock went since.
    if (state.fired !== undefined && Math.abs(at - state.fired) < quiet) return { state }
    return { state: { ...state, firing: !moment, calm: 0, fired: at }, told: 'fired' }
  }
  if (!state.firing) return { state }
  if (verdict) return { state: { ...state, calm: 0 } }
  const calm = state.calm + 1
  if (calm < CALM_EVALUATIONS_TO_RESOLVE) return { state: { ...state, calm } }
  return { state: { ...state, firing: false, calm: 0 }, told: 'resolved' }
}
