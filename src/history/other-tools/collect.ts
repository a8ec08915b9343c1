import type { HistoryDay } from '../../analytics/query/histories.js'
import { UnusableSetting } from '../../base/errors.js'
import { REPOSITORY_FILES } from '../../base/repository.js'
import { createDayFigures } from './day-figures.js'
import { openExports } from './files.js'
import { TOOL_NAMES, type Tool } from './formats.js'
import { readEventPaths } from './goatcounter.js'
import { type CollectedPages, createPageExports, type Period } from './page-exports.js'
import { readExport } from './read-export.js'
import type { ReadFile } from './read-file.js'

/** The days or pages of an export, and what was read. */
export interface CollectedHistory {
  readonly tool: string
  readonly days: readonly Omit<HistoryDay, 'tool'>[]
  readonly pages?: CollectedPages | undefined
  readonly files: readonly ReadFile[]
  /** Files that have neither totals of days nor counts of pages. */
  readonly unused: readonly string[]
}

/** Reads the files of one export of one tool. Throws `UnusableSetting` if they have neither a day nor a page. */
export async function collectHistory(
  paths: readonly string[],
  options: {
    readonly tz: string
    readonly tool?: Tool | undefined
    readonly website?: string | undefined
    readonly period?: Period | undefined
  },
): Promise<CollectedHistory> {
  const days = createDayFigures()
  const pageExports = createPageExports(options.tool, options.period)
  const files: ReadFile[] = []
  const unused: string[] = []
  const opened = await openExports(paths)
  const eventPaths = await readEventPaths(opened)
  for (const file of opened) {
    const read = (await readExport(file, { ...options, days, eventPaths })) ?? (await pageExports.read(file))
    if (read) files.push(read)
    else unused.push(file.name)
  }
  const tools = [...new Set(files.map(({ tool }) => tool))]
  const [tool] = tools
  if (tool === undefined)
    throw new UnusableSetting(
      `${unused.join(', ') || 'The archive'}: no file has the columns of an export with figures by day, or with pages of a search engine. They are listed at ${REPOSITORY_FILES}/src/history/other-tools/README.md`,
    )
  if (tools.length > 1)
    throw new UnusableSetting(
      `The files are exports of ${tools.map((one) => TOOL_NAMES[one]).join(' and ')}: add one tool at a time.`,
    )
  const pages = pageExports.finish()
  if (days.size === 0 && !pages) {
    const which = options.website === undefined ? '' : ` of website ${options.website}`
    throw new UnusableSetting(
      `${files.map(({ name }) => name).join(', ')}: no row${which} with a day or a page could be read.`,
    )
  }
  return { tool: TOOL_NAMES[tool], days: days.list(), pages, files, unused }
}
