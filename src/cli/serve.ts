import { openInstance } from '../readership.js'
import type { Command } from './command.js'
import { closing, makeDataDirectory, stopped, surviveFaults } from './lifetime.js'
import { createLog } from './log.js'
import { serveInstance } from './proxy.js'

export const serve: Command = {
  name: 'serve',
  summary: 'the service alone, without an origin: one listener, everything at /',
  settings: ['host', 'port', 'data', 'domain', 'memory_limit', 'min_free_disk', 'geoip', 'log_level'],
  async run({ config, terminal }) {
    const log = createLog(terminal, config.log_level)
    makeDataDirectory(config.data)
    const open = closing(log)
    try {
      const instance = await openInstance(config, { log, version: terminal.version })
      open.add('the store', () => instance.close())
      const at = await serveInstance(
        instance,
        { ...config, admin_host: config.host, admin_port: config.port },
        open.add,
      )
      log.info({ pid: terminal.pid }, `listening: service ${at}, data ${config.data}`)
      surviveFaults(terminal, log)
      await stopped(terminal, log)
    } finally {
      await open.close()
    }
    log.info({}, 'stopped')
  },
}
