import { constants, existsSync, type Stats } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { formatDuration } from '../../analytics/export/format.js'
import { DISK_WARNING_SHARE, type InstanceStatus, MAX_BACKUP_AGE_S } from '../../api/instance-status.js'
import { formatBytes } from '../../base/format-bytes.js'
import type { ExaminedFile } from '../../storage/duckdb/examine.js'
import { type inspectMachine, readMemoryLimit } from '../../worker-client/machine.js'
import type { Config } from '../config.js'
import { byteSize } from '../config-values.js'
import { errorReason, type Finding, fail, ok, warn } from './finding.js'
import { isSetAside } from './set-aside.js'

/** A checkpoint is due at 16 MB of log; one that is blocked by a read is tried again with each commit. */
const MAX_LOG_BYTES = 64_000_000
/** Less is not enough for the two processes and a query. */
const MIN_CONTAINER_BYTES = 512_000_000
/** Enough to buy a disk. */
const MIN_DAYS = 30
/** The rest is for the two processes themselves. */
const MAX_STORE_SHARE = 0.75
export const STORED_DATA = 'stored data'

/** Checks the data directory and its disk. */
export async function checkDataDirectory({ data, min_free_disk }: Config): Promise<Finding[]> {
  // The first start creates what is missing, so the nearest existing directory must be writable.
  let place = resolve(data)
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  try {
    await access(place, constants.W_OK | constants.X_OK)
  } catch (error) {
    return [
      fail(
        'data directory',
        `${data} is not writable (${errorReason(error)}): readership does not start`,
        `Make ${place} writable for this user, or choose another directory with --data.`,
      ),
    ]
  }
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  return [
    ok('data directory', place === resolve(data) ? `${data} is writable` : `the first start will create ${data}`),
    ...(place === resolve(data) ? [...(await checkPermissions(data)), ...(await checkLogs(data))] : []),
    free < min_free_disk
      ? fail(
          'disk',
          `${formatBytes(free)} free; below ${formatBytes(min_free_disk)} rows are not stored`,
          `Free space on the disk of ${place}, or lower --min-free-disk.`,
        )
      : free < 2 * min_free_disk
        ? warn(
            'disk',
            `${formatBytes(free)} free; below ${formatBytes(min_free_disk)} rows are not stored`,
            `Free space on the disk of ${place} soon.`,
          )
        : ok('disk', `${formatBytes(free)} free`),
  ]
}

const isForOthers = ({ mode }: Stats): boolean => (mode & 0o077) !== 0

/** Checks that other users can neither read nor replace what is in the data directory, and that this one can. */
async function checkPermissions(data: string): Promise<Finding[]> {
  const check = 'permissions'
  const directory = await stat(data)
  const names = await readdir(data)
  const results = await Promise.all(
    names.map(async (name) => {
      const path = join(data, name)
      const isMine = await access(path, constants.R_OK | constants.W_OK).then(
        () => true,
        () => false,
      )
      return { name, isMine, stats: await stat(path).catch(() => undefined) }
    }),
  )
  const foreign = results.filter(({ stats, isMine }) => stats && !isMine).map(({ name }) => name)
  const open = results.filter(({ stats }) => stats && isForOthers(stats)).map(({ name }) => name)
  const findings: Finding[] = []
  if (foreign.length > 0)
    findings.push(
      fail(
        check,
        `this user may not write ${foreign.join(', ')}: the store cannot be opened`,
        `Run readership as their owner, or give them to this user: chown -R "$(id -un)" ${data}`,
      ),
    )
  if ((directory.mode & 0o022) !== 0)
    findings.push(
      fail(
        check,
        `other users may replace files in ${data}: accounts, keys and the operator's socket`,
        `chmod 700 ${data}`,
      ),
    )
  // Inside a directory that others cannot enter, modes of files do not matter.
  else if (open.length > 0 && isForOthers(directory))
    findings.push(
      warn(check, `other users may read ${open.join(', ')}${describeSecrets(open)}`, `chmod -R go-rwx ${data}`),
    )
  return findings.length > 0 ? findings : [ok(check, 'other users can read nothing')]
}

/** Contents of a data directory that are secret, by the names of their files. */
const SECRETS = [
  [/^(events\.duckdb|waiting|spool|backup\.tmp)/, 'rows'],
  [/^control\.duckdb/, 'hashed passwords, keys'],
  [/^salts/, 'salts of visitor ids'],
] as const

