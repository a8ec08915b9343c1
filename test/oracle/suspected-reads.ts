import type { EventRow, Rows } from '../../src/storage/rows.js'
import { SUSPICION_SIGNALS } from '../../src/storage/suspicion-signals.js'
import { timeline } from './calendar.js'
import { rank } from './compare.js'
import type { ExpectedAnswer, ExpectedRead, QuestionOptions } from './expected-reads.js'
import { bucketParts } from './recorded.js'
import { isView, type Question, siteView } from './site-rows.js'

/** In the order of `suspected_by`. */
const SIGNALS = [
  ...['headers:no_navigation', 'headers:no_language', 'headers:accept', 'headers:no_gzip', 'headers:client_hints'],
  ...[
    'headers:stale_browser',
    'headers:order',
    'headers:http1',
    'network:hosting',
    'behaviour:burst',
    'behaviour:sweep',
  ],
  ...['behaviour:policy_first', 'behaviour:no_assets', 'behaviour:network_sweep'],
]

const tally = (rows: readonly EventRow[]) => ({
  pageviews: rows.length,
  suspected_pageviews: rows.filter(({ suspected }) => suspected).length,
})

/** Recounts `stats/suspected` view by view. */
function expectSuspected(rows: Rows, q: Question, _: unknown, { unit, now }: QuestionOptions): ExpectedAnswer {
  const { hitsInWindow, sessionsInWindow } = siteView(rows, q)
  const views = hitsInWindow.filter(isView)
  const all = tally(views)
  const list = (column: 'pathname' | 'source' | 'country') => {
    const values = [...new Set(views.map((row) => row[column]))].map((value) => ({
      ...(value === null ? {} : { value }),
      ...tally(views.filter((row) => row[column] === value)),
    }))
    const ranked = rank(
      values.filter((row) => row.suspected_pageviews > 0),
      (row) => [row.suspected_pageviews, row.pageviews],
      (row) => [row.value],
    )
    return ranked.slice(0, 10).map((row) => ({ ...row, share: row.suspected_pageviews / row.pageviews }))
  }
  const [from, to] = q.window
  const times = timeline(from, to, q.tz, unit)
  const parts = bucketParts(rows, { ...q, now }, unit)
  const buckets = times.map(({ t }, i) => {
    const end = times[i + 1]?.t ?? to
    const inside = views.filter(({ timestamp }) => timestamp.getTime() >= t && timestamp.getTime() < end)
    const at = { t: new Date(t).toISOString() }
    if (parts[i] === 'none' && inside.length === 0) return at
    return { ...at, ...tally(inside), ...(parts[i] === 'all' ? {} : { partial: true }) }
  })
  // The words are compared with nothing; that every signal has some is.
  const meaningOf = (signal: string) => SUSPICION_SIGNALS.find(({ name }) => name === signal)?.meaning
  const signals = SIGNALS.map((signal) => ({
    ...{ signal, family: signal.replace(/:.*/, ''), meaning: meaningOf(signal) },
    ...tally(views.filter((row) => row.suspected_by?.split(',').includes(signal))),
  }))
  const data = {
    ...all,
    ...(all.pageviews > 0 ? { share: all.suspected_pageviews / all.pageviews } : {}),
    sessions: sessionsInWindow.length,
    suspected_sessions: sessionsInWindow.filter(({ matchingRows }) => matchingRows.some((row) => row.suspected)).length,
    signals,
    ...{ pages: list('pathname'), sources: list('source'), countries: list('country'), granularity: unit, buckets },
  }
  return { params: `granularity=${unit}`, data }
}

export const SUSPECTED: ExpectedRead = {
  path: 'suspected',
  audiences: ['human'],
  ignoresComparison: true,
  expect: expectSuspected,
}
