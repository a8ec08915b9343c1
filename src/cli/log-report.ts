import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { compileLogFormat } from '../access-logs/custom-format.js'
import { detectFormat } from '../access-logs/detect.js'
import { LOG_FORMATS } from '../access-logs/formats.js'
import type { LogFormat, LogParser } from '../access-logs/log-format.js'
import { readInOrder } from '../access-logs/merge.js'
import { type LogFile, openLogs } from '../access-logs/read-lines.js'
import { loadCatalog } from '../agents/catalog.js'
import { UnusableSetting } from '../errors.js'
import { formatCell } from '../export/csv.js'
import type { LogReport, ReadFile } from '../log-report/report.js'
import { createTally, type Tally } from '../log-report/tally.js'
import { fetchPolicy } from '../policy/fetch-policy.js'
import { createPolicy } from '../policy/policy.js'
import { parseTimeZone } from '../query/calendar.js'
import { type CommandCall, defineCommand, flag, JSON_FLAG, printJson } from './command.js'
import { createLogProgress } from './log-progress.js'
import { DEFAULT_ROWS, formatLogReport } from './log-report-screen.js'
import { createSiteOutbound } from './site-outbound.js'
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
  limit: flag(
    '--limit <rows>',
    `rows of each list on the screen (default ${DEFAULT_ROWS.agents} agents, ${DEFAULT_ROWS.others} of the others)`,
    z
      .string()
      .regex(/^[1-9]\d*$/, 'must be a number from 1')
      .transform(Number)
      .optional(),
  ),
  html: flag(
    '--html <file>',
    'write the report as one page that needs no other file; - for standard output',
    file.optional(),
  ),
  csv: flag('--csv <file>', 'write the agents as CSV; - for standard output', file.optional()),
  json: JSON_FLAG,
})
type LogReportFlags = z.output<typeof LogReportFlags>

export const logReport = defineCommand({
  name: 'report',
  summary: 'show the people and agents in access logs; keeps nothing',
  arguments: [{ syntax: '<files...>', doc: 'access logs, also .gz and .zst, in any order; - for standard input' }],
  flags: LogReportFlags,
  async run(call) {
    const { flags, terminal } = call
    const format = flags.logFormat === undefined ? undefined : readFormat(flags.logFormat)
    const robots = flags.robots === undefined ? undefined : await readRobots(flags.robots, terminal.version)
    const tally = createTally({ catalog: loadCatalog(), robots, host: flags.host, tz: flags.tz })
    const report = tally.finish(await readFiles(call, tally, format))
    if (flags.html !== undefined) {
      const { formatHtml } = await import('../log-report/html.js')
      if (flags.html === '-') return terminal.out(formatHtml(report))
      await writeReport(flags.html, formatHtml(report))
    }
    if (flags.csv === '-') return terminal.out(formatCsv(report))
    if (flags.csv !== undefined) await writeReport(flags.csv, formatCsv(report))
    if (flags.json) return printJson(terminal, report)
    terminal.out(formatLogReport(terminal, report, flags.limit))
    for (const name of [flags.html, flags.csv]) if (name !== undefined) terminal.out(`Written: ${name}\n`)
  },
})

/** Reads all files into the tally; returns what was read as what. */
async function readFiles(
  { args, flags, terminal }: CommandCall<LogReportFlags>,
  tally: Tally,
  format: LogFormat | undefined,
): Promise<ReadFile[]> {
  const stdin = terminal.inputBytes?.()
  const logs = await openLogs(args, {
    zone: flags.tz,
    ...(stdin && { stdin }),
    ...(format && { format }),
  })
  const sizes = logs.map(({ size }) => size)
  const total = sizes.includes(undefined) ? undefined : sum(sizes.map((size = 0) => size))
  const progress = createLogProgress(terminal, total, () => performance.now())
  let lines = 0
  // All formats first: a file without one should not be found after minutes of reading the others.
  const opened = logs.map((log) => ({ log, bytes: 0, ...startFile(log, format, flags.tz) }))
  await readInOrder(opened, {
    chunk(file, chunk) {
      file.bytes = chunk.bytesRead
      file.read.lines += chunk.lines.length
      lines += chunk.lines.length
      if (chunk.fault !== undefined) file.read.faults.push(chunk.fault)
      progress.show(sum(opened.map(({ bytes }) => bytes)), lines)
    },
    line({ read }, result) {
      if (result === undefined) read.broken++
      tally.add(result)
    },
  })
  progress.clear()
  for (const { read } of opened) for (const fault of read.faults) terminal.err(`${read.name}: ${fault}\n`)
  return opened.map(({ read: { faults: _, ...read } }) => read)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0)

/** Throws `Failure` (wrong usage) if it is no format. */
function readFormat(text: string): LogFormat {
  try {
    return compileLogFormat(text)
  } catch (error) {
    if (!(error instanceof UnusableSetting)) throw error
    throw new Failure(`--log-format: ${error.message.replace(/^log format: /, '')}`, 2)
  }
}

/** Chooses a file's format. Throws `Failure` if none fits. */
function startFile(log: LogFile, format: LogFormat | undefined, tz: string) {
  const found: { format: LogFormat; because: string } | undefined =
    format === undefined ? detectFormat(log.head) : { format, because: 'named with --log-format' }
  if (found === undefined && !log.head.every(isNoRequest))
    throw new Failure(`${log.path}: no format fits half of its first lines; name one with --log-format.`)
  const parse: LogParser =
    found?.format.createParser({ zone: tz }) ?? ((line) => (isNoRequest(line) ? 'skip' : undefined))
  const read = {
    name: log.path,
    format: found?.format.title ?? 'empty',
    because: found?.because ?? '',
    lines: 0,
    broken: 0,
  }
  return { read: { ...read, faults: [] as string[] }, parse }
}

/** A log that was rotated before its first request has headers at most: it is empty, not of an unknown format. */
const isNoRequest = (line: string): boolean => line.trim() === '' || line.startsWith('#')

/** Reads the robots.txt from a file or a site. Throws `Failure` if it cannot be read. */
async function readRobots(source: string, version: string) {
  if (!/^https?:\/\//i.test(source)) {
    const body = await readFile(source).catch((error: Error) => {
      throw new UnusableSetting(`--robots: ${source} cannot be read: ${error.message}`)
    })
    return { source, policy: createPolicy({ hostname: '', robots: { status: 200, body } }) }
  }
  if (!URL.canParse(source)) throw new Failure(`--robots: ${source} is not a URL.`, 2)
  const url = new URL(source)
  if (url.pathname === '/') url.pathname = '/robots.txt'
  const { hostname, href } = url
  const outbound = await createSiteOutbound(url, version)
  const found = await fetchPolicy(outbound, { hostname, kind: 'robots', at: Date.now(), url: href })
  if (found === undefined || found.status === 0 || found.status >= 500)
    throw new Failure(`--robots: ${href} cannot be read: ${found?.reason ?? 'no response'}.`)
  return { source: href, policy: createPolicy({ hostname, robots: { status: found.status, body: found.body ?? '' } }) }
}

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
