import type { PageEdition } from '../src/storage/page-samples.js'
import { nextState, type PageState, startPage } from '../src/worker/pages/edition-states.js'
import { readPageText } from '../src/worker/pages/page-text.js'
import { changesOf } from './past-events.js'
import { LIVING_PAGES } from './script-hits.js'

/** Time between two samples of a page, at least. */
const SAMPLE_INTERVAL_MS = 600_000

interface PastSamples {
  /** The site itself, which is asked for its pages. */
  origin: string
  hostname: string
  pages: readonly string[]
  /** Beginning and end of the history, in milliseconds since 1970. */
  since: number
  until: number
}

/** Makes the editions of pages of site 1 that a proxy would have found in the demo's past: most pages did not change. */
export async function createPastEditions({
  origin,
  hostname,
  pages,
  since,
  until,
}: PastSamples): Promise<PageEdition[]> {
  const editions: PageEdition[] = []
  for (const pathname of pages) {
    const text = readPageText(await (await fetch(origin + pathname)).text())
    const byStart = new Map<number, PageEdition>()
    let state: PageState = startPage({ site_id: 1, hostname, pathname }, text, new Date(since), false).state
    const sample = (digest: string, at: number) => {
      const next = nextState(state, { text: { ...text, digest }, at: new Date(at), isAgent: false })
      for (const edition of next.put) byStart.set(edition.first_seen.getTime(), edition)
      state = next.state
    }
    const changes = changesOf(until).filter(({ path, at }) => path === pathname && at > since)
    state = { ...state, present: { ...state.present, digest: changes.length > 0 ? 'before' : text.digest } }
    for (const [i, { at }] of changes.entries()) {
      sample(state.present.digest, at - SAMPLE_INTERVAL_MS)
      sample(i === changes.length - 1 ? text.digest : `change ${i}`, at)
    }
    sample(text.digest, until)
    const shown = LIVING_PAGES.get(pathname)
    editions.push(
      ...[...byStart.values()].map((edition) =>
        shown && edition.replaced_at === null ? { ...edition, ...livingColumns(shown, until) } : edition,
      ),
    )
  }
  return editions
}

const livingColumns = ([characters, links, headings, line]: readonly [number, number, number, string], at: number) => ({
  living_seen: new Date(at),
  living_text_length: characters,
  living_links: links,
  living_headings: headings,
  living_line: line,
})
