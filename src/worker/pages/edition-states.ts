import type { PageEdition, PageEditionKey } from '../../storage/page-samples.js'
import { findNotice } from './page-notice.js'
import type { PageText } from './page-text.js'

const MAX_EDITIONS_PER_PAGE = 10
/** After so many samples in a row, each with another text, the page is one that varies; after as many equal ones it is not. */
const VARIES_AFTER = 4

/** A page in memory: its present edition, and when the editions before were first seen. */
export interface PageState {
  readonly present: PageEdition
  readonly older: readonly Date[]
}

/** The state of a page after a sample, and the changes of its rows. */
interface NextState {
  state: PageState
  put: PageEdition[]
  remove: PageEditionKey[]
}

/** The keys of all editions of a page. */
export const editionKeys = ({ present, older }: PageState): PageEditionKey[] =>
  [...older, present.first_seen].map((first_seen) => ({ ...present, first_seen }))

/** Returns the state of a page after its first sample. */
export function startPage(page: Pick<PageEdition, 'site_id' | 'hostname' | 'pathname'>, text: PageText, at: Date) {
  const present = firstEdition(page, text, at)
  return { state: { present, older: [] }, put: [present], remove: [] }
}

/** Returns the state of a page after a sample, in which it has a text; undefined: the validator is the same. */
export function nextState(state: PageState, text: PageText | undefined, at: Date): NextState {
  const isEqual = text === undefined || text.digest === state.present.digest
  if (state.present.varies) return isEqual ? steadyPage(state, at) : variedPage(state.present, text, at)
  if (!isEqual) return changedPage(state, text, at)
  const present = { ...state.present, last_seen: at, samples: state.present.samples + 1, differing: 0 }
  return { state: { ...state, present }, put: [present], remove: [] }
}

/** A page that varies has had the same text twice. */
function steadyPage(state: PageState, at: Date): NextState {
  const differing = state.present.differing - 1
  if (differing === 0) return { ...startPage(state.present, state.present, at), remove: editionKeys(state) }
  const present = { ...state.present, last_seen: at, samples: state.present.samples + 1, differing }
  return { state: { present, older: [] }, put: [present], remove: [] }
}

/** A page that varies has another text again. */
function variedPage(before: PageEdition, text: PageText, at: Date): NextState {
  const { first_seen, living_seen, living_text_length, living_headings, living_links, living_line } = before
  // Browsers describe a page less often than it varies.
  const living = { living_seen, living_text_length, living_headings, living_links, living_line }
  const differing = Math.min(before.differing + 1, VARIES_AFTER)
  const counts = { last_seen: at, samples: before.samples + 1, differing, varies: true }
  const present = { ...firstEdition(before, text, first_seen), ...living, ...counts }
  return { state: { present, older: [] }, put: [present], remove: [] }
}

/** A page has another text than before: it has a new edition, unless it had another one each time. */
function changedPage(state: PageState, text: PageText, at: Date): NextState {
  const { present: before, older } = state
  const differing = before.differing + 1
  if (differing === VARIES_AFTER) {
    const first = { ...before, first_seen: older[0] ?? before.first_seen }
    return { ...variedPage(first, text, at), remove: editionKeys(state) }
  }
  const present = { ...firstEdition(before, text, at), prior_seen: before.last_seen, differing }
  const all = [...older, before.first_seen]
  const kept = all.slice(-(MAX_EDITIONS_PER_PAGE - 1))
  const remove = all.slice(0, all.length - kept.length).map((first_seen) => ({ ...before, first_seen }))
  return { state: { present, older: kept }, put: [{ ...before, replaced_at: at }, present], remove }
}

const firstEdition = (
  { site_id, hostname, pathname }: Pick<PageEdition, 'site_id' | 'hostname' | 'pathname'>,
  { digest, text_length, headings, links, lang, canonical, title, first_line }: PageText,
  at: Date,
): PageEdition => ({
  ...{ site_id, hostname, pathname, first_seen: at, last_seen: at, prior_seen: null, replaced_at: null },
  ...{ samples: 1, differing: 0, varies: false },
  ...{ digest, text_length, headings, links, lang, canonical, title, first_line },
  notice: findNotice({ title, first_line, text_length }),
  ...{ living_seen: null, living_text_length: null, living_headings: null, living_links: null, living_line: null },
})
