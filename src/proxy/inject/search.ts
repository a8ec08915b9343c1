/** Where a search stands. `flow`: so much of the text is certainly before the place, and need not wait. */
export interface Step {
  found: 'not yet' | 'here' | 'never'
  flow: number
}

/** The search for the place of our tag in a document that comes in parts: right before the end of its head. */
export interface Search {
  /** `text` is what the last step did not let flow, and what has come since, as latin1; `last`: nothing follows. */
  read(text: string, last: boolean): Step
}

/** What the tags of a head say about having ours among them. */
export interface HeadReader {
  /** Looks at one start tag; false where the page is to stay as it is. */
  allowsTag(name: string, attributes: ReadonlyMap<string, string>): boolean
}

/** Bytes of one tag: until it ends it is kept, and a longer one is the end of looking. */
export const MAX_TAG_BYTES = 16 * 1024

export const notYet = (flow: number): Step => ({ found: 'not yet', flow })
export const NOT_FOUND: Step = { found: 'never', flow: 0 }
export const foundAt = (flow: number): Step => ({ found: 'here', flow })
