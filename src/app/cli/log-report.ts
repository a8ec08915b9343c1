import { Readable } from 'node:stream'
import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { createPolicy } from '../../agents/policy/policy.js'
import { formatCell } from '../../analytics/export/csv.js'
import { parseTimeZone } from '../../analytics/query/calendar.js'
import { parseAddress } from '../../base/address.js'
import { LOG_FORMATS } from '../../history/access-logs/formats.js'
import { readInOrder } from '../../history/access-logs/merge.js'
import type { LogReport } from '../../history/log-report/report.js'
import { createTally, type Tally } from '../../history/log-report/tally.js'
import { openPlaceLookup } from '../../worker/ingest/place/place-lookup.js'
import { type CommandCall, defineCommand, flag, JSON_FLAG, printJson } from './command.js'
import { escapeJson, escapeText } from './escape.js'
import { createScreen, followReport } from './follow-report.js'
import { DATA_PATHS_FLAG, openLogFiles, readFormat, readRobots } from './log-files.js'
import { DEFAULT_ROWS, formatLogReport } from './log-report-screen.js'
import { fileOf, outputFlag, writeOutputFile } from './output-file.js'
import { createLogProgress } from './progress.js'
import { Failure, type Terminal } from './terminal.js'

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
  follow: flag(
    '--follow',
    'go on with what is appended to the newest log, until Ctrl-C: on the terminal, and in the files every second',
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
  examples: [
    { line: 'report access.log', doc: 'show people and agents of a log on the terminal' },
    { line: 'report access.log --robots robots.txt', doc: 'list fetches that robots.txt disallows' },
    { line: 'report access.log --output report.html', doc: 'write the same as a page' },
  ],
  arguments: [{ syntax: '<files...>', doc: 'access logs, also .gz and .zst, in any order; - for standard input' }],
  settings: ['geoip'],
  flags: LogReportFlags,
  async run(call) {
    const { args, flags, terminal } = call
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
    const { logs, total } = await openLogFiles(args, {
      format,
      flag: '--log-format',
      tz: flags.tz,
      stdin: terminal.inputBytes?.(),
    })
    const followed = flags.follow ? newestLog(call, logs) : undefined
    const files = logs.map((log) => ({ ...log, bytes: 0, hasRequest: false }))
    await readFiles(
      terminal,
      tally,
      files.filter(({ log }) => log.path !== followed),
      total,
    )
    const finish = () => tally.finish(files.map(({ read: { faults: _, ...read } }) => read))
    const last = files.find(({ log }) => log.path === followed)
    if (last) await followLast(call, tally, last, finish)
    await writeOutputs(call, finish(), followed === undefined)
    const problems = listProblems(files)
    if (problems.length > 0) throw new Failure(problems.join('\n'))
  },
})

type OpenedFile = Awaited<ReturnType<typeof openLogFiles>>['logs'][number] & { bytes: number; hasRequest: boolean }

/** Returns the path of the log that grows; throws `Failure` if nothing could be followed or shown. */
function newestLog(
  { flags, terminal }: CommandCall<LogReportFlags>,
  logs: readonly Pick<OpenedFile, 'log' | 'read'>[],
): string {
  if (flags.json || [flags.html, flags.csv].includes('-'))
    throw new Failure('--follow draws on the terminal and writes files, but prints no JSON, HTML or CSV.', 2)
  if (terminal.columns === undefined && [flags.output, flags.html, flags.csv].every((file) => file === undefined))
    throw new Failure('--follow: standard output is not a terminal, so it needs a file: --output FILE.', 2)
  const newest = logs.at(-1)
  const path = newest?.log.path ?? '-'
  if (newest?.read.format === 'empty')
    throw new Failure(
      `--follow: ${path} has no request yet, which would show its format: name it with --log-format.`,
      2,
    )
  if (path === '-' || /\.(?:gz|zst)$/i.test(path))
    throw new Failure(`--follow: ${path} is the newest log, and cannot grow: name the log that is written to.`, 2)
  return path
}

