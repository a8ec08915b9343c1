import type { PageEdition, PageEditionKey } from '../../storage/page-samples.js'
import { findNotice } from './page-notice.js'
import type { PageText } from './page-text.js'

const MAX_EDITIONS_PER_PAGE = 10
/** After so many samples in a row, each with another text, the page is one that varies; after as many equal ones it is not. */
const VARIES_AFTER = 4
/**
 * A page also varies if it has two texts at a time, as in a test of two versions: a change back to the text before counts
 * two, one to a new text takes one off, and four are too many. A text that was taken back once does not suffice.
 */
const [RETURN, NEW_TEXT, RETURNS_OF_VARYING] = [2, -1, 4]

type PageName = Pick<PageEdition, 'site_id' | 'hostname' | 'pathname'>

/** A page in memory. */
export interface PageState {
  readonly present: PageEdition
  /** The edition before; while agents alone got the present one, the last that people got. Undefined if memory has none. */
  readonly before: PageEdition | undefined
  /** When the editions before the present one were first seen. */
  readonly older: readonly Date[]
  /** The sum of these counts; undefined: 0. */
  readonly returns?: number | undefined
}

/** A sample of a page. */
interface PageSample {
  /** Undefined: the validator is that of the sample before for the same readers. */
  text: PageText | undefined
  at: Date
  /** An agent asked for it, not a person's browser. */
  isAgent: boolean
}

/** The state of a page after a sample, and the changes of its rows. */
interface NextState {
  state: PageState
  put: PageEdition[]
  remove: PageEditionKey[]
}

/** A page without another edition. */
const ALONE = { before: undefined, older: [] } as const

/** The state of a page with this edition as its present one, and its row. */
const withPresent = (
  present: PageEdition,
  rest?: Omit<PageState, 'present'>,
  remove: PageEditionKey[] = [],
): NextState => ({
  ...{ state: { ...ALONE, ...rest, present }, put: [present], remove },
})

const keysOf = (page: PageEdition, times: readonly Date[]) => times.map((first_seen) => ({ ...page, first_seen }))
/** The keys of all editions of a page. */
export const editionKeys = ({ present, older }: PageState): PageEditionKey[] =>
  keysOf(present, [...older, present.first_seen])

/** Returns the state of a page after its first sample. */
export const startPage = (page: PageName, text: PageText, at: Date, isAgent: boolean): NextState =>
  withPresent(firstEdition(page, text, at, isAgent))

/** Returns the state of a page after a further sample. */
export function nextState(state: PageState, { text, at, isAgent }: PageSample): NextState {
  const { present, before } = state
  const { served_to, agent_digest } = present
  const readers = isAgent ? 'agents' : 'people'
  const last = before !== undefined && served_to !== readers && served_to !== 'both' ? before : present
  const digest = text?.digest ?? (isAgent ? agent_digest : null) ?? last.digest
  const facts = text ?? last
  if (digest === present.digest) {
    if (present.varies) return steadyPage(state, at, isAgent)
    const counts = { last_seen: at, samples: present.samples + 1, differing: 0 }
    if (served_to === readers) return withPresent({ ...present, ...counts }, state)
    return withPresent({ ...present, ...counts, served_to: 'both', ...(isAgent && NO_AGENT_TEXT) }, state)
  }
  if (present.varies)
    return withPresent(variedEdition(present, facts, at, isAgent), { ...ALONE, returns: state.returns })
  if (isAgent && agent_digest !== null) {
    const { agent_seen, agent_samples, last_seen } = present
    // A page that changed for everybody has the new text in several samples for agents before a person's browser asks for it.
    const inTurn = agent_seen !== null && last_seen > agent_seen ? 1 : 0
    const same = { agent_seen: at, agent_samples: (agent_samples ?? 0) + inTurn }
    return withPresent({ ...present, ...(digest === agent_digest ? same : agentText(facts, at)) }, state)
  }
  if (before !== undefined && digest === before.digest) {
    if (isAgent && served_to === 'people') return splitPage(state, present, before, { at, isAgent })
    if (served_to === 'agents' && before.served_to !== 'agents')
      return splitPage(state, before, present, { at, isAgent })
  }
  return changedPage(state, facts, at, isAgent)
}

/** A page that varies has had the same text twice. */
function steadyPage(state: PageState, at: Date, isAgent: boolean): NextState {
  const { present, returns } = state
  const differing = present.differing - 1
  if (differing === 0)
    return withPresent(firstEdition(present, present, at, isAgent), { ...ALONE, returns }, editionKeys(state))
  return withPresent({ ...present, last_seen: at, samples: present.samples + 1, differing }, { ...ALONE, returns })
}

