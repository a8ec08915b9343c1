import { z } from 'zod'
import { IS_BLANK } from '../../analytics/query/blank-pages.js'
import { columnsMatch } from '../../analytics/query/key-match.js'
import { DAY_MS, MINUTE_MS } from '../../base/time-units.js'
import { raw, sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import type { Annotations, AutomaticNote } from '../annotations.js'

/** Editions that began in this time are looked at, of pages that people read in it. */
const LOOK_BACK_MS = 7 * DAY_MS
const LOOK_INTERVAL_MS = 10 * MINUTE_MS
const MAX_NOTES_PER_DAY = 5

/** Ways in which a page is blank to programs, as its note says them. */
const PROBLEMS = {
  empty_shell: 'has no text without scripts',
  not_found: 'says "not found" with status 200',
  consent: 'asks for consent first',
  challenge: 'asks for a proof first',
}
const BlankPage = z.object({
  ...{ site_id: z.int(), hostname: z.string(), pathname: z.string(), first_seen: z.date() },
  problem: z.enum(['empty_shell', 'not_found', 'consent', 'challenge']),
})
const Viewed = z.object({ hostname: z.string(), pathname: z.string() })

/**
 * Writes a note when pages that people read become blank to programs: the edition before had its text, and two samples of
 * the present one have not. Pages that are found together share a note.
 */
export function createBlankPageNotes({
  annotations,
  store,
}: {
  annotations: Annotations
  store: Pick<Store, 'query'>
}) {
  let lookedAt = Number.NEGATIVE_INFINITY

  const findPages = async (since: Date) =>
    (
      await store.query(sql`
        select site_id, hostname, pathname, first_seen, coalesce(notice, 'empty_shell') as problem from page_samples
        where replaced_at is null and prior_seen is not null and first_seen >= ${since} and samples >= 2 and ${raw(IS_BLANK)}
          and (site_id, hostname, pathname, first_seen) in (
            select site_id, hostname, pathname, replaced_at from page_samples where replaced_at is not null and not ${raw(IS_BLANK)})
        order by hostname, pathname`)
    ).map((row) => ({ ...BlankPage.parse(row), cause: causeOf(BlankPage.parse(row)) }))

  /** Returns those of the pages that people read, the most read ones first. */
  const findRead = async (site: number, pages: Awaited<ReturnType<typeof findPages>>, since: Date) => {
    if (pages.length === 0) return []
    const rows = await store.query(sql`
      select hostname, pathname, count(*) as views from events
      where site_id = ${site} and timestamp >= ${since} and kind = 'pageview' and ${columnsMatch(['hostname', 'pathname'], pages)}
      group by hostname, pathname order by views desc, hostname, pathname`)
    return rows.flatMap((row) => {
      const { hostname, pathname } = Viewed.parse(row)
      return pages.filter((page) => page.hostname === hostname && page.pathname === pathname)
    })
  }

  const writeFor = async (site: number, pages: Awaited<ReturnType<typeof findPages>>, now: number) => {
    const causes = await annotations.findCauses(
      site,
      pages.map(({ cause }) => cause),
    )
    const since = new Date(now - LOOK_BACK_MS)
    const [first, ...others] = await findRead(
      site,
      pages.filter(({ cause }) => !causes.has(cause)),
      since,
    )
    if (first === undefined) return
    const recent = (await annotations.list(site)).filter(
      ({ kind, happened_at }) => kind === 'blank_page' && now - happened_at.getTime() < DAY_MS,
    )
    const toNote = ({ cause, first_seen: at }: typeof first): AutomaticNote => ({ site, cause, kind: 'blank_page', at })
    const { hostname, pathname, problem } = first
    const more = others.length === 0 ? '' : `, like ${others.length} more`
    const text = `Blank to machines: ${pathname.slice(0, 200)} ${PROBLEMS[problem]}${more}`
    const note = { ...toNote(first), text, data: { hostname, pathname } }
    await annotations.addAutomatic([recent.length < MAX_NOTES_PER_DAY ? note : toNote(first), ...others.map(toNote)])
  }

  return {
    /** Looks at the pages of these sites from time to time. Rejects if the store or the records cannot be read. */
    async write(ids: ReadonlySet<number>, now: number): Promise<void> {
      // Does not wait for a clock that was set back.
      if (Math.abs(now - lookedAt) < LOOK_INTERVAL_MS) return
      const pages = await findPages(new Date(now - LOOK_BACK_MS))
      for (const id of ids) {
        const own = pages.filter(({ site_id }) => site_id === id)
        if (own.length > 0) await writeFor(id, own, now)
      }
      lookedAt = now
    },
  }
}

const causeOf = ({ hostname, pathname, first_seen }: z.infer<typeof BlankPage>) =>
  `blank_page:${hostname}${pathname}:${first_seen.toISOString()}`
