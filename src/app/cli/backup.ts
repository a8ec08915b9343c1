import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import { ON_SERVERS } from '../../storage/backup/backups.js'
import { BackupLine, type KnownParts, type TakenBackup } from '../../storage/backup/manifest.js'
import { BACKUP_DIRECTORY } from '../../storage/store.js'
import { type Client, withClient } from './client.js'
import { type CommandCall, defineCommand } from './command.js'
import { writeOutputFile } from './output-file.js'
import { createProgress } from './progress.js'
import { Failure, type Terminal } from './terminal.js'

export const backup = defineCommand({
  name: 'backup',
  summary: 'write everything that is stored to one file, also while readership runs',
  examples: [{ line: 'backup readership.backup', doc: 'one file, which readership restore reads' }],
  arguments: [
    {
      syntax: '<file>',
      doc: 'file to write, - for standard output, or an existing directory, which gets a new one with what changed',
    },
  ],
  flags: z.object({}),
  async run(call) {
    const { args, config, terminal } = call
    if (config.store !== undefined || config.control !== undefined) throw new Failure(ON_SERVERS)
    const [target = ''] = args
    if (target === '-' && terminal.columns !== undefined)
      throw new Failure('A backup is not text for a terminal: name a file, or pipe it into a program.', 2)
    const isDirectory = (await stat(target).catch(() => undefined))?.isDirectory() === true
    if (target !== '-' && !existsSync(target) && extname(target) === '')
      throw new Failure(
        `${target} does not exist: a file or a directory? For one file, name it ${join(target)}.tar; for a directory, which gets what changed each time, create it first: mkdir -p ${target}`,
        2,
      )
    if (isDirectory && resolve(target) === resolve(config.data))
      throw new Failure('That is the data directory itself: name another directory.', 2)
    await withClient({ config: { ...config, role: 'both', offline: true }, terminal }, (client) =>
      isDirectory ? backUpToDirectory(client, call, target) : backUpToFile(client, call, target),
    )
  },
})

type Call = CommandCall<unknown>

async function backUpToFile(client: Client, { terminal, config }: Call, file: string): Promise<void> {
  const { countBytes, formatTar, requireDisk } = await import('../../storage/backup/write-archive.js')
  for await (const taken of takeBackup(client, terminal, [])) {
    const files = { taken, directory: join(config.data, BACKUP_DIRECTORY) }
    const total = await countBytes(files)
    const { onBytes, clear } = countProgress(terminal, total)
    const bytes = formatTar(files, onBytes)
    try {
      if (file === '-') await writeToOutput(terminal, bytes)
      else {
        await requireDisk(files, dirname(file))
        await writeOutputFile(file, bytes, 0o600)
      }
    } finally {
      clear()
    }
    if (file !== '-') terminal.out(`${describe(file, taken)}, ${formatBytes(total)}.\n`)
  }
}

async function backUpToDirectory(client: Client, { terminal, config }: Call, target: string): Promise<void> {
  const { countBytes, openVerifiedParts, requireDisk, writeDirectory } = await import(
    '../../storage/backup/write-archive.js'
  )
  const base = await openVerifiedParts(target)
  for await (const taken of takeBackup(client, terminal, base?.manifest.members ?? [])) {
    const files = { taken, directory: join(config.data, BACKUP_DIRECTORY) }
    const total = await countBytes(files)
    await requireDisk(files, target)
    const { onBytes, clear } = countProgress(terminal, total)
    const { path } = await writeDirectory(files, { target, base, onBytes }).finally(clear)
    terminal.out(`${describe(path, taken)}, ${formatBytes(total)} of it new.\n`)
  }
}

const describe = (path: string, { parts }: TakenBackup): string => {
  const rows = parts.reduce((sum, part) => sum + (part.file === 'events' ? part.rows : 0), 0)
  return `Wrote ${path}: ${formatNumber(rows)} rows and all records`
}

/** Yields the backup once. Its files are there until the caller goes on. */
async function* takeBackup(client: Client, terminal: Terminal, known: KnownParts): AsyncGenerator<TakenBackup> {
  const progress = createProgress(terminal, 'Reading')
  const parts = known.map(({ name, rows, fingerprint }) => ({ name, rows, fingerprint }))
  for await (const text of client.textLines('/control/backup', parts)) {
    const line = BackupLine.parse(JSON.parse(text))
    if ('done' in line) progress.show(line.done, line.total)
    if ('taken' in line) {
      progress.clear()
      yield line.taken
      return
    }
  }
  throw new Failure('The service ended before the backup was taken; its log says why.')
}

function countProgress(terminal: Terminal, total: number) {
  const progress = createProgress(terminal, 'Writing')
  let done = 0
  return {
    onBytes(bytes: number) {
      done += bytes
      progress.show(done, total)
    },
    clear: progress.clear,
  }
}

export async function writeToOutput(terminal: Terminal, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of bytes) {
    terminal.outBytes?.(chunk)
    await terminal.drained?.()
  }
}