const describeSecrets = (names: readonly string[]): string => {
  const found = SECRETS.filter(([pattern]) => names.some((name) => pattern.test(name))).map(([, what]) => what)
  return found.length === 0 ? '' : `: ${found.join(', ')}`
}

/** Checks that only their owner can read the files of keys, and the certificate's one at most its group. */
export async function checkKeyFiles({
  tls_key,
  ingest_key_file,
}: Pick<Config, 'tls_key' | 'ingest_key_file'>): Promise<Finding[]> {
  const files = [
    { setting: '--tls-key', file: tls_key, mask: 0o007 },
    { setting: '--ingest-key-file', file: ingest_key_file, mask: 0o077 },
  ]
  const checked = await Promise.all(
    files.map(async ({ setting, file, mask }): Promise<Finding[]> => {
      if (file === undefined) return []
      const stats = await stat(file).catch((error: unknown) => errorReason(error))
      if (typeof stats === 'string')
        return [fail('key file', `${file} cannot be read (${stats})`, `Correct ${setting}.`)]
      return [
        (stats.mode & mask) === 0
          ? ok('key file', `${file} is private`)
          : fail('key file', `other users may read ${file}, the secret of ${setting}`, `chmod 600 ${file}`),
      ]
    }),
  )
  return checked.flat()
}

/** Checks that DuckDB's logs are folded into the files. */
async function checkLogs(data: string): Promise<Finding[]> {
  const logs = ['events.duckdb.wal', 'control.duckdb.wal']
  const sizes = await Promise.all(
    logs.map(async (name) => ({ name, bytes: (await stat(join(data, name)).catch(() => undefined))?.size ?? 0 })),
  )
  const long = sizes.filter(({ bytes }) => bytes > MAX_LOG_BYTES)
  if (long.length === 0) return [ok('log of the store', 'is folded in')]
  return long.map(({ name, bytes }) =>
    warn(
      'log of the store',
      `${name} has ${formatBytes(bytes)}: its checkpoints fail, the next start takes long, and erased rows stay in it`,
      'Look for "the checkpoint failed" in the log; free disk space, end long exports, then restart readership.',
    ),
  )
}

/** Checks the backups of each night: their last failure, and the age of the newest whole one. */
export async function checkBackups(
  config: Pick<Config, 'backup_dir'>,
  running: InstanceStatus['backups'],
  now: number,
): Promise<Finding[]> {
  const check = 'backups'
  const directory = running?.directory ?? config.backup_dir
  if (directory === undefined) return []
  // Loaded here, because every command loads this file.
  const { describeFailure, requireDirectory } = await import('../../storage/backup/schedule.js')
  const { findLastBackup } = await import('../../storage/backup/kept-backups.js')
  try {
    await requireDirectory(directory)
    const last = await findLastBackup(directory)
    const age = last && (now - Date.parse(last.taken_at)) / 1000
    const says =
      age === undefined ? `none in ${directory}` : `the last one in ${directory} is ${formatDuration(age)} old`
    if (running?.failure)
      return [fail(check, `${says}; the last try failed: ${running.failure.says}`, running.failure.mend)]
    return [
      age !== undefined && age <= MAX_BACKUP_AGE_S
        ? ok(check, says)
        : warn(
            check,
            says,
            'Keep readership running with --backup-dir: it takes the first one a minute after its start.',
          ),
    ]
  } catch (error) {
    const { says, mend } = describeFailure(error, directory)
    return [fail(check, says, mend)]
  }
}

