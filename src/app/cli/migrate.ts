import { resolve } from 'node:path'
import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import type { CopyResult } from '../../storage/migrate/copy.js'
import type { Source } from '../../storage/migrate/source.js'
import type { Target } from '../../storage/migrate/target.js'
import type { Log } from '../../storage/store.js'
import type { Config } from '../config.js'
import { withClient } from './client.js'
import { type CommandCall, defineCommand } from './command.js'
import { createProgress } from './progress.js'
import { Failure } from './terminal.js'

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'copy everything to ClickHouse and PostgreSQL, or back to a directory, also while readership runs',
  settings: ['store', 'control', 'to'],
  flags: z.object({}),
  async run(call) {
    const { config, terminal } = call
    const direction = chooseDirection(config)
    const progress = createProgress(terminal, 'Copying')
    const run = async (source: Source) => {
      const { copyStore } = await import('../../storage/migrate/copy.js')
      const target = await direction.openTarget()
      try {
        return await copyStore(source, target, { onProgress: progress.show })
      } finally {
        progress.clear()
        await target.close()
      }
    }
    const result = await direction.withSource(call, run)
    terminal.out(`${describeResult(result, direction.start)}\n`)
  },
})

interface Direction {
  openTarget(): Promise<Target>
  withSource<T>(call: CommandCall<unknown>, use: (source: Source) => Promise<T>): Promise<T>
  /** The flags that start readership on the target. */
  start: string
}

const quiet: Log = () => {}

/** Returns what `--to` and the other settings mean; throws `Failure` if they mean nothing. */
function chooseDirection(config: Config): Direction {
  const { data, store, control, to } = config
  if (to === undefined) throw new Failure('--to: give clickhouse://user@host:8123/database or duckdb:DIRECTORY.', 2)
  const file = /^duckdb:(.+)$/.exec(to)?.[1]
  if (file !== undefined) {
    if ((store === undefined) !== (control === undefined))
      throw new Failure('To copy from servers, both --store and --control are needed.', 2)
    if (store === undefined && resolve(file) === resolve(data))
      throw new Failure('--to names the directory of --data: name another one.', 2)
    return {
      start: `--data ${file}`,
      withSource:
        store === undefined || control === undefined
          ? withInstanceSource
          : (_, use) => withServerSource(store, control, use),
      async openTarget() {
        const { openFileTarget } = await import('../../storage/migrate/file-target.js')
        const { defaultMemoryLimit, inspectMachine, readThreads, usableCores } = await import(
          '../../worker-client/machine.js'
        )
        const machine = inspectMachine()
        return openFileTarget(file, {
          memory_limit: config.memory_limit ?? defaultMemoryLimit(machine),
          threads: readThreads(usableCores(machine)),
          log: quiet,
        })
      },
    }
  }
  if (!/^clickhouse:\/\//i.test(to)) throw new Failure(`--to: ${TO_FORMS}.`, 2)
  if (store !== undefined)
    throw new Failure('--to clickhouse://… copies the directory of --data: leave --store out until it is done.', 2)
  if (control === undefined)
    throw new Failure('--to clickhouse://… needs --control postgres://…, where accounts, sites and keys go.', 2)
  return {
    start: '--store and --control',
    withSource: withInstanceSource,
    openTarget: async () =>
      (await import('../../storage/migrate/server-target.js')).openServerTarget(to, control, quiet),
  }
}

const TO_FORMS = 'must be clickhouse://user@host:8123/database or duckdb:DIRECTORY'

/** Uses the data directory, through the instance that has it open or one of this process. */
const withInstanceSource: Direction['withSource'] = ({ config, terminal }, use) => {
  const { store, control, ...files } = config
  return withClient({ config: { ...files, role: 'both', offline: true }, terminal }, async (client) => {
    const { openInstanceSource } = await import('../../storage/migrate/instance-source.js')
    return use(await openInstanceSource(client, config.data))
  })
}

async function withServerSource<T>(store: string, control: string, use: (source: Source) => Promise<T>): Promise<T> {
  const { openServerSource } = await import('../../storage/migrate/server-source.js')
  const source = await openServerSource(store, control, quiet)
  try {
    return await use(source)
  } finally {
    await source.close()
  }
}

function describeResult({ copied, changed, isComplete, isInUse, rows }: CopyResult, start: string): string {
  const done = `Copied ${formatNumber(copied.rows)} rows in ${formatNumber(copied.units)} parts (a day of a table each).`
  if (isComplete)
    return `${done} Complete: source and target are equal (${formatNumber(rows)} rows). Start readership with ${start}.`
  if (!isInUse) return `${done} ${formatNumber(changed)} parts changed meanwhile: run this once more.`
  const rest =
    changed === 0 ? 'The source is in use' : `${formatNumber(changed)} parts changed meanwhile (the source is in use)`
  return `${done} ${rest}: stop readership and run this once more, then start it with ${start}.`
}
