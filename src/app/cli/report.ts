import { z } from 'zod'
import { formatNumber, formatWarnings } from '../../analytics/export/format.js'
import { findReport, listParameters, type NamedReport, readTitle } from '../../analytics/export/report-names.js'
import type { Cell, Table } from '../../analytics/export/sheet.js'
import { createTables } from '../../analytics/export/sheet-tables.js'
import { METRICS } from '../../analytics/query/metrics.js'
import { bar, barWidth } from './charts.js'
import type { Client } from './client.js'
import { queryString } from './command.js'
import { escapeText } from './escape.js'
import { printOutput, writeOutputFile } from './output-file.js'
import { showElapsed } from './progress.js'
import { type Column, formatTable } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'
import { wrapIndented } from './text-width.js'

/** One report as the flags of `stats` ask for it. */
export interface ReportRequest {
  readonly report: string
  /** Parameters of the API. */
  readonly query: Readonly<Record<string, string | number | undefined>>
  readonly csv?: string | undefined
  readonly pdf?: string | undefined
}

/**
 * Throws `Failure` (wrong usage) if no report has this name, or if it does not take one of the flags. If it is `printed`
 * in the terminal, every report takes `limit`, because the terminal cuts the tables.
 */
export function checkReport(name: string, flags: Readonly<Record<string, unknown>>, printed: boolean): void {
  let takes: readonly string[]
  try {
    takes = [...listParameters(findReport(name)), ...(printed ? ['limit'] : [])]
  } catch (error) {
    throw new Failure(`--report: ${error instanceof Error ? error.message : String(error)}`, 2)
  }
  const unfit = Object.keys(flags).find((flag) => flags[flag] !== undefined && !takes.includes(flag))
  if (unfit === undefined) return
  const where = unfit === 'limit' ? ' in a file, as JSON or as SQL' : ''
  throw new Failure(`--${unfit} does not apply to the report ${name}${where}.`, 2)
}

/** Reports whether the API cuts the rows of a read; the terminal cuts those of others. */
const isList = ({ read }: Pick<NamedReport, 'read'>): boolean => 'limit' in read.query

/** Writes the report's files. For CSV, `-` is standard output. */
export async function saveReport(
  client: Client,
  terminal: Terminal,
  { report, query, csv, pdf }: ReportRequest,
): Promise<void> {
  for (const [ending, file] of [
    ['csv', csv],
    ['pdf', pdf],
  ] as const) {
    if (file === undefined) continue
    let bytes = 0
    const count = async function* () {
      for await (const part of client.file(`/api/stats/export.${ending}${queryString({ ...query, report })}`)) {
        bytes += part.length
        yield part
      }
    }
    const done = () => `${escapeText(file)}: ${formatNumber(bytes)} bytes`
    // A file that is printed on the terminal is its own progress.
    if (file === '-' && terminal.columns !== undefined) await printOutput(terminal, count())
    else if (file === '-') await showElapsed(terminal, done, printOutput(terminal, count()))
    else {
      await showElapsed(terminal, done, writeOutputFile(file, count()))
      terminal.err(`${done()}\n`)
    }
  }
}

const ReportResponse = z.looseObject({
  data: z.unknown(),
  meta: z.looseObject({
    rows: z.number(),
    total: z.number().optional(),
    comparison: z.unknown().optional(),
    query: z.looseObject({ tz: z.string(), audience: z.enum(['human', 'agent', 'all']) }),
    warnings: z
      .array(z.looseObject({ metric: z.string().optional(), code: z.string(), message: z.string() }))
      .optional(),
  }),
})

/** Returns a report's response as the API sends it. */
export async function fetchReport(client: Client, { report, query }: ReportRequest): Promise<unknown> {
  const named = findReport(report)
  const { read, words } = named
  const path = read.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(words[name] ?? ''))
  return client.call('GET', path + queryString(isList(named) ? query : { ...query, limit: undefined }))
}

/** Runs a report and returns its SQL statements, in the order in which they ran. */
export async function fetchReportSql(client: Client, { report, query }: ReportRequest): Promise<string[]> {
  const { read, words } = findReport(report)
  const path = `/control/sql${queryString({ ...query, ...words, read: read.path })}`
  return client.read(z.array(z.string()), 'GET', path)
}

/** Formats a report's response as tables, with bars beside the values that rank the rows. */
export function formatReport(terminal: Terminal, { report, query }: ReportRequest, response: unknown): string {
  const { data, meta } = ReportResponse.parse(response)
  const named = findReport(report)
  const { read } = named
  const metrics = new Set<string>(METRICS[meta.query.audience])
  const tables = createTables({
    title: readTitle(read),
    read,
    tz: meta.query.tz,
    compared: meta.comparison !== undefined,
    data,
    metrics,
    total: meta.total,
    limit: query.limit === undefined || isList(named) ? undefined : Number(query.limit),
  })
  const notes = formatWarnings(meta.warnings ?? []).map((note) =>
    style(terminal, 'dim', `! ${wrapIndented(escapeText(note), terminal.columns, 2)}`),
  )
  return `${[...tables.map((each) => formatReportTable(terminal, each)), ...notes].join('\n')}\n`
}

const cellText = (cell: Cell): string => (typeof cell === 'string' ? cell : `${cell.text}  ${cell.note}`)

function formatReportTable(terminal: Terminal, { title, remark, columns, rows, measured, figures }: Table): string {
  const head = `${style(terminal, 'bold', escapeText(title))}${remark ? ` ${style(terminal, 'dim', remark)}` : ''}\n`
  if (rows.length === 0) return `${head}No rows in this range.\n`
  if (figures) {
    const [row = []] = rows
    return (
      head +
      formatTable(
        terminal,
        ['', ''],
        columns.map((column, i) => [column.title, cellText(row[i] ?? '')]),
      )
    )
  }
  // Names come last, because the last column is cut in a narrow terminal.
  const place = (i: number) => (i === measured?.column ? 2 : Number(columns[i]?.right))
  const order = [...columns.keys()].toSorted((a, b) => place(b) - place(a))
  const width = measured ? barWidth(terminal.columns) : 0
  const values = measured?.values ?? []
  const max = values.reduce((a, b) => Math.max(a, b), 0)
  const insertSecond = <T>(cells: readonly T[], cell: T): T[] =>
    width > 0 ? [...cells.slice(0, 1), cell, ...cells.slice(1)] : [...cells]
  const titles = order.map((i) => ({
    title: (columns[i]?.title ?? '').toUpperCase(),
    right: columns[i]?.right === true,
  }))
  const lines = rows.map((row, n) =>
    insertSecond(
      order.map((i) => cellText(row[i] ?? '')),
      bar(values[n] ?? 0, max, width),
    ),
  )
  return head + formatTable(terminal, insertSecond<Column>(titles, { title: '' }), lines)
}
