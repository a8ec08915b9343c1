import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { InstanceStatus } from '../../api/instance-status.js'
import { formatBytes } from '../../base/format-bytes.js'
import { ON_SERVERS } from '../../storage/backup/backups.js'
import { type Config, SETTINGS } from '../config.js'
import { type CommandCall, defineCommand, flag, JSON_FLAG } from './command.js'
import { checkInstance, printFindings, type RunningInstance } from './doctor.js'
import { checkBackups, checkDataDirectory, type ExaminedFile, examineStore } from './doctor-files.js'
import { checkServers } from './doctor-servers.js'
import { type Finding, fail, ok, warn } from './finding.js'
import { PROXY_SETTINGS } from './server-commands.js'

/** The oldest Node.js that the package runs on, as `engines` of package.json says. */
export const OLDEST_NODE = [20, 19] as const
/** Copying a file and all steps from schema 5: 1.2 GB of 3,000,000 rows took 4.2 s on two cores and a local disk. */
const SECONDS_PER_GB = 4
/** A start refuses to migrate a file with less free disk than this many times its size. */
const FREE_COPIES = 2

export const upgrade = defineCommand({
  name: 'upgrade',
  summary: 'say how to upgrade; with --check, whether this release can start on the data; changes and installs nothing',
  arguments: [{ syntax: '[origin-url]', doc: 'as for proxy' }],
  settings: PROXY_SETTINGS.filter((name) => name !== 'data'),
  flags: z.object({
    check: flag(
      '--check',
      'check the store, the settings and the backups, also while an earlier release runs; exit code 0: ready',
      z.boolean().default(false),
    ),
    json: JSON_FLAG,
  }),
  async run(call) {
    const { flags, terminal } = call
    if (!flags.check) return terminal.out(INSTRUCTIONS)
    printFindings(terminal, await examine(call, Date.now()), flags.json)
  },
})

const INSTRUCTIONS = `readership installs nothing itself. To upgrade:
1. Write a backup: npx readership backup FILE
2. Ask the new release, with the flags of your start: npx readership@latest upgrade --check --data DIR
   Exit code 0: it can start. 1: a check failed. 2: it does not know a flag or a setting.
3. Stop the old release. In a fleet, stop all processes.
4. Install the new one while nothing runs (npm install readership@latest, or the new image), and start it.
5. Look at it: readership doctor --data DIR
To go back: stop it, rename events.duckdb.schema-VERSION and control.duckdb.schema-VERSION to
events.duckdb and control.duckdb, and start the old release; or restore the backup. Rows since then are lost.
`

async function examine(call: CommandCall<unknown>, now: number): Promise<Finding[]> {
  const { config, terminal } = call
  const running = await checkInstance(call)
  const { status } = running
  const files = running.files ?? addVersions(await examineStore(config), status)
  return [
    ok('release', `${terminal.version}${status ? `; ${status.version} runs` : ''}`),
    checkNode(process.versions.node),
    checkSettings(config),
    ...(await checkDataDirectory(config)),
    ...running.findings,
    ...(await checkServers(config, () => new Date(now))),
    // A proxy that ships its rows keeps a queue of them only, which has no schema.
    ...((status?.collector ?? config.collector) === undefined
      ? [...(await checkSchemas(config, files, running)), ...(await checkBackup(config, status, now))]
      : []),
  ]
}

/** Checks that this release runs on the version of Node.js, such as `22.1.0`. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldest, least] = OLDEST_NODE
  return major > oldest || (major === oldest && minor >= least)
    ? ok('Node.js', `${version} is supported`)
    : fail('Node.js', `${version} is too old`, `Install Node.js ${OLDEST_NODE.join('.')} or newer.`)
}

/** Checks for settings that a later release removes. An unknown one has ended the command before. */
export function checkSettings(
  config: Config,
  settings: readonly Pick<(typeof SETTINGS)[number], 'name' | 'default' | 'deprecated'>[] = SETTINGS,
): Finding {
  const old = settings.filter(
    ({ name, default: preset, deprecated }) =>
      deprecated !== undefined && JSON.stringify(config[name]) !== JSON.stringify(preset),
  )
  if (old.length === 0) return ok('settings', 'this release knows all that are set, and none is deprecated')
  return warn(
    'settings',
    `deprecated: ${old.map(({ name }) => name).join(', ')}`,
    old.map(({ name, deprecated }) => `${name}: ${deprecated}.`).join(' '),
  )
}

