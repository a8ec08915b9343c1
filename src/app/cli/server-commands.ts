import { z } from 'zod'
import type { SettingName } from '../config.js'
import type { Command } from './command.js'

/** Settings of every process that listens. */
const SERVER_SETTINGS: readonly SettingName[] = [
  'host',
  'port',
  'domain',
  'trust_proxy',
  'cors_origins',
  'public_url',
  'smtp',
  'mail_from',
  'disable_registration',
  'private_webhooks',
  'indexnow_url',
  'rules',
  'memory_limit',
  'min_free_disk',
  'max_disk',
  'backup_dir',
  'backup_keep',
  'geoip',
  'pdf_font',
  'ranges',
  'spam_referrers',
  'trusted_referrers',
  'offline',
  'log_level',
  'store',
  'control',
  'role',
  'advertise',
]

// `servers.js` is loaded when one of these runs, so that every other command starts faster.

/** Settings of a proxy: all that a server takes. */
export const PROXY_SETTINGS: readonly SettingName[] = [
  ...SERVER_SETTINGS,
  ...([
    'origin',
    'admin_host',
    'admin_port',
    'base_path',
    'tls_cert',
    'tls_key',
    'inject',
    'page_samples',
    'expose',
    'origin_headers_timeout',
    'origin_idle_timeout',
    'workers',
    'collector',
    'site',
    'ingest_key',
    'ingest_key_file',
    'spool_limit',
  ] as const),
]

export const proxy: Command = {
  name: 'proxy',
  summary: 'proxy a site, record its people and agents, and serve the API',
  arguments: [{ syntax: '[origin-url]', doc: 'site to proxy, such as http://localhost:3000' }],
  settings: PROXY_SETTINGS,
  flags: z.object({}),
  run: async (call) => (await import('./servers.js')).runProxy(call),
}

export const serve: Command = {
  name: 'serve',
  summary: 'serve the API without a site to proxy, on one listener at /',
  settings: SERVER_SETTINGS,
  flags: z.object({}),
  run: async (call) => (await import('./servers.js')).runServe(call),
}
