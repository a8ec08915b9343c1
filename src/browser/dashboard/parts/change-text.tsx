import type { DataOf, MetaOf } from '../client/index.js'
import { type Audience, hrefTo, type Move, place, viewPath } from '../state/address.js'
import { isComparable, type Part, pointsBeyondChance, unrecordedComparison } from '../state/comparison.js'
import { formatCountry, formatDay, formatDays, formatNumber, formatShare } from '../state/format.js'
import { interval } from '../state/interval.js'
import { shortPath } from '../state/path-name.js'
import { quantity } from '../state/quantity.js'
import { audiences, type Pair, usePair } from '../state/question.js'
import { timeZone } from '../state/session.js'
import { isOpenPath } from '../state/shared-scopes.js'
import { DAY_MS } from '../state/time-units.js'
import { windowOf } from '../state/window.js'
import { addDays, dayOf, instantOf } from '../state/zone.js'
import { t } from '../texts/index.js'
import { claimedName } from './claimed-name.js'
import { PageLink } from './names.js'

export type Changes = DataOf<'/api/stats/changes'>
type Cause = NonNullable<Changes['cause']>
/** A value with the dimension that it is of. */
type Named = ChangedValue & { dimension: string }
/** One value of a dimension with its counts. */
export type ChangedValue = Changes['dimensions'][number]['rose'][number]

/** Asks what changed, for each readership on screen, in the steps of the charts. */
export const useChanges = (): Pair<'/api/stats/changes'> =>
  usePair('/api/stats/changes', interval.value === undefined ? {} : { granularity: interval.value })

/** Writes a difference with its sign; a minus as wide as a plus. */
export const signed = (n: number): string => (n > 0 ? `+${formatNumber(n)}` : n < 0 ? `−${formatNumber(-n)}` : '0')

/** The name of a value for people to read; the absence of one has a name too. */
export function changeName(dimension: string, { value, name, spoofed }: ChangedValue): string {
  if (value === undefined) return t().changes.none[dimension] ?? '–'
  if (dimension === 'agent_id')
    return claimedName(name ?? value, { agent_id: value, ...(spoofed ? { verification: 'spoofed' } : {}) })
  return dimension === 'country' ? formatCountry(value) : value
}

const PAGES: readonly string[] = ['entry_page', 'pathname']

/** The path of the view about a value; undefined where it has no view. */
export function changePath(dimension: string, { value }: ChangedValue): string[] | undefined {
  if (value === undefined) return undefined
  if (PAGES.includes(dimension)) return viewPath('pages', value)
  return dimension === 'agent_id' && value !== 'other' ? viewPath('agents', value) : undefined
}

/** The days of a window that a range names; undefined for months and for own times. */
const DAYS: Readonly<Record<string, number>> = { '24h': 1, '7d': 7, '30d': 30, '90d': 90 }

/** The longest of those ranges that is shorter than the window, ends with it and can be compared; of own times as days. */
function comparableTime(meta: MetaOf<'/api/stats/changes'> | undefined): { move: Move; name: string } | undefined {
  const window = windowOf(meta?.query)
  if (!window) return undefined
  const isOwn = place.value.start !== undefined
  const end = Date.parse(window.end)
  const last = dayOf(end - 1, timeZone.value)
  const startOf = (day: string) => instantOf(`${day}T00:00`, timeZone.value)
  for (const range of ['90d', '30d', '7d', '24h'] as const) {
    const first = addDays(last, 1 - (DAYS[range] ?? 1))
    const start = range === '24h' && !isOwn ? end - DAY_MS : startOf(first)
    if (start <= Date.parse(window.start) || !isComparable(meta, start)) continue
    return isOwn
      ? { move: { start: first, end: last }, name: formatDays(first, last) }
      : { move: { range }, name: t().shell.range[range] }
  }
  return undefined
}

/** Leads to a shorter time that has a change; nothing if no time has one. */
function comparableLink(meta: MetaOf<'/api/stats/changes'> | undefined): readonly unknown[] {
  const time = comparableTime(meta)
  if (!time) return []
  return [...t().changes.comparable(<a href={hrefTo(time.move)}>{time.name}</a>), endOf(time.name)]
}

function thanText(): string {
  const { range, start, compare } = place.value
  return t().changes.than(start === undefined ? DAYS[range] : undefined, compare)
}

/** Says by how many points a share changed; nothing without a comparison, or where the change is within chance. */
export function pointsText(now: Part, before: Part | undefined): string {
  const points = before === undefined ? 0 : pointsBeyondChance(now, before)
  return points === 0 ? '' : t().changes.points(t().parts.points(Math.abs(points)), points > 0, thanText())
}

