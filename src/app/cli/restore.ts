import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import type { Manifest } from '../../storage/backup/manifest.js'
import { isRunning } from './client.js'
import { defineCommand } from './command.js'
import { createProgress } from './progress.js'
import { Failure } from './terminal.js'

export const restore = defineCommand({
  name: 'restore',
  summary: 'check a backup, and restore it into the empty directory that --data names',
  arguments: [{ syntax: '<file>', doc: 'file or directory that readership backup wrote' }],
  settings: ['memory_limit'],
  flags: z.object({}),
  async run({ args: [path = ''], config, terminal }) {
    const { data } = config
    if (await isRunning(data)) throw new Failure(`A readership runs on ${data}: name an empty directory with --data.`)
    const { restoreBackup } = await import('../../storage/backup/restore.js')
    const { defaultMemoryLimit, inspectMachine, readThreads, usableCores } = await import(
      '../../worker-client/machine.js'
    )
    const machine = inspectMachine()
    const progress = {
      Checking: createProgress(terminal, 'Checking'),
      Restoring: createProgress(terminal, 'Restoring'),
    }
    const manifest = await restoreBackup(path, data, {
      memory_limit: config.memory_limit ?? defaultMemoryLimit(machine),
      threads: readThreads(usableCores(machine)),
      log: () => {},
      onProgress: (step, done, total) => progress[step].show(done, total),
    }).finally(progress.Restoring.clear)
    terminal.out(`${describe(manifest, data)}\n`)
  },
})

function describe({ members, taken_at }: Manifest, data: string): string {
  const rows = members.reduce((sum, member) => sum + (member.file === 'events' ? member.rows : 0), 0)
  return `Restored ${formatNumber(rows)} rows and all records of ${taken_at}. Start readership with --data ${data}.`
}
