import { logUncaughtErrors } from '../lifecycle.js'
import { createLog } from '../log.js'
import type { Terminal } from '../terminal.js'
import type { FromSiteProcess, SiteProcessOptions, ToSiteProcess } from './protocol.js'
import { serveSite } from './serve-site.js'

// A terminal sends its signals to every process of the group; the first one says when this process ends. If the first one
// is killed, node:cluster ends this one.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

const terminal: Pick<Terminal, 'out' | 'onUncaughtError' | 'exit'> = {
  out: (text) => process.stdout.write(text),
  onUncaughtError(listener) {
    process.on('uncaughtException', listener)
    process.on('unhandledRejection', listener)
  },
  exit: (code) => process.exit(code),
}
const post = (message: FromSiteProcess, sent: () => void = () => {}): void => {
  // With a callback, a failed send emits no `error` event; `disconnect` follows.
  process.send?.(message, undefined, undefined, sent)
}

process.once('message', (options: SiteProcessOptions) => {
  const log = createLog({ ...terminal, ...options.terminal }, options.config.log_level)
  logUncaughtErrors(terminal, log)
  const receive = serveSite(options, { log, post, end: () => process.disconnect() })
  process.on('message', (message: ToSiteProcess) => receive(message))
})
post({ type: 'ready' })
