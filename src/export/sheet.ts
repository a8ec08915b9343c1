/** What a printed report says, in words: all that the page is drawn from. */
export interface Sheet {
  readonly title: string
  readonly subtitle: string
  /** What it is about, line by line. */
  readonly facts: readonly (readonly [label: string, text: string])[]
  /** What its numbers are based on. */
  readonly notes: readonly string[]
  readonly charts: readonly Chart[]
  readonly tables: readonly Table[]
  /** Stands on every page. */
  readonly attribution: { readonly text: string; readonly link: string }
  readonly created: Date
}

export interface Chart {
  readonly title: string
  /** Of the buckets, in their order. */
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  /** The values of the axis, from 0 up, and how they are written. */
  readonly axis: readonly { readonly value: number; readonly text: string }[]
}
export interface Series {
  readonly name: string
  /** Undefined where there is nothing to say. */
  readonly values: readonly (number | undefined)[]
  /** Drawn behind, broken: what is compared with. */
  readonly before?: true
}

export interface Table {
  readonly title: string
  /** Beside the title. */
  readonly remark?: string
  readonly columns: readonly { readonly title: string; readonly right: boolean }[]
  readonly rows: readonly (readonly Cell[])[]
  /** The column that rows are ranked by, and what each row has there. */
  readonly measured?: { readonly column: number; readonly values: readonly number[] }
  /** One row, shown as figures with their names. */
  readonly figures?: boolean
}
/** A text, and the smaller one below it. */
export type Cell = string | { readonly text: string; readonly note: string }
