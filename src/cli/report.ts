import { z } from 'zod'
import { findReport, readTitle } from '../export/report-names.js'
import type { Cell, Table } from '../export/sheet.js'
import { createTables } from '../export/sheet-tables.js'
import { METRICS } from '../query/metrics.js'
import { bar, barWidth } from './charts.js'
import type { Client } from './client.js'
import { escapeText } from './escape.js'
import { printOutput, writeOutputFile } from './output-file.js'
import { type Column, formatTable } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

/** What the flags of `stats` ask of one report. */
export interface ReportRequest {
  readonly report: string
  /** As the API takes them. */
  readonly query: Readonly<Record<string, string>>
  readonly csv?: string | undefined
  readonly pdf?: string | undefined
}

const pathWithQuery = (path: string, query: Readonly<Record<string, string>>) => `${path}?${new URLSearchParams(query)}`

/** Throws `Failure` (usage) for a name that is no report's. */
export function checkReport(name: string): void {
  try {
    findReport(name)
  } catch (error) {
    throw new Failure(`--report: ${error instanceof Error ? error.message : String(error)}`, 2)
  }
}

/** The report's files. `-` is the output, for CSV alone: a PDF is nothing to look at there. */
export async function saveReport(
  client: Client,
  terminal: Terminal,
  { report, query, csv, pdf }: ReportRequest,
): Promise<void> {
  const words = { ...query, report }
  for (const [ending, file] of [
    ['csv', csv],
    ['pdf', pdf],
  ] as const) {
    if (file === undefined) continue
    const parts = client.file(pathWithQuery(`/api/stats/export.${ending}`, words))
    if (file === '-') await printOutput(terminal, parts)
    else terminal.err(`${escapeText(file)}: ${(await writeOutputFile(file, parts)).toLocaleString('en-US')} bytes\n`)
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

/** A report's answer as the API gives it. */
export async function fetchReport(client: Client, { report, query }: ReportRequest): Promise<unknown> {
  const { read, words } = findReport(report)
  const path = read.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(words[name] ?? ''))
  return client.call('GET', pathWithQuery(path, query))
}

/** Runs a report and returns its SQL statements, in the order in which they ran. */
export async function fetchReportSql(client: Client, { report, query }: ReportRequest): Promise<string[]> {
  const { read, words } = findReport(report)
  const answer = await client.call('GET', pathWithQuery('/control/sql', { ...query, ...words, read: read.path }))
  return z.object({ data: z.array(z.string()) }).parse(answer).data
}

/** The same for a person: its tables, with a bar beside what they are ranked by. */
export function formatReport(terminal: Terminal, report: string, answer: unknown): string {
  const { data, meta } = ReportResponse.parse(answer)
  const { read } = findReport(report)
  const metrics = new Set<string>(METRICS[meta.query.audience])
  const tables = createTables({
    title: readTitle(read),
    read,
    tz: meta.query.tz,
    compared: meta.comparison !== undefined,
    data,
    metrics,
    total: meta.total,
  })
  const notes = (meta.warnings ?? []).map(({ message }) => style(terminal, 'dim', `! ${escapeText(message)}`))
  return `${[...tables.map((each) => formatReportTable(terminal, each)), ...notes].join('\n')}\n`
}

const cellText = (cell: Cell): string => (typeof cell === 'string' ? cell : `${cell.text}  ${cell.note}`)

function formatReportTable(terminal: Terminal, { title, remark, columns, rows, measured, figures }: Table): string {
  const head = `${style(terminal, 'bold', escapeText(title))}${remark ? ` ${style(terminal, 'dim', remark)}` : ''}\n`
  if (rows.length === 0) return `${head}Nothing in this window.\n`
  if (figures) {
    const [row = []] = rows
    return (
      head +
      formatTable(
        terminal,
        [{ title: '' }, { title: '' }],
        columns.map((column, i) => [column.title, cellText(row[i] ?? '')]),
      )
    )
  }
  // The names last: they are what gives way where the terminal ends.
  const place = (i: number) => (i === measured?.column ? 2 : Number(columns[i]?.right))
  const order = [...columns.keys()].toSorted((a, b) => place(b) - place(a))
  const width = measured ? barWidth(terminal.columns) : 0
  const values = measured?.values ?? []
  const most = values.reduce((a, b) => Math.max(a, b), 0)
  const barred = <T>(cells: readonly T[], own: T): T[] =>
    width > 0 ? [...cells.slice(0, 1), own, ...cells.slice(1)] : [...cells]
  const titles = order.map((i) => ({
    title: (columns[i]?.title ?? '').toUpperCase(),
    ...(columns[i]?.right ? RIGHT : {}),
  }))
  const lines = rows.map((row, n) =>
    barred(
      order.map((i) => cellText(row[i] ?? '')),
      bar(values[n] ?? 0, most, width),
    ),
  )
  return head + formatTable(terminal, barred<Column>(titles, { title: '' }), lines)
}

const RIGHT = { right: true } as const
