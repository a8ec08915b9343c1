import { z } from 'zod'

/** Result of one check of `doctor`, as `--json` prints it. */
export interface Finding {
  check: string
  state: 'ok' | 'warn' | 'fail'
  /** The finding in words, with what it costs. */
  says: string
  /** How to fix it. */
  mend?: string
}
export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says })
export const warn = (check: string, says: string, mend: string): Finding => ({ check, state: 'warn', says, mend })
export const fail = (check: string, says: string, mend: string): Finding => ({ check, state: 'fail', says, mend })

/** Two clocks may differ by this without harm to sessions and signatures. */
export const MAX_CLOCK_SKEW_S = 5

/** Returns the code of a system error or of its cause, else its message. */
export function errorReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = z.object({ code: z.string() }).safeParse(cause)
  return code.success ? code.data.code : cause instanceof Error ? cause.message : String(cause)
}
