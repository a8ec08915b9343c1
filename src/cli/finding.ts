/** Result of one check of `doctor`, as `--json` prints it. */
export interface Finding {
  check: string
  state: 'ok' | 'warn' | 'fail'
  /** The finding in words. */
  says: string
  /** How to fix it. */
  mend?: string
}
export const ok = (check: string, says: string): Finding => ({ check, state: 'ok', says })
export const warn = (check: string, says: string, mend: string): Finding => ({ check, state: 'warn', says, mend })
export const fail = (check: string, says: string, mend: string): Finding => ({ check, state: 'fail', says, mend })

/** Two clocks may differ by this without harm to sessions and signatures. */
export const MAX_CLOCK_SKEW_S = 5
