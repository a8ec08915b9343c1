import { type Meta, type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import type { Rows } from '../../src/storage/rows.js'
import { roundNumbers } from './compare.js'
import { comparisonWindow, type ExpectedRead, type QuestionOptions } from './expected-reads.js'
import { recordedPart, withoutUnrecorded } from './recorded.js'
import type { Question } from './site-rows.js'

/** A question as a client asks it. */
export interface ReadCase {
  q: Question
  /** `range=30d`, or `start=...&end=...`. */
  window: string
  compare: 'none' | 'previous' | 'year'
  more: QuestionOptions
  /** Sessions with a suspected row are left out. */
  suspected?: 'exclude'
}
interface ReadCheck {
  url: string
  found: unknown
  wanted: unknown
  meta: Pick<Partial<Meta>, 'total'>
  total: number | undefined
}

/** Reads whose rows say what one session or visitor did, or handle such times themselves. */
const OWN_ABSENCE = [
  'changes',
  'hours',
  'sessions',
  'sessions/{id}',
  'visitors',
  'journeys',
  'journeys/steps',
  'retention',
  'realtime',
  'timeseries',
]

/** A site without the sessions of people that have a suspected row: nothing of them is there to be counted. */
const reduced = new WeakMap<Rows, Rows>()
export function withoutSuspected(rows: Rows): Rows {
  const known = reduced.get(rows)
  if (known) return known
  const key = ({ site_id, session_id }: Rows['events'][number]) => `${site_id} ${session_id}`
  const suspected = new Set(rows.events.filter((row) => row.suspected).map(key))
  const kept = { ...rows, events: rows.events.filter((row) => !suspected.has(key(row))) }
  reduced.set(rows, kept)
  return kept
}

/** Runs the read and the recount, and rounds both results. */
export async function checkRead(
  judged: ExpectedRead,
  all: Rows,
  { q: asked, window, compare, more, suspected }: ReadCase,
  deps: ReadDependencies,
): Promise<ReadCheck> {
  // When recording began and which sections there are is said by every row; a session is asked for by its id.
  const rows = suspected && judged.path !== 'sessions/{id}' ? withoutSuspected(all) : all
  const q = suspected ? { ...asked, allRows: all } : asked
  const read = reads.find(({ path }) => path === `/api/stats/${judged.path}`)
  if (!read) throw new Error(`there is no read ${judged.path}`)
  const used = judged.alwaysCompares && compare === 'none' ? 'previous' : compare
  const other = judged.ignoresComparison ? undefined : comparisonWindow(q.window, used, q.tz)
  const {
    params,
    data: whole,
    total,
    pathWords: words,
  } = judged.expect(rows, q, other && { ...q, window: other }, more)
  const parts = [q.window, other ?? q.window].map((window) => recordedPart(rows, q, window))
  const [now = 'all', then = 'all'] = parts
  const wanted = OWN_ABSENCE.includes(judged.path) ? whole : withoutUnrecorded(whole, now, then)
  const filters = q.filters.length === 0 ? '' : `&filters=${encodeURIComponent(JSON.stringify(q.filters))}`
  const url = `site=${q.site}&audience=${q.audience}&tz=${q.tz}&${window}&compare=${compare}${filters}${suspected ? '&suspected=exclude' : ''}&${params}`
  if (wanted === 'not_found') {
    const refused = await runRead(read, new URLSearchParams(url), deps, words).catch((error) => error)
    return { url: `${read.path}?${url}`, found: refused?.code, wanted, meta: {}, total: undefined }
  }
  const { data, meta } = await runRead(read, new URLSearchParams(url), deps, words)
  read.data.parse(data)
  const known = (meta.comparison?.start ?? '') === (other ? new Date(other[0]).toISOString() : '')
  if (!known) throw new Error(`compared with ${meta.comparison?.start}: ${url}`)
  return { url: `${read.path}?${url}`, found: roundNumbers(data), wanted: roundNumbers(wanted), meta, total }
}
