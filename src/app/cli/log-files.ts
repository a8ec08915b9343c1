import { readFile } from 'node:fs/promises'
import { fetchPolicy } from '../../agents/policy/fetch-policy.js'
import { UnusableSetting } from '../../base/errors.js'
import { DataPathList } from '../../capture/path-pattern.js'
import { createDataPaths } from '../../capture/request-kind.js'
import { compileLogFormat } from '../../history/access-logs/custom-format.js'
import { detectFormat, explainUnknown } from '../../history/access-logs/detect.js'
import type { LogFormat, LogParser } from '../../history/access-logs/log-format.js'
import { type LogFile, openLogs } from '../../history/access-logs/read-lines.js'
import { flag } from './command.js'
import { createSiteOutbound } from './site-outbound.js'
import { Failure } from './terminal.js'

/** How a command names the flag of a format. */
type FormatFlag = '--format' | '--log-format'

/** The flag of both commands that read logs. */
export const DATA_PATHS_FLAG = flag(
  '--data-paths <patterns>',
  'paths of data, with commas between, or none: without a content type they are not pages (default: /api/**, /graphql, /wp-json/** and others)',
  DataPathList.transform(createDataPaths).optional(),
)

interface OpenedLogs {
  /** In the order of rotation. */
  logs: ReturnType<typeof startFile>[]
  /** Bytes on disk; undefined if one of them is standard input. */
  total: number | undefined
}

/** Opens access logs and chooses the format of each. Throws `Failure` or `UnusableSetting`, which name the file. */
export async function openLogFiles(
  paths: readonly string[],
  {
    format,
    flag,
    tz,
    stdin,
  }: { format: LogFormat | undefined; flag: FormatFlag; tz: string; stdin: AsyncIterable<Buffer> | undefined },
): Promise<OpenedLogs> {
  const logs = await openLogs(paths, { zone: tz, ...(stdin && { stdin }), ...(format && { format }) })
  const sizes = logs.map(({ size }) => size)
  const total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size = 0) => sum + size, 0)
  // All formats first: a file without one should not be found after minutes of reading the others.
  return { logs: logs.map((log) => startFile(log, { format, flag, tz })), total }
}

/** Throws `Failure` (wrong usage) if it is not a format. */
export function readFormat(text: string, flag: FormatFlag): LogFormat {
  try {
    return compileLogFormat(OTHER_NAMES[text] ?? text)
  } catch (error) {
    if (!(error instanceof UnusableSetting)) throw error
    throw new Failure(`${flag}: ${error.message.replace(/^log format: /, '')}`, 2)
  }
}

/** Names of the specification (`import --format`). */
const OTHER_NAMES: Readonly<Record<string, string>> = { nginx: 'combined', 'caddy-json': 'caddy' }

/** Chooses a file's format. Throws `Failure` if none fits. */
function startFile(
  log: LogFile,
  { format, flag, tz }: { format: LogFormat | undefined; flag: FormatFlag; tz: string },
) {
  const detected: { format: LogFormat; because: string } | undefined =
    format === undefined ? detectFormat(log.head) : { format, because: `named with ${flag}` }
  if (detected === undefined && !log.head.every(isNoRequest))
    throw new Failure(`${log.path}: ${explainUnknown(log.head)}, or name the format with ${flag}.`)
  const parse: LogParser =
    detected?.format.createParser({ zone: tz }) ?? ((line) => (isNoRequest(line) ? 'skip' : undefined))
  const read = {
    name: log.path,
    format: detected?.format.title ?? 'empty',
    because: detected?.because ?? '',
    lines: 0,
    broken: 0,
  }
  return { log, read: { ...read, faults: [] as string[] }, parse }
}

/** A log that was rotated before its first request has headers at most: it is empty, not of an unknown format. */
const isNoRequest = (line: string): boolean => line.trim() === '' || line.startsWith('#')

/** Reads a robots.txt from a file or a site. Throws `Failure` or `UnusableSetting` if it cannot be read. */
export async function readRobots(
  source: string,
  version: string,
): Promise<{ source: string; hostname: string; status: number; body: string }> {
  if (!/^https?:\/\//i.test(source)) {
    const body = await readFile(source, 'utf8').catch((error: Error) => {
      throw new UnusableSetting(`--robots: ${source} cannot be read: ${error.message}`)
    })
    return { source, hostname: '', status: 200, body }
  }
  if (!URL.canParse(source)) throw new Failure(`--robots: ${source} is not a URL.`, 2)
  const url = new URL(source)
  if (url.pathname === '/') url.pathname = '/robots.txt'
  const { hostname, href } = url
  const outbound = await createSiteOutbound(url, version)
  const found = await fetchPolicy(outbound, { hostname, kind: 'robots', at: Date.now(), url: href })
  if (found === undefined || found.status === 0 || found.status >= 500)
    throw new Failure(`--robots: ${href} cannot be read: ${found?.reason ?? 'no response'}.`)
  return { source: href, hostname, status: found.status, body: Buffer.from(found.body ?? '').toString() }
}