/** The sentence about one readership: how much changed, what caused it, where and when. */
function changeSentence(of: Audience, data: Changes, meta: MetaOf<'/api/stats/changes'> | undefined): unknown[] {
  const texts = t().changes
  const { difference, verdict, cause } = data
  if (difference === undefined) {
    const time = unrecordedComparison(meta)
    const reason =
      !time || time.share > 0
        ? texts.unknown
        : t().parts.noComparison(formatDay(time.start), formatDay(new Date(Date.parse(time.end) - 1)))
    return [reason, ' ', ...comparableLink(meta)]
  }
  const than = thanText()
  if (difference === 0) return [of === 'human' ? texts.peopleSame(than) : texts.agentsSame(than), ' ']
  const [n, isMore] = [Math.abs(difference), difference > 0]
  const draw = (text: string) => <span class={of === 'human' ? 'people' : 'agents'}>{text}</span>
  const total =
    of === 'human'
      ? texts.people(quantity('/api/stats/changes sessions', n, draw), isMore, than)
      : texts.agents(quantity('/api/stats/changes pageviews', n, draw), isMore, than)
  if (verdict === 'chance') return [...total, '. ', texts.chance, ' ']
  if (!cause) return [...total, '. ', ...spreadText(data), ' ']
  const told = causeText(cause, data)
  return [...total, ...told, endOf(String(told.at(-1)))]
}

/** The end of a sentence after its last words; a German day ends with a point of its own: 25. Nov. */
const endOf = (words: string): string => (words.endsWith('.') ? ' ' : '. ')

/** Countries and sections hold most of everything, so the largest part is looked for among the others. */
const COARSE: readonly string[] = ['country', 'section']
/** From this share of the change on, a part says what it had before. */
const LARGE = 0.3

/** The value that changed most in the direction of the whole, if it is not the whole. */
export const largestPart = ({ dimensions, now, before, difference = 0 }: Changes): Named | undefined =>
  dimensions
    .filter(({ dimension }) => !COARSE.includes(dimension))
    .flatMap(({ dimension, rose, fell }) =>
      (difference > 0 ? rose : fell).map((part): Named => ({ ...part, dimension })),
    )
    // Most visits have no campaign; a visit without a source came directly.
    .filter(
      (part) =>
        (part.value !== undefined || part.dimension === 'source') && !(part.now === now && part.before === before),
    )
    .toSorted((a, b) => Math.abs(b.difference) - Math.abs(a.difference))[0]

/** Says that no value explains a change, and which part is the largest: the rows below it begin with that part. */
function spreadText(data: Changes): readonly unknown[] {
  const texts = t().changes
  const largest = largestPart(data)
  if (largest === undefined) return texts.spread
  const [part, all] = [Math.abs(largest.difference), Math.abs(data.difference ?? 0)]
  const link = <CauseLink cause={largest} name={changeName(largest.dimension, largest)} />
  // One part may be more than the whole, if others changed the other way.
  const size = part <= all ? texts.partOf(formatNumber(part), formatNumber(all)) : signed(largest.difference)
  const had = part >= LARGE * all && data.before ? texts.had(formatShare(largest.before / data.before)) : ''
  return texts.spreadLargest(texts.by[largest.dimension] ?? '', link, size, had)
}

/** One sentence for each readership; said once if neither has a change. */
export function changeSentences(answers: Pair<'/api/stats/changes'>): unknown[] {
  const [first, ...more] = audiences.value.flatMap((of) => {
    const { data, meta } = answers[of]
    return data ? [{ of, data, meta }] : []
  })
  if (!first) return []
  const isUnknown = [first, ...more].every(({ data }) => data.difference === undefined)
  return (isUnknown ? [first] : [first, ...more]).flatMap(({ of, data, meta }) => changeSentence(of, data, meta))
}

function causeText(cause: Cause, { granularity }: Changes): unknown[] {
  const texts = t().changes
  const { dimension, difference, page, times = [] } = cause
  const isDirect = dimension === 'source' && cause.value === undefined
  const templates: Record<string, (n: string, isMore: boolean, name: unknown) => readonly unknown[]> = texts.cause
  const tell = templates[isDirect ? 'direct' : dimension] ?? texts.cause.section
  const name = changeName(isDirect ? 'direct' : dimension, isDirect ? { now: 0, before: 0, difference: 0 } : cause)
  const parts = [...tell(formatNumber(Math.abs(difference)), difference > 0, <CauseLink cause={cause} name={name} />)]
  if (page?.value !== undefined) {
    const isNearlyAll = page.difference / difference >= 0.9
    const link = <PageLink path={page.value} front={texts.frontPage} />
    parts.push(...(isNearlyAll ? texts.nearlyAll(link) : texts.most(link)))
  }
  if (granularity === 'day' && times.length > 0) {
    const days = times.map(({ t: at }) => formatDay(at))
    const last = days.pop()
    parts.push(texts.onDays(days.length > 0 ? `${days.join(', ')} ${texts.and} ${last}` : `${last}`))
  }
  return parts
}

/** A cause leads to its view, or to the question about it alone. */
function CauseLink({ cause, name }: { cause: Named; name: string }) {
  const { dimension, value } = cause
  if (value === undefined) return <>{name}</>
  const path = changePath(dimension, cause)
  const to = path && isOpenPath(path) ? path : undefined
  const filters = [...place.value.filters, { dimension, op: 'is', value }]
  const shown = PAGES.includes(dimension) ? (value === '/' ? t().changes.frontPage : shortPath(name, 80)) : name
  return (
    <a href={hrefTo(to ? { path: to } : { filters })} title={name.slice(0, 2_000)} dir="auto">
      {shown}
    </a>
  )
}

/** Says which hours were compared, if not all of them. */
export function ComparedPart({ data }: { data: Changes }) {
  if (data.difference === undefined || data.compared >= 1) return null
  return <p class="foot">{t().changes.comparedPart(formatShare(data.compared))}</p>
}
