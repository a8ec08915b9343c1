import { ApiError } from '../base/errors.js'
import type { EventStore } from '../storage/event-store.js'
import type { Log, RecordStore } from '../storage/store.js'
import { machineTime } from '../worker-client/protocol.js'
import type { ParentPort } from './parent-port.js'
import type { WorkerApi } from './parts.js'
import { createRequests, toSql } from './requests.js'
import type { openSites } from './sites.js'
import type { Writer } from './writer.js'

/** Handles the messages of the site's process. */
export function listen(
  port: ParentPort,
  deps: {
    events: Pick<EventStore, 'query' | 'stream'>
    records: Pick<RecordStore, 'query' | 'write'>
    sites: Awaited<ReturnType<typeof openSites>>
    api: WorkerApi
    writer: Pick<Writer, 'push'>
    setTailing: (on: boolean) => void
    setNoting: (on: boolean) => void
    end: (code: number) => void
    log: Log
  },
): void {
  const { events, records, sites, api, writer, log } = deps
  const onError = (error: unknown) => log('error', 'a statement failed', error)
  const requests = createRequests({ events, records, post: port.post, onError })
  port.listen((message) => {
    if ('begin_by' in message && machineTime() > message.begin_by)
      return requests.run(message.id, () => Promise.reject(new ApiError('database_error', 'The worker was stopped.')))
    switch (message.type) {
      case 'ping':
        return port.post({ type: 'pong' })
      case 'batch':
        return writer.push(message)
      case 'tail':
        return deps.setTailing(message.on)
      case 'verdicts':
        return deps.setNoting(message.on)
      case 'close':
        return deps.end(0)
      case 'query':
        return requests.query(message)
      case 'stream':
        return requests.stream(message)
      case 'more':
        return requests.acknowledge(message.id)
      case 'cancel':
        return requests.cancel(message.id)
      case 'call':
        return requests.run(message.id, async () => {
          const run = api[message.name]
          if (!run) throw new ApiError('not_found', `The worker has no function ${message.name}.`)
          return { type: 'result', id: message.id, value: await run(message.argument) }
        })
      case 'write':
        return requests.run(message.id, async () => {
          await records.write(...message.statements.map(toSql))
          await sites.reload()
          return { type: 'rows', id: message.id, rows: [] }
        })
    }
  })
}
