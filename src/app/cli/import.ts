import { once } from 'node:events'
import { createWriteStream, existsSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { formatNumber } from '../../analytics/export/format.js'
import { parseDay, parseTimeZone, startOfDay } from '../../analytics/query/calendar.js'
import { followLog } from '../../history/access-logs/follow.js'
import { LOG_FORMATS } from '../../history/access-logs/formats.js'
import { followBatches, latestTime, type ReadCounts, readBatches } from '../../history/log-import/read-batches.js'
import type { ManagedSite } from '../../manage/sites.js'
import { hasNoRequest, ImportCounts, type ImportOptions } from '../../worker-client/log-batch.js'
import { hostname } from '../config-values.js'
import { type Client, isRunning, withClient } from './client.js'
import {
  type CommandCall,
  defineCommand,
  flag,
  INSTANCE_FLAGS,
  idOf,
  JSON_FLAG,
  printJson,
  queryString,
  repeatFlags,
} from './command.js'
import { escapeText } from './escape.js'
import { DATA_PATHS_FLAG, openLogFiles, readFormat, readRobots } from './log-files.js'
import { createLogProgress } from './progress.js'
import { chooseSite } from './sites.js'
import { Failure } from './terminal.js'

const text = z.string().min(1, 'must not be empty')
const ImportFlags = z.object({
  site: flag('--site <id>', 'site of the logs; needed where there are several', idOf('a site').optional()),
  host: flag('--host <name>', "hostname of lines without one (default: the site's first)", hostname.optional()),
  format: flag(
    '--format <format>',
    `auto (default), ${LOG_FORMATS.map(({ name }) => name).join(', ')}, or a format as nginx, Apache or GoAccess write it`,
    text.optional(),
  ),
  tz: flag(
    '--tz <zone>',
    'time zone of logs without one (default UTC)',
    z
      .string()
      .refine((zone) => parseTimeZone(zone) !== undefined, 'must be a time zone such as Europe/Berlin')
      .default('UTC'),
  ),
  robots: flag('--robots <file or url>', 'judge agents by this robots.txt; with --since', text.optional()),
  since: flag(
    '--since <date>',
    "first day on which that robots.txt was served, such as 2026-01-31, in the site's time zone",
    z.iso.date('must be a date such as 2026-01-31').optional(),
  ),
  verifyNow: flag(
    '--verify-now',
    'verify agents by the addresses that operators publish at present, and by reverse DNS',
    z.boolean().default(false),
  ),
  dataPaths: DATA_PATHS_FLAG,
  errors: flag('--errors <file>', 'write the lines that are not of the format to this file', text.optional()),
  follow: flag('--follow', 'go on with what is appended to the log, until Ctrl-C', z.boolean().default(false)),
  dryRun: flag('--dry-run', 'store nothing, and show what would be stored', z.boolean().default(false)),
  json: JSON_FLAG,
  ...INSTANCE_FLAGS,
})
type ImportFlags = z.output<typeof ImportFlags>
type Call = CommandCall<ImportFlags>

export const importLogs = defineCommand({
  name: 'import',
  summary: 'store the people and agents of access logs; the same lines again add nothing',
  examples: [
    { line: 'import access.log --host www.example.com', doc: 'store a log as the history of a site' },
    { line: 'import access.log --dry-run', doc: 'count new rows, and store nothing' },
  ],
  arguments: [{ syntax: '<files...>', doc: 'access logs, also .gz and .zst, in any order; - for standard input' }],
  settings: ['geoip'],
  flags: ImportFlags,
  async run(call) {
    const { args, flags, config, terminal } = call
    if ((flags.robots === undefined) !== (flags.since === undefined))
      throw new Failure('--robots and --since belong together: a robots.txt, and since when it was served.', 2)
    if (flags.follow && (args.length > 1 || args[0] === '-' || flags.dryRun))
      throw new Failure('--follow needs one log, and no --dry-run.', 2)
    const robots = flags.robots === undefined ? undefined : await readRobots(flags.robots, terminal.version)
    const isNew = await requireData(config, flags)
    const opened = await openFiles(call)
    const errors = flags.errors === undefined ? undefined : await openErrors(flags.errors)
    // An import asks no origin: only the operators' lists, to verify.
    const settings = {
      ...config,
      role: 'both' as const,
      offline: !flags.verifyNow,
      ...(isNew && { domain: [flags.host ?? ''] }),
    }
    await withClient(
      { config: settings, terminal },
      async (client) => {
        const site = await chooseSite(client, flags.site)
        const since = parseDay(flags.since ?? '')
        const options: ImportOptions = {
          dry_run: flags.dryRun,
          verify_now: flags.verifyNow,
          host: flags.host ?? hostOf(site),
          robots: robots && since ? { body: robots.body, since: startOfDay(since, site.timezone).getTime() } : null,
        }
        // The size of a log that is followed grows.
        const total = flags.follow ? undefined : opened.total
        const result = await sendLines(client, call, { ...opened, total, errors, site: site.id, options })
        report(call, result)
        await closeErrors(errors)
        if (result.isCut) throw new Failure(CUT_SHORT)
        if (result.hasNoRequest) throw new Failure(NO_REQUEST)
      },
      { create: isNew },
    )
  },
})

/**
 * Returns whether the data directory has no data yet: then the import begins it, with the site of the hostname. Throws
 * `Failure` if that is not possible.
 */
async function requireData({ data, control }: Call['config'], { host, dryRun }: ImportFlags): Promise<boolean> {
  // The records on a server have their sites.
  if (control !== undefined) return false
  if (existsSync(join(data, 'control.duckdb')) || existsSync(join(data, 'spool')) || (await isRunning(data)))
    return false
  if (dryRun) throw new Failure(`No data in ${data} to compare with: see \`readership report\` for what is in a log.`)
  if (host !== undefined) return true
  throw new Failure(
    `No data in ${data} yet: name the hostname of the site with --host to begin with this import, or the directory with --data.`,
  )
}

type OpenedFiles = Awaited<ReturnType<typeof openFiles>>

async function openFiles({ args, flags, terminal }: Call) {
  const format =
    flags.format === undefined || flags.format === 'auto' ? undefined : readFormat(flags.format, '--format')
  const opened = await openLogFiles(args, { format, flag: '--format', tz: flags.tz, stdin: terminal.inputBytes?.() })
  for (const { log } of opened.logs)
    if (log.lacksUserAgents)
      throw new Failure(
        `${log.path}: has no user agents, so that people and agents cannot be told apart; nothing was stored. Have the server log them (combined), or count the requests with readership report.`,
      )
  for (const { read } of opened.logs)
    if (!flags.json) terminal.err(`${escapeText(read.name)}: ${read.format}, ${read.because}\n`)
  return opened
}

function hostOf({ id, domains: [host] }: Pick<ManagedSite, 'id' | 'domains'>): string {
  if (host !== undefined) return host
  throw new Failure(`Site ${id} lists no hostname: name that of the logs with --host.`, 2)
}

interface Result {
  read: ReadCounts
  counts: ImportCounts
  /** Absent for a trial. */
  id: number | undefined
  seconds: number
  /** Whether a log ends early, or none of the lines is of its format. */
  isCut: boolean
  hasNoRequest: boolean
}

/** Sends all lines, and ends the import on the way out, whatever happens. */
async function sendLines(
  client: Client,
  { flags, terminal }: Call,
  {
    logs,
    total,
    errors,
    site,
    options,
  }: OpenedFiles & {
    errors: WriteStream | undefined
    site: number
    options: ImportOptions
  },
): Promise<Result> {
  const began = performance.now()
  const begin = {
    site,
    options,
    total: total ?? null,
    source: logs.map(({ read }) => escapeText(read.name)).join(', '),
    format: [...new Set(logs.map(({ read }) => read.format))].join(', '),
  }
  const { id } = await client.read(z.object({ id: z.int() }), 'POST', '/control/imports', begin)
  const path = `/control/imports/${id}`
  const progress = createLogProgress(terminal, total, () => performance.now())
  let counts = NO_COUNTS
  const faults: string[] = []
  let read: ReadCounts = { lines: 0, broken: 0, not_pages: 0, data_lines: 0, bytes: 0 }
  /** The part of it that is stored. */
  let stored: Readonly<ReadCounts> = read
  const stop = new AbortController()
  terminal.onSignal('SIGINT', () => stop.abort())
  terminal.onSignal('SIGTERM', () => stop.abort())
  const deps = {
    catalog: loadCatalog(),
    isData: flags.dataPaths,
    latest: latestTime(Date.now()),
    async send(batch: unknown, sent: Readonly<ReadCounts>) {
      if (stop.signal.aborted && !flags.follow) throw new Failure(STOPPED)
      counts = await client.read(ImportCounts, 'POST', `${path}/lines${queryString({ ...sent })}`, batch)
      stored = sent
    },
    onFault: (file: string, fault: string) => faults.push(`${escapeText(file)}: ${fault}`),
    onBroken: (line: string) => void errors?.write(`${line}\n`),
    async onRead(now: Readonly<ReadCounts>) {
      read = now
      progress.show(now.bytes, now.lines)
      if (errors) await whenWritten(errors)
    },
  }
  let state = 'failed'
  let isRead = false
  try {
    const [first] = logs
    if (flags.follow && first) await followBatches(first, followLog(first.log.path, { signal: stop.signal }), deps)
    else await readBatches(logs, deps)
    isRead = true
    state = faults.length > 0 || hasNoRequest(read, counts) ? 'failed' : 'done'
  } finally {
    // After an error the following would look at a silent log for ever.
    stop.abort()
    progress.clear()
    for (const fault of faults) terminal.err(`${fault}\n`)
    const end = `${path}/end${queryString({ ...(isRead ? read : stored), state })}`
    counts = await client.read(ImportCounts, 'POST', end).catch((error: unknown) => {
      if (isRead) throw error
      return counts
    })
  }
  return {
    read,
    counts,
    id: id > 0 ? id : undefined,
    seconds: (performance.now() - began) / 1000,
    isCut: faults.length > 0,
    hasNoRequest: hasNoRequest(read, counts),
  }
}
const NO_COUNTS: ImportCounts = { human: 0, agent: 0, known: 0, other_hosts: 0, dropped: 0, own_salts: false }
const CUT_SHORT = 'Not all lines were read. Import the whole file: lines that are stored already are left out.'
const NO_REQUEST = 'No line is of its format: name another one with --format.'
const STOPPED = 'Stopped. The same command again adds the rest.'

async function openErrors(file: string): Promise<WriteStream> {
  const stream = createWriteStream(file)
  // Later errors are in `errored`, which the next wait throws.
  stream.on('error', () => {})
  await once(stream, 'open').catch((error: unknown) => failErrors(stream, error))
  return stream
}

/** Waits while more lines are in memory than the file has taken. */
async function whenWritten(stream: WriteStream): Promise<void> {
  if (stream.writableNeedDrain) await once(stream, 'drain').catch(() => {})
  if (stream.errored) failErrors(stream, stream.errored)
}

async function closeErrors(stream: WriteStream | undefined): Promise<void> {
  stream?.end()
  if (stream) await finished(stream).catch((error: unknown) => failErrors(stream, error))
}

function failErrors({ path }: WriteStream, error: unknown): never {
  throw new Failure(`--errors: ${path} cannot be written: ${error instanceof Error ? error.message : error}.`)
}

/** Prints what became of the lines. */
function report({ flags, terminal }: Call, { read, counts, id, seconds }: Result): void {
  const { own_salts, ...others } = counts
  const { site, data, config } = flags
  if (flags.json) {
    printJson(terminal, { id: id ?? null, ...read, ...others, own_salts, seconds })
    return
  }
  const skipped = [
    [read.not_pages - read.data_lines + counts.dropped, 'of people for anything but pages'],
    [read.data_lines, 'of people below paths of data, such as /api/ (see --data-paths)'],
    [counts.known, 'that were stored before'],
    [counts.other_hosts, 'of other hostnames'],
    [read.broken, `broken${flags.errors === undefined && read.broken > 0 ? ' (keep them with --errors FILE)' : ''}`],
  ] as const
  const rate = formatNumber(Math.round(read.lines / Math.max(seconds, 0.001)))
  terminal.out(
    [
      `${flags.dryRun ? 'Would store' : 'Stored'} ${formatNumber(counts.human)} pageviews of people and ${formatNumber(counts.agent)} requests of agents.`,
      `Read ${formatNumber(read.lines)} lines in ${seconds.toFixed(1)} s (${rate} a second); not stored:`,
      ...skipped.map(([count, what]) => `  ${formatNumber(count).padStart(12)} ${what}`),
      ...(own_salts ? [OWN_SALTS] : []),
      ...(id === undefined || counts.human + counts.agent === 0
        ? []
        : [`To undo it: readership imports delete ${id}${repeatFlags({ site, data, config })}`]),
      '',
    ].join('\n'),
  )
}
const OWN_SALTS =
  'Visitors of ended salt periods got ids that recorded visitors do not have: who came before and after counts twice.'
