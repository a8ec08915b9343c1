import type { Options } from 'minisearch'

/** A section of a page, as the search index keeps it. */
export interface Section {
  readonly id: number
  readonly page: string
  readonly title: string
  /** The address from any page of the site. */
  readonly href: string
  readonly text: string
  /** The first words of the text. */
  readonly start: string
}

/** Words that are in most sections. */
const STOP_WORDS = new Set(
  'a an and are as at be by for from has have if in is it its not of on or that the then they this to with'.split(' '),
)

/** The options of the index, which are the same where it is made and where it is searched. */
export const INDEX_OPTIONS: Options<Section> = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title', 'href', 'start'],
  processTerm: (term) => {
    const word = term.toLowerCase()
    return STOP_WORDS.has(word) ? null : word
  },
  searchOptions: {
    boost: { title: 4, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    combineWith: 'AND',
  },
}
