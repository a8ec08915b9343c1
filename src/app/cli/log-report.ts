import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { createPolicy } from '../../agents/policy/policy.js'
import { formatCell } from '../../analytics/export/csv.js'
import { parseTimeZone } from '../../analytics/query/calendar.js'
import { parseAddress } from '../../base/address.js'
import { LOG_FORMATS } from '../../history/access-logs/formats.js'
import type { LogFormat } from '../../history/access-logs/log-format.js'
import { readInOrder } from '../../history/access-logs/merge.js'
import type { LogReport, ReadFile } from '../../history/log-report/report.js'
import { createTally, type Tally } from '../../history/log-report/tally.js'
import { openPlaceLookup } from '../../worker/ingest/place/place-lookup.js'
import { type CommandCall, defineCommand, flag, JSON_FLAG, printJson } from './command.js'
import { escapeJson } from './escape.js'
import { DATA_PATHS_FLAG, openLogFiles, readFormat, readRobots } from './log-files.js'
import { DEFAULT_ROWS, formatLogReport } from './log-report-screen.js'
import { fileOf, outputFlag } from './output-file.js'
import { createLogProgress } from './progress.js'
import { Failure } from './terminal.js'

const file = z.string().min(1, 'must be a file')
const LogReportFlags = z.object({
  robots: flag('--robots <file or url>', 'judge agents by this robots.txt, as it is now', z.string().min(1).optional()),
  logFormat: flag(
    '--log-format <format>',
    `format of the lines, instead of the detected one: ${LOG_FORMATS.map(({ name }) => name).join(', ')}, or a format as nginx, Apache or GoAccess write it`,
    z.string().min(1).optional(),
  ),
  host: flag('--host <name>', 'only requests of this hostname', z.string().min(1).toLowerCase().optional()),
  tz: flag(
    '--tz <zone>',
    'time zone of the time line, and of logs without one (default UTC)',
    z
      .string()
      .refine((zone) => parseTimeZone(zone) !== undefined, 'must be a time zone such as Europe/Berlin')
      .default('UTC'),
  ),
  dataPaths: DATA_PATHS_FLAG,
  addresses: flag(
    '--addresses',
    'also list the addresses with most requests, which identify people',
    z.boolean().default(false),
  ),
  limit: flag(
    '--limit <rows>',
    `rows of each list on the screen (default ${DEFAULT_ROWS.agents} agents, ${DEFAULT_ROWS.others} of the others)`,
    z
      .string()
      .regex(/^[1-9]\d*$/, 'must be a number from 1')
      .transform(Number)
      .optional(),
  ),
  output: outputFlag(
    ['html', 'csv', 'json'],
    'write into this file: one page that needs no other, the agents, or everything',
  ),
  html: flag('--html <file>', 'the same as HTML, whatever the ending; - for standard output', file.optional()),
  csv: flag('--csv <file>', 'the same as CSV, whatever the ending; - for standard output', file.optional()),
  json: JSON_FLAG,
})
type LogReportFlags = z.output<typeof LogReportFlags>

export const logReport = defineCommand({
  name: 'report',
  summary: 'show the people and agents in access logs; keeps nothing',
  arguments: [{ syntax: '<files...>', doc: 'access logs, also .gz and .zst, in any order; - for standard input' }],
  settings: ['geoip'],
  flags: LogReportFlags,
  async run(call) {
    const { flags, terminal } = call
    const format = flags.logFormat === undefined ? undefined : readFormat(flags.logFormat, '--log-format')
    const file = flags.robots === undefined ? undefined : await readRobots(flags.robots, terminal.version)
    const robots = file && { source: file.source, policy: createPolicy({ hostname: file.hostname, robots: file }) }
    const places = openPlaceLookup(call.config)
    const tally = createTally({
      // Without any geo data all countries would be unknown.
      ...(places.sources.length > 0 && {
        locate: (address: string) => places.locate(parseAddress(address)).country ?? undefined,
      }),
      addresses: flags.addresses,
      catalog: loadCatalog(),
      robots,
      host: flags.host,
      isData: flags.dataPaths,
      tz: flags.tz,
    })
    const { files, problems } = await readFiles(call, tally, format)
    const report = tally.finish(files)
    await writeOutputs(call, report)
    if (problems.length > 0) throw new Failure(problems.join('\n'))
  },
})

async function writeOutputs({ flags, terminal }: CommandCall<LogReportFlags>, report: LogReport): Promise<void> {
  const { html = fileOf('html', flags.output), csv = fileOf('csv', flags.output) } = flags
  const json = fileOf('json', flags.output)
  if (html !== undefined) {
    const { formatHtml } = await import('../../history/log-report/html.js')
    if (html === '-') return terminal.out(formatHtml(report))
    await writeReport(html, formatHtml(report))
  }
  if (csv === '-') return terminal.out(formatCsv(report))
  if (csv !== undefined) await writeReport(csv, formatCsv(report))
  if (json !== undefined) await writeReport(json, `${escapeJson(report, 2)}\n`)
  if (flags.json) return printJson(terminal, report)
  const screen = formatLogReport(terminal, report, flags.limit)
  if (!(await terminal.page?.(screen))) terminal.out(screen)
  for (const name of [html, csv, json]) if (name !== undefined) terminal.out(`Written: ${name}\n`)
}

/** Reads all files into the tally; returns what was read as what, and what is wrong with it. */
async function readFiles(
  { args, flags, terminal }: CommandCall<LogReportFlags>,
  tally: Tally,
  format: LogFormat | undefined,
): Promise<{ files: ReadFile[]; problems: string[] }> {
  const { logs, total } = await openLogFiles(args, {
    format,
    flag: '--log-format',
    tz: flags.tz,
    stdin: terminal.inputBytes?.(),
  })
  const progress = createLogProgress(terminal, total, () => performance.now())
  let lines = 0
  let hasRequest = false
  const opened = logs.map((log) => ({ ...log, bytes: 0 }))
  await readInOrder(opened, {
    chunk(file, chunk) {
      file.bytes = chunk.bytesRead
      file.read.lines += chunk.lines.length
      lines += chunk.lines.length
      if (chunk.fault !== undefined) file.read.faults.push(chunk.fault)
      progress.show(sum(opened.map(({ bytes }) => bytes)), lines)
    },
    line({ read, log }, result) {
      if (result === undefined) read.broken++
      else if (result !== 'skip') hasRequest = true
      tally.add(result, log.lacksUserAgents)
    },
  })
  progress.clear()
  const problems = opened.flatMap(({ read: { name, faults } }) => faults.map((fault) => `${name}: ${fault}`))
  if (!hasRequest && opened.some(({ read }) => read.broken > 0))
    problems.push('No line is of its format: name another one with --log-format.')
  return { files: opened.map(({ read: { faults: _, ...read } }) => read), problems }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0)

async function writeReport(name: string, text: string): Promise<void> {
  await writeFile(name, text).catch((error: Error) => {
    throw new Failure(`${name} was not written: ${error.message}.`)
  })
}

const CSV_COLUMNS = [
  ...(['agent_id', 'name', 'operator', 'purpose', 'requests', 'bytes', 'client_errors', 'server_errors'] as const),
  ...(['disallowed', 'first_seen', 'last_seen'] as const),
]

function formatCsv({ by_agent }: LogReport): string {
  const lines = [CSV_COLUMNS, ...by_agent.map((agent) => CSV_COLUMNS.map((column) => agent[column]))]
  return lines.map((cells) => `${cells.map(formatCell).join(',')}\r\n`).join('')
}