/** Adds the lines of the newest log, and shows the report again when there are more, until Ctrl-C. */
async function followLast(
  call: CommandCall<LogReportFlags>,
  tally: Tally,
  file: OpenedFile,
  finish: () => LogReport,
): Promise<void> {
  const { terminal, flags } = call
  const stop = new AbortController()
  terminal.onSignal('SIGINT', () => stop.abort())
  terminal.onSignal('SIGTERM', () => stop.abort())
  const screen = createScreen(terminal, `Ctrl-C ends it and prints everything. Follows ${escapeText(file.log.path)}`)
  try {
    await followReport({
      path: file.log.path,
      signal: stop.signal,
      add({ lines }) {
        file.read.lines += lines.length
        for (const line of lines) addLine(tally, file, file.parse(line))
      },
      async show() {
        const report = finish()
        await writeFiles(call, report)
        if (terminal.columns !== undefined) screen.draw(formatLogReport(terminal, report, flags.limit))
      },
    })
  } finally {
    screen.close()
  }
}

/** Writes the files that were asked for, and returns their names. */
async function writeFiles({ flags }: CommandCall<LogReportFlags>, report: LogReport): Promise<string[]> {
  const { html = fileOf('html', flags.output), csv = fileOf('csv', flags.output) } = flags
  const json = fileOf('json', flags.output)
  const reload_s = flags.follow ? PAGE_RELOAD_S : undefined
  const texts: [string | undefined, () => Promise<string>][] = [
    [html, async () => (await import('../../history/log-report/html.js')).formatHtml(report, reload_s)],
    [csv, async () => formatCsv(report)],
    [json, async () => `${escapeJson(report, 2)}\n`],
  ]
  const written: string[] = []
  for (const [name, format] of texts) {
    if (name === undefined) continue
    await writeOutputFile(name, Readable.from([Buffer.from(await format())]))
    written.push(name)
  }
  return written
}
/** A page that is written again asks for itself so often. */
const PAGE_RELOAD_S = 10

async function writeOutputs(call: CommandCall<LogReportFlags>, report: LogReport, mayPage: boolean): Promise<void> {
  const { flags, terminal } = call
  if (flags.html === '-') {
    const { formatHtml } = await import('../../history/log-report/html.js')
    return terminal.out(formatHtml(report))
  }
  if (flags.csv === '-') return terminal.out(formatCsv(report))
  const written = await writeFiles(call, report)
  if (flags.json) return printJson(terminal, report)
  const screen = formatLogReport(terminal, report, flags.limit)
  if (!mayPage || !(await terminal.page?.(screen))) terminal.out(screen)
  for (const name of written) terminal.out(`Written: ${name}\n`)
}

/** Reads whole logs into the tally. */
async function readFiles(
  terminal: Terminal,
  tally: Tally,
  files: readonly OpenedFile[],
  total: number | undefined,
): Promise<void> {
  const progress = createLogProgress(terminal, total, () => performance.now())
  let lines = 0
  await readInOrder(files, {
    chunk(file, chunk) {
      file.bytes = chunk.bytesRead
      file.read.lines += chunk.lines.length
      lines += chunk.lines.length
      if (chunk.fault !== undefined) file.read.faults.push(chunk.fault)
      progress.show(sum(files.map(({ bytes }) => bytes)), lines)
    },
    line: (file, result) => addLine(tally, file, result),
  })
  progress.clear()
}

function addLine(tally: Tally, file: OpenedFile, result: ReturnType<OpenedFile['parse']>): void {
  if (result === undefined) file.read.broken++
  else if (result !== 'skip') file.hasRequest = true
  tally.add(result, file.log.lacksUserAgents)
}

/** Returns what is wrong with the logs. */
function listProblems(files: readonly OpenedFile[]): string[] {
  const problems = files.flatMap(({ read: { name, faults } }) => faults.map((fault) => `${name}: ${fault}`))
  if (!files.some(({ hasRequest }) => hasRequest) && files.some(({ read }) => read.broken > 0))
    problems.push('No line is of its format: name another one with --log-format.')
  return problems
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0)

const CSV_COLUMNS = [
  ...(['agent_id', 'name', 'operator', 'purpose', 'requests', 'bytes', 'client_errors', 'server_errors'] as const),
  ...(['disallowed', 'first_seen', 'last_seen'] as const),
]

function formatCsv({ by_agent }: LogReport): string {
  const lines = [CSV_COLUMNS, ...by_agent.map((agent) => CSV_COLUMNS.map((column) => agent[column]))]
  return lines.map((cells) => `${cells.map(formatCell).join(',')}\r\n`).join('')
}