/** The one edition of a page that varies, with another text again. Browsers describe a page less often than it varies. */
const variedEdition = (before: PageEdition, text: PageText, at: Date, isAgent: boolean): PageEdition => ({
  ...{ ...before, ...freshText(text, before.first_seen, isAgent), ...NO_AGENT_TEXT },
  ...{ prior_seen: null, last_seen: at, samples: before.samples + 1, varies: true },
  differing: Math.min(before.differing + 1, VARIES_AFTER),
})

/** A page has another text than before: it has a new edition, unless it had another one each time. */
function changedPage(state: PageState, text: PageText, at: Date, isAgent: boolean): NextState {
  const { present, before, older } = state
  const differing = present.differing + 1
  const isReturn = before?.digest === text.digest
  const change = isReturn ? RETURN : before === undefined ? 0 : NEW_TEXT
  const returns = Math.max(0, (state.returns ?? 0) + change)
  if (differing === VARIES_AFTER || returns >= RETURNS_OF_VARYING) {
    const first = { ...present, first_seen: older[0] ?? present.first_seen, differing: VARIES_AFTER }
    return withPresent(variedEdition(first, text, at, isAgent), { ...ALONE, returns }, editionKeys(state))
  }
  const next: PageEdition = {
    ...{ ...present, ...freshText(text, at, isAgent), ...NO_LIVING_DOCUMENT },
    ...(text.digest === present.agent_digest && { ...NO_AGENT_TEXT, served_to: 'both' }),
    ...{ prior_seen: present.last_seen, differing },
  }
  const all = [...older, present.first_seen]
  const kept = all.slice(-(MAX_EDITIONS_PER_PAGE - 1))
  const rest = { before: editionBefore(state, next.served_to), older: kept, returns }
  const changed = withPresent(next, rest, keysOf(present, all.slice(0, all.length - kept.length)))
  return { ...changed, put: [{ ...present, replaced_at: at }, next] }
}

/** Returns the edition before one that is served to these readers, in which a state of a page ends. */
export const editionBefore = ({ present, before }: PageState, next: PageEdition['served_to']): PageEdition =>
  next === 'agents' && present.served_to === 'agents' && before && before.served_to !== 'agents' ? before : present

/** People and agents get two texts at the same time: the text of agents alone is not an edition of the page any more. */
function splitPage(
  { present, older }: PageState,
  people: PageEdition,
  agents: PageEdition,
  { at, isAgent }: Omit<PageSample, 'text'>,
): NextState {
  const isFirst = agents.served_to === 'agents' && agents.first_seen < people.first_seen
  const { first_seen, prior_seen } = isFirst ? agents : people
  const counts = isAgent ? {} : { last_seen: at, samples: people.samples + 1 }
  const other = agentText(agents, isAgent ? at : agents.last_seen)
  const merged = { ...people, first_seen, prior_seen, replaced_at: null, ...counts, differing: 0, ...other }
  const gone = [...older, present.first_seen].filter((time) => time > first_seen)
  const rest = { before: undefined, older: older.filter((time) => time < first_seen) }
  return withPresent({ ...merged, served_to: 'people' }, rest, keysOf(present, gone))
}

const agentText = ({ digest, text_length, headings, links, first_line }: PageText, at: Date) => ({
  ...{ agent_seen: at, agent_digest: digest, agent_samples: 1 },
  ...{ agent_text_length: text_length, agent_headings: headings, agent_links: links, agent_line: first_line },
})
const NO_AGENT_TEXT = {
  ...{ agent_seen: null, agent_digest: null, agent_samples: null },
  ...{ agent_text_length: null, agent_headings: null, agent_links: null, agent_line: null },
}
const NO_LIVING_DOCUMENT = {
  ...{ living_seen: null, living_text_length: null, living_headings: null, living_links: null, living_line: null },
}

const firstEdition = ({ site_id, hostname, pathname }: PageName, text: PageText, at: Date, isAgent: boolean) => ({
  ...{ site_id, hostname, pathname, prior_seen: null, differing: 0 },
  ...{ ...freshText(text, at, isAgent), ...NO_LIVING_DOCUMENT, ...NO_AGENT_TEXT },
})

/** The fields of an edition that begins with a sample. */
const freshText = (
  { digest, text_length, headings, links, lang, canonical, title, first_line }: PageText,
  at: Date,
  isAgent: boolean,
) => ({
  ...{ first_seen: at, last_seen: at, replaced_at: null, samples: 1, varies: false },
  served_to: isAgent ? ('agents' as const) : ('people' as const),
  ...{ digest, text_length, headings, links, lang, canonical, title, first_line },
  notice: findNotice({ title, first_line, text_length }),
})
