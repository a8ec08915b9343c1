import type { Tool } from './formats.js'

/** One file as it was read. */
export interface ReadFile {
  readonly name: string
  readonly tool: Tool
  readonly title: string
  /** The columns by which the format was recognised. */
  readonly because: string
  rows: number
  /** Rows that could not be read. */
  broken: number
  /** Rows that the tool does not count as visits: events, robots. */
  skipped: number
}

/** Begins the account of a file of which no row is read. */
export const startFile = (
  { name }: { readonly name: string },
  { tool, title }: Pick<ReadFile, 'tool' | 'title'>,
  because: string,
): ReadFile => ({ name, tool, title, because, rows: 0, broken: 0, skipped: 0 })
