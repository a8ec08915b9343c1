import { formatDuration, formatNumber } from '../../analytics/export/format.js'
import { DISK_WARNING_SHARE, type InstanceStatus, MAX_BACKUP_AGE_S } from '../../api/instance-status.js'
import { formatBytes } from '../../base/format-bytes.js'
import { escapeText } from './escape.js'
import { isSetAside } from './set-aside.js'
import { style, type Terminal } from './terminal.js'
import { wrapWords } from './text-width.js'

const MARKS = { ok: ['green', '✓'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const
/** The state marks the line as good, as a finding, or as a fault. */
type Line = readonly [label: string, text: string, state?: keyof typeof MARKS | false]

const LABEL_COLUMNS = 12
/** The mark with its space, and the label. */
const INDENT = 2 + LABEL_COLUMNS
/** Lines of text are not longer on a wider terminal or in a pipe. */
const MAX_COLUMNS = 100

/** Reasons for which a row that should have been stored was lost; other hits and responses are left out by design. */
const LOSS_REASONS = new Set([
  'queue_full',
  'recorder_off',
  'fault',
  'spool_full',
  'memory_full',
  'damaged',
  'refused',
  'closed',
])
/** A robots.txt is fetched every ten minutes. */
const MAX_ROBOTS_AGE_S = 3_600
const RECENT_S = 86_400
/** More than this is not a batch on its way. */
const MANY_WAITING_ROWS = 5_000
const MAX_NAMED = 3

/** Formats the state of an instance as one screen; no line is wider than the terminal. */
export function formatStatus(terminal: Pick<Terminal, 'colour' | 'columns'>, status: InstanceStatus): string {
  const columns = Math.min(MAX_COLUMNS, terminal.columns ?? MAX_COLUMNS)
  const uptime = formatDuration(secondsBetween(status.started_at, status.now))
  const lines = [
    storeLine(status),
    ...fleetLines(status),
    ...setAsideLines(status),
    ...rowLines(status),
    ...ruleLines(status),
    ...requestLines(status),
    ...diskLines(status),
    ...backupLines(status),
    ...ageLines(status),
    ...historyLines(status),
  ]
  const head = `${style(terminal, 'bold', `readership ${escapeText(status.version)}`)}   up ${uptime}`
  return `${[head, ...siteOf(status, columns), '', ...lines.flatMap((line) => formatLine(terminal, line, columns))].join('\n')}\n`
}

const ruleLines = ({ rules, now }: InstanceStatus): Line[] =>
  rules?.trouble === undefined
    ? []
    : [
        [
          'Rules',
          `not confirmed for ${formatDuration(secondsBetween(rules.confirmed_at, now))}: ${rules.trouble}; the last ones decide`,
          'warn',
        ],
      ]

const siteOf = ({ origin, collector, data }: InstanceStatus, columns: number): string[] =>
  wrapWords(
    [origin && `proxies ${origin}`, collector && `ships to ${collector}`, `data ${data.directory}`]
      .flatMap((part) => (part ? [escapeText(part)] : []))
      .join(', '),
    columns,
  )

function formatLine(terminal: Pick<Terminal, 'colour'>, [label, text, state]: Line, columns: number): string[] {
  const [colour, sign] = state ? MARKS[state] : (['dim', ' '] as const)
  return wrapWords(escapeText(text), columns - INDENT).map((part, i) => {
    const shown = state === 'warn' || state === 'fail' ? style(terminal, colour, part) : part
    if (i > 0) return `${' '.repeat(INDENT)}${shown}`
    const mark = state ? style(terminal, colour, sign) : sign
    return `${mark} ${style(terminal, 'dim', label.padEnd(LABEL_COLUMNS))}${shown}`
  })
}

function storeLine({ store, collector, fleet }: InstanceStatus): Line {
  const restarts = store.restarts ? `; its worker was started again ${times(store.restarts)}` : ''
  if (store.state !== 'ready')
    return ['State', `${store.state}: ${store.reason ?? 'no reason given'}${restarts}`, 'fail']
  if (store.trouble !== undefined)
    return ['State', `rows wait on disk: the collector accepts none (${store.trouble})`, 'fail']
  const [loss] = store.losses ?? []
  if (loss !== undefined) return ['State', `stores rows, but lost data at its start: ${loss}`, 'warn']
  const does = collector !== undefined ? 'ships rows' : fleet?.role === 'reader' ? 'answers reads' : 'stores rows'
  return ['State', `${does}${restarts}`, restarts === '' ? 'ok' : 'warn']
}

function fleetLines({ fleet, engines }: InstanceStatus): Line[] {
  const sized = (engine: string, bytes: number | undefined) =>
    bytes === undefined ? engine : `${engine} (${formatBytes(bytes)})`
  const lines: Line[] = fleet ? [roleLine(fleet)] : []
  if (!engines) return lines
  const { rows, rows_bytes, records, records_bytes } = engines
  return [...lines, ['Engines', `rows in ${sized(rows, rows_bytes)}, records in ${sized(records, records_bytes)}`]]
}

function roleLine({ role, writer, epoch, held, age_seconds }: NonNullable<InstanceStatus['fleet']>): Line {
  const renewed = `epoch ${formatNumber(epoch)}, renewed ${formatDuration(age_seconds)} ago`
  if (role === 'writer') return ['Role', `writer, ${renewed}`, held ? 'ok' : 'fail']
  if (!held) return ['Role', `reader; no process writes: ${renewed}`, 'fail']
  return ['Role', `reader; the writer is ${writer ?? 'without an address'}, ${renewed}`, 'ok']
}

const setAsideLines = ({ data }: InstanceStatus): Line[] =>
  data.files
    .filter(({ name }) => isSetAside(name))
    .map(({ name }) => [
      'Set aside',
      `${name}: what it had is missing from the reads; readership doctor says more`,
      'warn',
    ])

const times = (n: number) => (n === 1 ? 'once' : `${formatNumber(n)} times`)

function rowLines({ rows, spool }: InstanceStatus): Line[] {
  const rate =
    rows.a_second === undefined
      ? 'no minute measured yet'
      : `${formatNumber(rows.a_second)} a second in the last minute`
  const lost = Object.entries(rows.dropped).filter(([reason, n]) => n > 0 && LOSS_REASONS.has(reason))
  const lines: Line[] = [
    ['Rows', `${rate}, ${formatNumber(rows.stored)} since the start`],
    spool
      ? [
          'Spool',
          `${formatNumber(spool.rows)} rows wait, ${formatBytes(spool.bytes)} of ${formatBytes(spool.limit_bytes)}`,
          spool.bytes > spool.limit_bytes / 2 && 'warn',
        ]
      : ['Waiting', `${formatNumber(rows.waiting)} rows`, rows.waiting > MANY_WAITING_ROWS && 'warn'],
  ]
  if (lost.length === 0) return lines
  return [...lines, ['Lost', lost.map(([reason, n]) => `${formatNumber(n)} ${reason}`).join(', '), 'warn']]
}

function requestLines({ requests, memory }: InstanceStatus): Line[] {
  const { site_bytes, worker_bytes } = memory
  const worker = worker_bytes === undefined ? '' : `, worker ${formatBytes(worker_bytes)}`
  const failures = Object.entries(requests?.failures ?? {}).filter(([, n]) => n > 0)
  const lines: Line[] = []
  if (requests) {
    const statuses = Object.entries(requests.statuses).map(([status, n]) => `${status} ${formatNumber(n)}`)
    lines.push(['Requests', [`${formatNumber(requests.active)} in progress`, ...statuses].join(', ')])
  }
  if (failures.length > 0)
    lines.push(['Origin', `failed: ${failures.map(([kind, n]) => `${kind} ${formatNumber(n)}`).join(', ')}`, 'warn'])
  return [...lines, ['Memory', `site ${formatBytes(site_bytes)}${worker}`]]
}

function diskLines({ data: { files, free_bytes }, size }: InstanceStatus): Line[] {
  const shown = files.slice(0, MAX_NAMED).map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`)
  const rest = files.slice(MAX_NAMED).reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    ['Files', shown.length === 0 ? 'none' : `${shown.join(', ')}${rest > 0 ? `, others ${formatBytes(rest)}` : ''}`],
    ['Disk', `${formatBytes(free_bytes)} free`],
    ...(size ? [sizeLine(size)] : []),
  ]
}

function sizeLine({ used_bytes, free_bytes, max_bytes, tables }: NonNullable<InstanceStatus['size']>): Line {
  const growth = tables.reduce((sum, table) => sum + table.growth_bytes, 0)
  const largest = tables
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, MAX_NAMED)
    .map(({ table, bytes, growth_bytes }) => `${table} ${formatBytes(bytes)} +${formatBytes(growth_bytes)}`)
  const limit = max_bytes === undefined ? '' : ` of ${formatBytes(max_bytes)}`
  const free = free_bytes > used_bytes ? `, ${formatBytes(free_bytes)} of the file free for new rows` : ''
  const of = largest.length > 0 ? ` (${largest.join(', ')})` : ''
  const text = `${formatBytes(used_bytes)}${limit}, +${formatBytes(growth)} a day${of}${free}`
  return ['Store', text, max_bytes !== undefined && used_bytes >= max_bytes * DISK_WARNING_SHARE && 'warn']
}

function backupLines({ backups, now }: InstanceStatus): Line[] {
  if (!backups) return []
  const { directory, keep, last, failure } = backups
  const age = last && secondsBetween(last.taken_at, now)
  const finding =
    last && age !== undefined
      ? `${formatDuration(age)} ago, ${formatBytes(last.bytes)} in ${directory}, which keeps ${formatNumber(keep)}`
      : `none in ${directory} yet`
  if (!failure) return [['Backup', finding, age === undefined || age > MAX_BACKUP_AGE_S ? 'warn' : 'ok']]
  const failed = `failed ${formatDuration(secondsBetween(failure.at, now))} ago: ${failure.says}: ${failure.mend}`
  return [['Backup', `${failed} The last one: ${finding}`, 'fail']]
}

function ageLines({ robots, ranges, geo, now }: InstanceStatus): Line[] {
  const lines: Line[] = []
  if (robots && robots.length > 0) lines.push(robotsLine(robots, now))
  if (ranges?.oldest === undefined) {
    if (ranges) lines.push(['Ranges', 'no published addresses of agents: their claims stay indeterminate', 'warn'])
  } else {
    const stale = ranges.stale > 0 ? `; ${ranges.stale} incomplete or older than a week` : ''
    const text = `of ${ranges.agents} agents, the oldest from ${formatDuration(secondsBetween(ranges.oldest, now))} ago${stale}`
    lines.push(['Ranges', text, stale !== '' && 'warn'])
  }
  if (geo) lines.push(['Geo data', geo.map(({ name, date }) => `${name} of ${date}`).join(', ') || 'none'])
  return lines
}

/** Names the hostnames of a few, and of many those with a finding. */
function robotsLine(robots: NonNullable<InstanceStatus['robots']>, now: string): Line {
  const ageOf = ({ checked_at }: (typeof robots)[number]) =>
    checked_at === undefined ? Number.POSITIVE_INFINITY : secondsBetween(checked_at, now)
  const isBad = (one: (typeof robots)[number]) =>
    one.standing === 'unreachable' || (one.standing !== 'unknown' && ageOf(one) > MAX_ROBOTS_AGE_S)
  const describe = (one: (typeof robots)[number]) =>
    one.checked_at === undefined
      ? `${one.hostname} not fetched yet`
      : `${one.hostname} ${one.standing}, checked ${formatDuration(ageOf(one))} ago`
  const bad = robots.filter(isBad)
  const named = (bad.length > 0 || robots.length > MAX_NAMED ? bad : robots).slice(0, MAX_NAMED)
  const others = robots.length - named.length
  const text = [...named.map(describe), ...(others > 0 ? [hostnames(others, named.length > 0)] : [])].join('; ')
  return ['robots.txt', text, bad.length > 0 && 'warn']
}

const hostnames = (n: number, more: boolean) =>
  `${formatNumber(n)} ${more ? 'more ' : ''}${n === 1 ? 'hostname' : 'hostnames'}${more ? '' : ', all fetched within an hour'}`

function historyLines({ gap, last_error, now, collector }: InstanceStatus): Line[] {
  const lines: Line[] = []
  if (gap) {
    const age = secondsBetween(gap.end, now)
    const text = `${formatDuration(secondsBetween(gap.start, gap.end))} until ${formatDuration(age)} ago: ${gap.reason.replaceAll('_', ' ')}`
    lines.push(['Gap', text, age < RECENT_S && 'warn'])
  } else if (collector === undefined) lines.push(['Gap', 'none within 7 days'])
  if (!last_error) return [...lines, ['Last error', 'none since the start']]
  const age = secondsBetween(last_error.at, now)
  return [...lines, ['Last error', `${formatDuration(age)} ago: ${last_error.message}`, age < RECENT_S && 'warn']]
}

const secondsBetween = (from: string, to: string): number => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000)
