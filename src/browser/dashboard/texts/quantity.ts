/** Units of numbers of the API. Each has one word in each language, in `units.ts`; no other text names a unit after a number. */
export type Unit =
  | 'people'
  | 'visits'
  | 'pageviews'
  | 'reads'
  | 'fetches'
  | 'pages'
  | 'aiVisits'
  | 'agents'
  | 'events'
  | 'errors'

/** A number of the API with the word of its unit. */
export interface Quantity<U extends Unit = Unit> {
  readonly unit: U
  readonly n: number
  readonly text: string
  /** The text, or an element around it, such as a link. */
  readonly shown: unknown
}
