/** A printed report in words: everything that the page is drawn from. */
export interface Sheet {
  readonly title: string
  readonly subtitle: string
  /** Window, audience, filters, one per line. */
  readonly facts: readonly (readonly [label: string, text: string])[]
  /** Warnings about the numbers. */
  readonly notes: readonly string[]
  readonly charts: readonly Chart[]
  readonly flows: readonly Flow[]
  readonly grids: readonly Grid[]
  readonly tables: readonly Table[]
  /** Printed on every page. */
  readonly attribution: { readonly text: string; readonly link: string }
  readonly created: Date
}

export interface Chart {
  readonly title: string
  /** The labels of the buckets, in their order. */
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  /** The ticks of the axis, from 0 up. */
  readonly axis: readonly { readonly value: number; readonly text: string }[]
}
interface Series {
  readonly name: string
  /** Undefined in a bucket without a value. */
  readonly values: readonly (number | undefined)[]
  /** Set for the comparison, which is drawn dashed and below the others. */
  readonly before?: true
}

/** Sessions that go from step to step. */
export interface Flow {
  readonly title: string
  readonly nodes: readonly {
    readonly id: string
    /** From 1. */
    readonly step: number
    readonly name: string
    readonly sessions: number
    /** The sessions as they are printed. */
    readonly count: string
    /** False for pages that are not named, and for leaving. */
    readonly isPage: boolean
  }[]
  /** Each leads from one node's id to that of a node of the next step. */
  readonly links: readonly { readonly source: string; readonly target: string; readonly sessions: number }[]
}

/** Shares of rows that begin one after the other, by the number of periods since. */
export interface Grid {
  readonly title: string
  /** Printed below the title. */
  readonly remark?: string
  readonly columns: readonly string[]
  readonly rows: readonly {
    readonly name: string
    readonly count: string
    /** Undefined where nothing can be said. */
    readonly cells: readonly ({ readonly share: number; readonly text: string } | undefined)[]
  }[]
}

export interface Table {
  readonly title: string
  /** Printed beside the title. */
  readonly remark?: string
  readonly columns: readonly { readonly title: string; readonly right: boolean }[]
  readonly rows: readonly (readonly Cell[])[]
  /** The column that the rows are ranked by, and each row's value there. */
  readonly measured?: { readonly column: number; readonly values: readonly number[] }
  /** Set for a single row, drawn as figures with their names. */
  readonly figures?: boolean
}
/** A text, or a text with a smaller note below it. */
export type Cell = string | { readonly text: string; readonly note: string }
