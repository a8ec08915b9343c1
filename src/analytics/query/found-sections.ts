import { DAY_MS } from '../../base/time-units.js'
import { raw, type Sql, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import { readCountedDays } from './aggregate-split.js'
import { dailyCounts } from './counted-days.js'
import { sectionOf } from './group-by-dimension.js'
import type { Plan } from './plan.js'
import { folderOf, SectionPattern } from './section-pattern.js'

/** Sections are found in the pages of so many days. */
const FOUND_DAYS = 90
/** Fewest read pages of a folder that is a section. */
const MIN_PAGES = 3
/** The folders with the most pages; a site that answers every path would have any number. */
const MAX_FOUND = 30
/** The time for which all questions get the same sections, in milliseconds. */
const STEP_MS = 600_000
/** Pages that are named of those that a pattern fits. */
const MAX_EXAMPLES = 5

type ReadStore = Pick<Store, 'query' | 'dialect'>

/** The start of the current step: what is found depends on it, and not on the moment of the question. */
const stepOf = (now: Date): Date => new Date(Math.floor(now.getTime() / STEP_MS) * STEP_MS)

/**
 * The plan whose rows decide which sections a site has: those of people and agents in the days before the current step, and
 * the same for all who ask within the step.
 */
async function sectionPlan(store: ReadStore, site: number, now: Date): Promise<Plan> {
  const end = stepOf(now)
  const start = new Date((Math.floor(end.getTime() / DAY_MS) - FOUND_DAYS) * DAY_MS)
  const countedDays = await readCountedDays(store, site)
  return {
    ...{ dialect: store.dialect, site, audience: 'all', window: { start, end }, tz: 'UTC', granularity: 'day' },
    filters: [],
    ...(countedDays ? { countedDays } : {}),
  }
}

/** Selects the pages that were read in a plan's window: `pathname, pageviews` of people and `reads` of agents. */
const readPages = (plan: Plan): Sql => sql`
  select pathname, sum(pageviews) as pageviews, sum(reads) as reads
  from (select pathname, ${plan.dialect.toInteger(raw('views'))} as pageviews, ${plan.dialect.toInteger(raw('0'))} as reads
      from (${dailyCounts(plan, 'daily_views', ['views'], { keys: ['pathname'] })}) v
    union all
    select pathname, ${plan.dialect.toInteger(raw('0'))} as pageviews, ${plan.dialect.toInteger(raw('pages'))} as reads
      from (${dailyCounts(plan, 'daily_urls', ['pages'], { keys: ['pathname'] })}) f) r
  group by pathname having sum(pageviews) + sum(reads) > 0`

/** Finds the sections of a site in its paths: folders below the root with enough pages that were read, by name. */
export async function findSections(store: ReadStore, site: number, now: Date): Promise<string[]> {
  const plan = await sectionPlan(store, site, now)
  const folder = plan.dialect.textBefore(raw('substr(pathname, 2)'), '/')
  const rows = await store.query(sql`
    select folder, count(*) as pages from (select ${folder} as folder from (${readPages(plan)}) p) f
    where folder <> '' group by folder having count(*) >= ${MIN_PAGES}
    order by pages desc, folder limit ${2 * MAX_FOUND}`)
  return rows
    .map(({ folder }) => `/${folder}/*`)
    .filter((pattern) => folderOf(pattern) !== undefined && SectionPattern.safeParse(pattern).data === pattern)
    .slice(0, MAX_FOUND)
    .toSorted()
}

/** Returns a function that finds a site's sections once in each step, also for the many reads that a dashboard sends at once. */
export function createSectionFinder(store: ReadStore) {
  const bySite = new Map<number, { step: number; sections: Promise<readonly string[]> }>()
  return async (site: number, now: Date): Promise<readonly string[]> => {
    const step = stepOf(now).getTime()
    const cached = bySite.get(site)
    if (cached?.step === step) return cached.sections
    const asked = { step, sections: findSections(store, site, now) }
    bySite.set(site, asked)
    asked.sections.catch(() => bySite.get(site) === asked && bySite.delete(site))
    return asked.sections
  }
}

/** The sections of a site in the order in which they are tried: those that its owner wrote, then those that were found. */
export const listSections = (written: readonly string[], found: readonly string[]): string[] => [
  ...new Set([...written, ...found]),
]

interface SectionQuestion {
  readonly store: ReadStore
  readonly site: number
  readonly now: Date
}

/** Counts the pages of each section, and those outside all, in the days in which sections are found. */
export async function countSectionPages(
  { store, site, now }: SectionQuestion,
  written: readonly string[],
  found: readonly string[],
) {
  const sections = listSections(written, found)
  const plan = { ...(await sectionPlan(store, site, now)), sections }
  const rows = await store.query(sql`
    select section, count(*) as pages
    from (select ${sectionOf('pathname', plan)} as section from (${readPages(plan)}) p) s group by section`)
  const counted = new Map(rows.map((row) => [row.section, Number(row.pages)]))
  const pages = sections.map((pattern) => ({
    pattern,
    origin: written.includes(pattern) ? ('written' as const) : ('found' as const),
    pages: counted.get(pattern) ?? 0,
  }))
  return { pages, outside: counted.get(null) ?? 0 }
}

/** Says which pages of these days a pattern fits: how many, how many of them the written sections take, and the most read. */
export async function fittingPages({ store, site, now }: SectionQuestion, written: readonly string[], pattern: string) {
  const plan = await sectionPlan(store, site, now)
  const [fits, taken] = [[pattern], written.filter((one) => one !== pattern)].map((sections) =>
    sectionOf('pathname', { ...plan, sections }),
  )
  const fitting = sql`
    select pathname, pageviews + reads as times, case when ${taken ?? raw('null')} is null then 0 else 1 end as taken
    from (${readPages(plan)}) p where ${fits ?? raw('null')} is not null`
  const rows = await store.query(sql`
    select pathname, count(*) over () as pages, sum(taken) over () as taken from (${fitting}) f
    order by times desc, pathname limit ${MAX_EXAMPLES}`)
  return {
    pattern,
    pages: Number(rows[0]?.pages ?? 0),
    taken: Number(rows[0]?.taken ?? 0),
    examples: rows.map(({ pathname }) => String(pathname)),
  }
}