/** Takes the versions from the running instance, which has the files open. */
function addVersions(files: readonly ExaminedFile[], status: InstanceStatus | undefined): ExaminedFile[] {
  const { rows_schema, records_schema } = status?.engines ?? {}
  const stored: Readonly<Record<string, number | undefined>> = {
    'events.duckdb': rows_schema,
    'control.duckdb': records_schema,
  }
  return files.map(({ name, exists, known }) => ({ name, exists, known, stored: stored[name] }))
}

/** Compares the schema of each file with that of this release, and checks the disk for the migrations. */
async function checkSchemas(
  { data }: Pick<Config, 'data'>,
  files: readonly ExaminedFile[],
  { isRunning }: Pick<RunningInstance, 'isRunning'>,
): Promise<Finding[]> {
  if (files.length > 0 && !files.some(({ exists }) => exists))
    return [fail('store', `none is in ${data}`, 'Name the data directory of the store with --data.')]
  const present = files.filter(({ exists, fault }) => exists && !fault)
  const findings = present.map((file) => compareSchema(file, isRunning))
  const old = present.filter(({ stored, known }) => stored !== undefined && stored < known)
  if (old.length === 0) return findings
  const bytes = old.map(({ name }) => statSync(join(data, name)).size).reduce((sum, size) => sum + size, 0)
  const { bavail, bsize } = await statfs(data)
  const free = bavail * bsize
  const needed = bytes * FREE_COPIES
  const seconds = Math.ceil((bytes / 1e9) * SECONDS_PER_GB)
  const says = `the first start copies ${old.map(({ name }) => name).join(' and ')} (${formatBytes(bytes)}) and changes the schema: about ${seconds} s on a local disk; it needs ${formatBytes(needed)} of free disk, and there are ${formatBytes(free)}`
  return [
    ...findings,
    free < needed
      ? fail('migration', says, `Free space on the disk of ${data}: without it this release does not start.`)
      : ok('migration', says),
  ]
}

function compareSchema({ name, stored, known }: ExaminedFile, isRunning: boolean): Finding {
  const check = `schema of ${name}`
  if (stored === undefined)
    return warn(
      check,
      `not known: ${isRunning ? 'the running instance does not say it' : 'another program has the file open'}; this release has version ${known}`,
      isRunning
        ? 'Wait until the instance is ready, or stop it, and check again.'
        : 'End that program and check again.',
    )
  if (stored > known)
    return fail(
      check,
      `version ${stored}, and this release knows versions up to ${known}: it does not start`,
      'Take the release that runs, or a later one.',
    )
  if (stored === known) return ok(check, `version ${stored}, that of this release: no migration`)
  const steps = stored + 1 === known ? `step ${known}` : `steps ${stored + 1} to ${known}`
  return ok(check, `version ${stored}; this release has ${known}: its first start runs ${steps}`)
}

/** Checks that a backup exists, and its age. */
async function checkBackup(config: Config, status: InstanceStatus | undefined, now: number): Promise<Finding[]> {
  const check = 'backups'
  if (config.store !== undefined || config.control !== undefined) return [warn(check, 'not known', ON_SERVERS)]
  const findings = await checkBackups(config, status?.backups, now)
  const mend = 'Run `readership backup FILE` before you upgrade, or name the directory of backups with --backup-dir.'
  return findings.length > 0 ? findings : [warn(check, 'none is known: --backup-dir is not set', mend)]
}
