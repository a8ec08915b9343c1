import type { ResultRow } from '../../storage/store.js'
import { startOfDay } from './calendar.js'
import { type Plan, withoutUrlFilters } from './plan.js'
import type { Warning } from './read-warnings.js'

/** A page as a search engine counted it in the time of an addition; a figure that the engine does not have is null. */
export interface PageCounts {
  readonly hostname: string
  readonly pathname: string
  readonly citations: number | null
  readonly clicks: number | null
  readonly impressions: number | null
}

interface Addition {
  readonly id: number
  readonly tool: string
  readonly first_day: string
  readonly last_day: string
}

/** The pages of a site that search engines counted. */
export interface CountedPages {
  readonly additions: readonly Addition[]
  /** Returns the pages with these paths, as these additions have them. */
  list(additions: readonly number[], pathnames: readonly string[]): Promise<readonly PageCounts[]>
}

/** The figures by the names that rows of pages have for them. */
const FIGURES = { cited: 'citations', search_clicks: 'clicks', search_impressions: 'impressions' } as const

/**
 * Adds the counts of search engines to rows of pages. An addition has one number for all of its days, so that only one whose
 * days all lie in the window counts. A page that no file lists has no number: the files name the most frequent pages alone.
 */
export async function addCountedPages(
  rows: readonly ResultRow[],
  pages: CountedPages | undefined,
  plan: Plan,
): Promise<{ rows: readonly ResultRow[]; warnings: readonly Warning[] }> {
  const warn = (code: string, message: string): Warning => ({ metric: 'cited', code, message })
  if (!pages) return { rows, warnings: [warn('no_counted_pages', NOT_IMPORTED)] }
  const times = pages.additions.map((addition) => ({ addition, place: findPlace(addition, plan) }))
  const whole = times.flatMap(({ addition, place }) => (place === 'inside' ? [addition] : []))
  const cut = times.flatMap(({ addition, place }) => (place === 'cut' ? [addition] : []))
  if (withoutUrlFilters(plan).filters.length > 0)
    return {
      rows,
      warnings: [
        warn(
          'counted_pages_filtered',
          'Imported counts of pages are left out: they cannot be filtered by anything but the page.',
        ),
      ],
    }
  const warnings = [
    ...(whole.length > 0
      ? [
          warn(
            'counted_pages',
            `Citations and clicks as ${describe(whole)} counted them, by other definitions; they say nothing about ChatGPT, Claude or Perplexity.`,
          ),
        ]
      : []),
    ...(cut.length > 0
      ? [
          warn(
            'counted_pages_cut',
            `Left out, because each number is of the whole time and the window has a part of it: ${describe(cut)}.`,
          ),
        ]
      : []),
    ...(whole.length + cut.length === 0 ? [warn('no_counted_pages', NOT_IMPORTED)] : []),
  ]
  if (whole.length === 0 || rows.length === 0) return { rows, warnings }
  const pathnames = [...new Set(rows.map(({ pathname }) => String(pathname)))]
  const sums = new Map<string, ResultRow>()
  for (const counts of await pages.list(
    whole.map(({ id }) => id),
    pathnames,
  )) {
    const sum = sums.get(counts.hostname + counts.pathname) ?? {}
    for (const [name, figure] of Object.entries(FIGURES))
      if (counts[figure] !== null) sum[name] = Number(sum[name] ?? 0) + counts[figure]
    sums.set(counts.hostname + counts.pathname, sum)
  }
  return { rows: rows.map((row) => ({ ...row, ...sums.get(`${row.hostname}${row.pathname}`) })), warnings }
}

/** Says whether all days of an addition lie in the window, or some, or none. */
function findPlace({ first_day, last_day }: Addition, { tz, window }: Plan): 'inside' | 'cut' | 'outside' {
  const [start, end] = [startOfDay({ day: first_day }, tz), startOfDay({ day: last_day }, tz, 1)]
  if (end <= window.start || start >= window.end) return 'outside'
  return start >= window.start && end <= window.end ? 'inside' : 'cut'
}

const describe = (additions: readonly Addition[]): string =>
  additions.map(({ tool, first_day, last_day }) => `${tool} from ${first_day} to ${last_day}`).join(' and ')

const NOT_IMPORTED =
  'No counts of search engines were imported for this window: add an export of Bing Webmaster Tools (AI Performance) or of Search Console with `readership history add`.'