/** Checks how much the store may still grow, by `--max-disk` and by the free disk. */
export function checkGrowth({ size, data }: Pick<InstanceStatus, 'size' | 'data'>, min_free_disk: number): Finding[] {
  if (!size) return []
  const check = 'store'
  const growth = size.tables.reduce((sum, table) => sum + table.growth_bytes, 0)
  const says = `takes ${formatBytes(size.used_bytes)} and grows by ${formatBytes(growth)} a day`
  const { max_bytes } = size
  const share = max_bytes === undefined ? 0 : size.used_bytes / max_bytes
  const mend = 'Shorten the retention of sites, raise --max-disk, or move the store to a larger disk.'
  if (max_bytes !== undefined && share >= 1)
    return [fail(check, `${says}; --max-disk is ${formatBytes(max_bytes)}: rows are not stored`, mend)]
  if (max_bytes !== undefined && share >= DISK_WARNING_SHARE)
    return [warn(check, `${says}; at ${formatBytes(max_bytes)} (--max-disk) rows will not be stored any more`, mend)]
  const free = data.free_bytes - min_free_disk + size.free_bytes
  const left = Math.min(free, (max_bytes ?? Number.POSITIVE_INFINITY) - size.used_bytes)
  const days = growth === 0 ? Number.POSITIVE_INFINITY : left / growth
  return [
    days < MIN_DAYS
      ? warn(
          check,
          `${says}: in ${Math.max(0, Math.floor(days))} days there is no room, and rows are not stored then`,
          mend,
        )
      : ok(check, says),
  ]
}

const restoreHint = ({ backup_dir = 'BACKUP' }: Pick<Config, 'backup_dir'>): string =>
  `readership restore ${backup_dir} --data NEW`

export type { ExaminedFile } from '../../storage/duckdb/examine.js'

/** Examines the files of a store; none if the store is on servers. A file that an instance has open has no version. */
export async function examineStore({
  data,
  store,
  control,
}: Pick<Config, 'data' | 'store' | 'control'>): Promise<ExaminedFile[]> {
  if (store !== undefined || control !== undefined) return []
  // Loaded here, because every command loads this file.
  const { examineFiles } = await import('../../storage/duckdb/examine.js')
  return examineFiles(data)
}

/**
 * Checks that both files are there and can be opened: a start without one of them, or with a damaged one, creates an empty
 * one, and then a decision is needed.
 */
export function checkFiles(config: Pick<Config, 'data' | 'backup_dir'>, files: readonly ExaminedFile[]): Finding[] {
  if (!files.some(({ exists }) => exists)) return []
  const { data } = config
  const hint = restoreHint(config)
  return files.flatMap(({ name, exists, fault }): Finding[] => {
    if (!exists)
      return [fail(STORED_DATA, `${name} is missing from ${data}`, 'Put it back from a backup before you start.')]
    if (!fault) return []
    const file = join(data, name)
    if (fault.kind === 'later')
      return [
        fail(
          STORED_DATA,
          `${file} is of a later version: this readership does not start (${fault.why})`,
          `Start a later readership, or restore a backup: ${hint}.`,
        ),
      ]
    const says = `${file} is damaged: the next start sets it aside, and begins an empty one (${fault.why})`
    return [fail(STORED_DATA, says, `Restore the last backup before you start: ${hint}.`)]
  })
}

/** Reports the files that starts have set aside. */
export async function checkSetAside(config: Pick<Config, 'data' | 'backup_dir'>): Promise<Finding[]> {
  const names = await readdir(config.data).catch(() => [])
  return names
    .filter(isSetAside)
    .map((name) =>
      warn(
        STORED_DATA,
        `${join(config.data, name)} was set aside, damaged or of another instance: what it had is missing from the reads, and no erasure reaches it`,
        `Restore the last backup: ${restoreHint(config)}. Move the file away when you need it no more.`,
      ),
    )
}

/** Checks that the container's memory is enough, and that the store leaves some of it to the processes. */
export function checkMemory(
  { memory_limit }: Pick<Config, 'memory_limit'>,
  machine: ReturnType<typeof inspectMachine>,
): Finding {
  const limit = readMemoryLimit(machine)
  const available = limit ?? machine.total_bytes
  const where = limit === undefined ? 'this machine' : 'the container'
  const says = `${where} has ${formatBytes(available)}`
  const store = memory_limit === undefined ? 0 : byteSize.parse(memory_limit)
  if (store > available * MAX_STORE_SHARE)
    return warn(
      'memory',
      `${says}, and the store may take ${formatBytes(store)} of it: the kernel may end readership`,
      'Remove --memory-limit, or set half of the memory at most.',
    )
  return available < MIN_CONTAINER_BYTES
    ? warn(
        'memory',
        `${says}: the kernel may end the worker during a large query`,
        `Give it ${formatBytes(MIN_CONTAINER_BYTES)} or more.`,
      )
    : ok('memory', says)
}
