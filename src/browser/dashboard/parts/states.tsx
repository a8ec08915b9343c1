import type { ComponentChildren } from 'preact'
import type { Audience } from '../state/address.js'
import { hrefTo, place, viewPath } from '../state/address.js'
import type { Problem } from '../state/client.js'
import { unrecordedComparison } from '../state/comparison.js'
import type { Recorded } from '../state/data.js'
import { leaves, valuesOf } from '../state/filters.js'
import { formatDay, formatFullInstant, formatInstant, formatShare, formatTime } from '../state/format.js'
import { obstacle, shareSlug } from '../state/question.js'
import { isReadable } from '../state/shared-scopes.js'
import { windowOf } from '../state/window.js'
import { t } from '../texts/index.js'
import { PlainButton } from './buttons.js'
import { dimensionName } from './filter-name.js'
import { Mark } from './marks.js'

/** Says in words what went wrong, when, and offers to try again. */
export function Failed({ problem, retry }: { problem: Problem; retry: () => void }) {
  const { parts } = t()
  const isClosed = problem.status === 403 && shareSlug.value !== undefined
  if (isClosed) return <Empty>{parts.notShared}</Empty>
  return (
    <div class="state" role="alert">
      <p>
        {parts.problem[problem.code] ?? problem.message} ({parts.at(formatTime(problem.at))})
      </p>
      <PlainButton onClick={retry}>{parts.retry}</PlainButton>
    </div>
  )
}

export const Skeleton = ({ rows = 5 }: { rows?: number }) => (
  <div role="status" aria-label={t().parts.loading}>
    {Array.from({ length: rows }, (_, i) => (
      <div class="skeleton" key={i} style={{ width: `${90 - ((i * 17) % 40)}%` }} />
    ))}
  </div>
)

/** Says why there is nothing. */
export const Empty = ({ children }: { children?: ComponentChildren }) => (
  <div class="state">
    <p>{children ?? t().parts.nothingFor(place.value.filters.length > 0 || place.value.segment !== undefined)}</p>
  </div>
)

/** Stands where a number of one readership would be, with the reason for its absence. */
export const Absent = ({ of, children }: { of?: Audience; children: ComponentChildren }) => (
  <p class="absent">
    {of ? <Mark of={of} /> : <span />}
    <span>{children}</span>
  </p>
)

/** Says that a readership lacks a filter on screen; nothing if it has all of them. */
export function Lacking({ of }: { of: Audience }) {
  const dimension = obstacle(of)
  return dimension === undefined ? null : <Absent of={of}>{t().parts.lacks[of](dimensionName(dimension))}</Absent>
}

interface Warning {
  code: string
  message: string
  dimension?: string | undefined
  value?: string | undefined
  nearest?: string | undefined
}

interface Meta {
  warnings?: readonly Warning[] | undefined
  recorded?: Recorded | undefined
  query?: Readonly<Record<string, unknown>> | undefined
  comparison?: { start: string; end: string } | undefined
}

/** A warning in the reader's language and the site's zone; in the API's words if these are all there is. */
function warningText(
  { code, message, dimension, value, nearest }: Warning,
  { recorded, query, comparison }: Meta,
): string {
  const { parts } = t()
  if (code === 'no_such_value' && dimension !== undefined && value !== undefined)
    return parts.noSuchValue(query?.audience, dimensionName(dimension), value, nearest)
  if (code !== 'not_recorded') return parts.warning[code] ?? message
  const { since } = recorded ?? {}
  if (since === undefined) return `${t().shell.nothingRecorded}.`
  const gaps = [...(recorded?.gaps ?? []), ...(recorded?.comparison ?? [])]
  const asked = [windowOf(query), comparison].flatMap((time) => (time ? [Date.parse(time.start)] : []))
  const more = gaps.slice(MAX_NAMED_GAPS).reduce((sum, { joined = 1 }) => sum + joined, 0)
  // A read may ask about other times than these two; without a gap the warning is about the time before the first row.
  const asksBefore = gaps.length === 0 || Date.parse(since) > Math.min(...asked)
  return [
    ...(asksBefore ? [parts.nothingBefore(formatFullInstant(since))] : []),
    ...gaps
      .slice(0, MAX_NAMED_GAPS)
      .map((gap) =>
        parts.gap(parts.gapReasons[gap.reason] ?? gap.reason, formatInstant(gap.start), formatInstant(gap.end)),
      ),
    ...(more > 0 ? [parts.moreGaps(more)] : []),
  ].join(' ')
}
const MAX_NAMED_GAPS = 3

/** Warnings about what no view shows: a metric that a readership never has, a window or comparison that a read does not take. */
const UNSAID = ['not_for_audience', 'window_fixed', 'comparison_fixed', 'no_counted_pages']

/** Says why there are no changes: too little is recorded of the time that answers are compared with. */
export function NoChange({ of }: { of: readonly Parameters<typeof unrecordedComparison>[0][] }) {
  const [time] = of.flatMap((meta) => unrecordedComparison(meta) ?? [])
  if (time === undefined) return null
  const { parts, changes } = t()
  const days = [formatDay(time.start), formatDay(new Date(Date.parse(time.end) - 1))] as const
  if (time.share === 0) return <p class="foot">{parts.noComparison(...days)}</p>
  return (
    <p class="foot">
      {parts.partComparison(...days, formatShare(time.share))}{' '}
      {isReadable('/api/stats/changes') &&
        parts.comparedHours(<a href={hrefTo({ path: viewPath('changes') })}>{changes.title}</a>)}
    </p>
  )
}

/** Whether a warning is about a filter on screen, and not about one that a view adds by itself. */
const isAboutScreen = ({ dimension = '', value = '' }: Warning): boolean =>
  place.value.filters.flatMap(leaves).some((f) => f.dimension === dimension && valuesOf(f).map(String).includes(value))

/** The warnings of answers, each once. */
export function Warnings({ of }: { of: readonly (Meta | undefined)[] }) {
  const messages = new Set(
    of.flatMap((meta = {}) =>
      (meta.warnings ?? [])
        .filter((warning) => !UNSAID.includes(warning.code))
        .filter((warning) => warning.code !== 'no_such_value' || isAboutScreen(warning))
        .map((warning) => warningText(warning, meta)),
    ),
  )
  return (
    <>
      {[...messages].map((message) => (
        <p class="foot" key={message}>
          {message}
        </p>
      ))}
    </>
  )
}
