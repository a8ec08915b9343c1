import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { createDataPaths } from '../../capture/request-kind.js'
import { compileLogFormat } from '../access-logs/custom-format.js'
import { detectFormat, explainUnknown } from '../access-logs/detect.js'
import { openLogs } from '../access-logs/read-lines.js'
import { latestTime, readBatches } from './read-batches.js'
import { type FromThread, ThreadFile } from './thread.js'

/** The thread that reads an uploaded log: the process that it belongs to serves the site meanwhile. */
const { file, format: named, tz, data_paths } = ThreadFile.parse(workerData)
const post = (message: FromThread): void => parentPort?.postMessage(message)

let stored = (_failed: boolean) => {}
parentPort?.on('message', (failed: unknown) => stored(z.boolean().parse(failed)))

async function read(): Promise<void> {
  const given = named === undefined ? undefined : compileLogFormat(named)
  const [log] = await openLogs([file], { zone: tz, ...(given && { format: given }) })
  const format = given ?? (log && detectFormat(log.head)?.format)
  if (log === undefined || format === undefined)
    return post({
      type: 'failed',
      message: `The log: ${explainUnknown(log?.head ?? [])}, or name the format with \`format\`.`,
    })
  if (log.lacksUserAgents) {
    const message = 'The log has no user agents, so that people and agents cannot be told apart; nothing was stored.'
    return post({ type: 'failed', message })
  }
  post({ type: 'format', title: format.title })
  let fault: string | undefined
  const counts = await readBatches([{ log, parse: format.createParser({ zone: tz }) }], {
    catalog: loadCatalog(),
    ...(data_paths && { isData: createDataPaths(data_paths) }),
    latest: latestTime(Date.now()),
    send: (batch, counts) =>
      new Promise((resolve, reject) => {
        stored = (failed) => (failed ? reject(new Error('A batch was not stored.')) : resolve())
        post({ type: 'batch', text: JSON.stringify(batch), counts })
      }),
    onBroken() {},
    onFault(_, found) {
      fault = found
    },
    onRead() {},
  })
  post({ type: 'read', counts, ...(fault !== undefined && { fault }) })
}

/** The name of the waiting file is the server's affair: the log has another name for who uploaded it. */
const describeError = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(file, 'the log')

read()
  .catch((error: unknown) => post({ type: 'failed', message: describeError(error) }))
  .finally(() => parentPort?.close())
