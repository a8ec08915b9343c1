import type { ResultRow } from '../../storage/store.js'
import type { Window } from './calendar.js'
import type { Audience } from './dimensions.js'
import { hasMetric } from './metrics.js'
import { type Recording, recordedSpan } from './recording.js'
import { changesSalt, type SaltPeriod } from './salt-periods.js'

/** Explains why a metric is absent, or what a number is based on. */
export interface Warning {
  readonly metric?: string
  readonly code: string
  readonly message: string
  /** The filter that `no_such_value` is about, and the value that was probably meant. */
  readonly dimension?: string
  readonly value?: string
  readonly nearest?: string
}

interface ReadWarningsDeps {
  readonly audience: Audience
  readonly recording: Recording
  readonly now: Date
  readonly site: { readonly visitor_salt: SaltPeriod }
}

/** The warnings of one response, each once. */
export function createReadWarnings({ audience, recording, now, site }: ReadWarningsDeps) {
  const warnings: Warning[] = []
  const warn = (warning: Warning): void => {
    const isRepeated = warnings.some(({ metric, code }) => metric === warning.metric && code === warning.code)
    if (!isRepeated) warnings.push(warning)
  }
  const saltChangesIn = (window: Window) => changesSalt(recordedSpan(recording, window, now), site.visitor_salt)
  return {
    warnings,
    warn,
    /** Returns the metrics that have a meaning for the audience, and warns of each of the others. */
    meaningful<M extends string>(metrics: readonly M[]): M[] {
      // A metric of one read only, such as `entries`, is people's.
      const has = (metric: string) =>
        hasMetric(audience, metric) || (audience === 'human' && !hasMetric('agent', metric))
      const who = { human: 'people', agent: 'agents', all: 'people and agents together' }[audience]
      const message = `Absent, because it has no meaning for ${who}.`
      for (const metric of metrics) if (!has(metric)) warn({ metric, code: 'not_for_audience', message })
      return metrics.filter(has)
    },
    /** Tells whether the salt, and so every visitor id, changes between two recorded times of a window. */
    saltChangesIn,
    /** Adds a warning to the response if the salt changes between two recorded times of any of these windows. */
    warnOfSaltChange(windows: readonly Window[]): void {
      if (!windows.some(saltChangesIn)) return
      warn({
        metric: 'visitors',
        code: 'salt_rotated_in_window',
        message: `Visitor ids change every ${site.visitor_salt}: a person seen in two of these periods is counted twice.`,
      })
    },
    /** Explains why a verified share is absent, or which fetches it leaves out. */
    warnOfVerification(rows: readonly ResultRow[], metrics: readonly string[]): void {
      if (!metrics.includes('verified')) return
      const metric = 'verified'
      if (rows.some((row) => row.verified === undefined)) {
        const message = 'Absent where no fetch was verified and none was found to be spoofed.'
        warn({ metric, code: 'nothing_verified', message })
      }
      const open = rows.reduce((sum, row) => sum + Number(row.indeterminate ?? 0), 0)
      if (open === 0) return
      const message = `It leaves out ${open} fetches that could not be checked at the time.`
      warn({ metric, code: 'verification_indeterminate', message })
    },
  }
}
