import { createReadStream, existsSync, realpathSync } from 'node:fs'
import { z } from 'zod'
import { InstanceStatus } from '../../api/instance-status.js'
import { GeoSources } from '../../api/worker-control.js'
import { openMmdb } from '../../worker/ingest/place/mmdb.js'
import { findMmdbProblem } from '../../worker/ingest/place/mmdb-check.js'
import { isRunning, withClient } from './client.js'
import { type CommandCall, defineCommand, flag } from './command.js'
import { escapeText } from './escape.js'
import { writeOutputFile } from './output-file.js'
import { Failure } from './terminal.js'

export const geoipUpdate = defineCommand({
  name: 'geoip update',
  summary: 'put a newer MMDB file in the place of the one of --geoip; a running instance takes it over',
  arguments: [{ syntax: '<file>', doc: 'the newer file' }],
  settings: ['geoip'],
  flags: z.object({
    force: flag('--force', 'also a file that is older, or knows less', z.boolean().default(false)),
  }),
  async run(call) {
    const { args, flags, terminal } = call
    const [file = ''] = args
    const running = await isRunning(call.config.data)
    const target = running ? await findRunningTarget(call) : call.config.geoip
    if (target === undefined)
      throw new Failure(
        running
          ? 'The running instance has no file of places: start it with --geoip FILE.'
          : 'No instance runs, and no setting names the file to replace: give it with --geoip FILE.',
        2,
      )
    const next = openFile(file)
    const current = existsSync(target) ? openFile(target) : undefined
    const isSame = current !== undefined && realpathSync(file) === realpathSync(target)
    const problem = isSame ? undefined : findMmdbProblem(next, current)
    if (problem !== undefined && !flags.force)
      throw new Failure(`${file} was not taken: ${problem}. --force takes it all the same.`)
    // Through a symbolic link, so that the link stays.
    if (!isSame) await writeOutputFile(existsSync(target) ? realpathSync(target) : target, createReadStream(file))
    const says = `${next.type} of ${next.date}${current && !isSame ? `, after ${current.type} of ${current.date}` : ''}`
    if (running) await reload(call)
    terminal.err(
      escapeText(`${target} is ${says}: ${running ? 'rows have its places from now on' : 'the next start uses it'}.`) +
        '\n',
    )
  },
})

function openFile(file: string) {
  try {
    return openMmdb(file)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the file that the running instance reads; an application names it with --geoip. */
const findRunningTarget = (call: CommandCall<unknown>): Promise<string | undefined> =>
  withClient(call, async (client) => {
    const { settings } = await client.read(InstanceStatus, 'GET', '/control/status')
    return settings?.geoip ?? (settings === undefined ? call.config.geoip : undefined)
  })

const reload = (call: CommandCall<unknown>) =>
  withClient(call, (client) => client.read(GeoSources, 'POST', '/control/geoip/reload'))
