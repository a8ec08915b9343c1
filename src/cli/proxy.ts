import type { Command } from './command.js'

export const proxy: Command = {
  name: 'proxy',
  summary: 'stand in front of a site: proxy it, record its readerships, answer questions',
  arguments: [{ form: '[origin-url]', doc: 'the site, as in http://localhost:3000' }],
  settings: [
    'origin',
    'host',
    'port',
    'admin_host',
    'admin_port',
    'data',
    'domain',
    'base_path',
    'trust_proxy',
    'tls_cert',
    'tls_key',
    'inject',
    'expose',
    'origin_headers_timeout',
    'origin_idle_timeout',
    'cors_origins',
    'memory_limit',
    'min_free_disk',
    'geoip',
    'pdf_font',
    'ranges',
    'offline',
    'log_level',
  ],
  // Loaded when it is asked for: every other command starts faster without it.
  run: async (call) => (await import('./run.js')).runProxy(call),
}
