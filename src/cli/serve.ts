import type { Command } from './command.js'

export const serve: Command = {
  name: 'serve',
  summary: 'the service alone, without an origin: one listener, everything at /',
  settings: [
    'host',
    'port',
    'data',
    'domain',
    'trust_proxy',
    'cors_origins',
    'public_url',
    'smtp',
    'mail_from',
    'disable_registration',
    'private_webhooks',
    'memory_limit',
    'min_free_disk',
    'geoip',
    'pdf_font',
    'ranges',
    'offline',
    'log_level',
  ],
  run: async (call) => (await import('./servers.js')).runServe(call),
}
