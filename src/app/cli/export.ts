import { join } from 'node:path'
import { z } from 'zod'
import { formatBytes } from '../../base/format-bytes.js'
import { BackupLine, EXPORTED_ROWS } from '../../storage/backup/manifest.js'
import { BACKUP_DIRECTORY } from '../../storage/store.js'
import { writeToOutput } from './backup.js'
import { type Client, withClient } from './client.js'
import { DEFAULT_RANGE, defineCommand, flag, idOf, queryString, RANGE_FLAG } from './command.js'
import { escapeText } from './escape.js'
import { printOutput, writeOutputFile } from './output-file.js'
import { showElapsed } from './progress.js'
import { Failure } from './terminal.js'

const FORMATS = ['csv', 'ndjson', 'parquet'] as const
const Sites = z.array(z.object({ id: z.int() }))

export const exportRows = defineCommand({
  name: 'export',
  summary: 'write the stored rows of a site to a file, as CSV, NDJSON or Parquet',
  examples: [
    { line: 'export --table agents --output agents.parquet', doc: 'every fetch of an agent, for DuckDB or pandas' },
  ],
  flags: z.object({
    table: flag(
      '--table <table>',
      'events (people) or agent_events (fetches; also: agents)',
      z
        .enum(['events', 'agent_events', 'agents'], { error: 'must be events or agent_events' })
        .transform((table) => (table === 'agent_events' ? 'agents' : table)),
    ),
    format: flag(
      '--format <format>',
      "csv, ndjson or parquet (default: by the file's ending, else csv)",
      z.enum(FORMATS, 'must be csv, ndjson or parquet').optional(),
    ),
    range: RANGE_FLAG,
    site: flag('--site <id>', 'site (default: the only one)', idOf('a site').optional()),
    output: flag('--output <file>', 'file to write (default: standard output)', z.string().min(1).optional()),
  }),
  async run({ flags, config, terminal }) {
    const { table, range = DEFAULT_RANGE, output = '-' } = flags
    const format = flags.format ?? FORMATS.find((name) => output.toLowerCase().endsWith(`.${name}`)) ?? 'csv'
    if (format === 'parquet' && output === '-' && terminal.columns !== undefined)
      throw new Failure('Parquet is not text for a terminal: name a file with --output.', 2)
    let written = 0
    const count = async function* (parts: AsyncIterable<Uint8Array>) {
      for await (const bytes of parts) {
        written += bytes.length
        yield bytes
      }
    }
    const write = async (bytes: AsyncIterable<Uint8Array>) => {
      if (output !== '-') await writeOutputFile(output, count(bytes), 0o600)
      else if (format === 'parquet') await writeToOutput(terminal, count(bytes))
      else await printOutput(terminal, count(bytes))
    }
    const run = async (client: Client) => {
      const query = { table, range, site: flags.site ?? (await findSite(client)) }
      if (format !== 'parquet') return write(client.file(`/control/export/rows${queryString({ ...query, format })}`))
      const { readFile } = await import('../../storage/backup/archive.js')
      for await (const text of client.textLines(`/control/export/file${queryString(query)}`)) {
        if ('done' in BackupLine.parse(JSON.parse(text))) continue
        // The file is there until the response is closed, which leaving the loop does.
        return await write(readFile(join(config.data, BACKUP_DIRECTORY, EXPORTED_ROWS)))
      }
      throw new Failure('The service ended before the rows were written; its log says why.')
    }
    await withClient({ config, terminal }, (client) =>
      // On a terminal, the rows themselves are what is shown.
      output === '-' && terminal.columns !== undefined
        ? run(client)
        : showElapsed(
            terminal,
            () => (written === 0 ? 'Reading rows' : `Writing: ${formatBytes(written)}`),
            run(client),
          ),
    )
    if (output !== '-') terminal.err(`Wrote ${escapeText(output)}: ${formatBytes(written)} of ${format}.\n`)
  },
})

async function findSite(client: Client): Promise<number> {
  const [only, ...more] = await client.read(Sites, 'GET', '/api/sites')
  if (!only || more.length > 0) throw new Failure('Name the site with --site; see readership sites list.', 2)
  return only.id
}
