import { z } from 'zod'
import { MINUTE_MS } from '../../base/time-units.js'

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
