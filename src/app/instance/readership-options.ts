import type { Log } from '../../base/log.js'

/**
 * The settings that an application may pass to `openReadership`, by the names of the configuration file; the defaults are
 * those of the command line. Written out, so that the published types need no types of another package.
 */
export interface ReadershipOptions {
  /** The site's own address, such as `https://www.example.com`, whose robots.txt and llms.txt are read. */
  origin?: string
  /** Data directory (default `./readership-data`). */
  data?: string
  /** The site's hostnames; without them every hostname belongs to the site. */
  domain?: string[]
  /** Memory limit of the store, such as `512MB` (default: half of the machine's memory, at most 2 GB). */
  memory_limit?: string
  /** Minimum free disk space in bytes, or a size such as `2GB`; below it rows are not stored (default 512,000,000). */
  min_free_disk?: number | string
  /** Disk space for the store in bytes, or a size such as `20GB`; when it is full rows are not stored. */
  max_disk?: number | string
  /** Existing directory that gets a backup each night. */
  backup_dir?: string
  /** Number of backups that are kept in `backup_dir` (default 7). */
  backup_keep?: number
  /** MMDB file for region and city lookup. */
  geoip?: string
  /** Font for PDF characters that the built-in font lacks (Chinese, Japanese, Korean). */
  pdf_font?: string
  /** Files or folders with operators' published address ranges, used instead of fetching them. */
  ranges?: string[]
  /** Sends no requests except to the origin, and does no DNS lookups (default false). */
  offline?: boolean
  /** Hosts whose referrals are spam, besides those of the shipped list. */
  spam_referrers?: string[]
  /** Hosts to take off the shipped list of referrer spam. */
  trusted_referrers?: string[]
  /** Origins whose pages may call the reads with an API key (CORS). */
  cors_origins?: string[]
  /** URL at which people reach the service; links in mails begin with it. */
  public_url?: string
  /** Mail server, such as `smtp://user:password@mail.example.com:587`; without it links are logged. */
  smtp?: string
  /** Sender of mails (default: readership@ the public URL's hostname). */
  mail_from?: string
  /** Closes registration of new accounts (default false). */
  disable_registration?: boolean
  /** Allows webhooks to addresses of private networks (default false). */
  private_webhooks?: boolean
  /** Whether rules for agents decide (default `on`); `off`: every agent passes. */
  rules?: 'on' | 'off'
  /** URL of another readership to ship rows to, instead of storing them here. */
  collector?: string
  /** The site's id at the collector (default 1). */
  site?: number
  /** The site's ingest key at the collector. */
  ingest_key?: string
  /** File with the site's ingest key, read again when it changes. */
  ingest_key_file?: string
  /** Disk space for rows that wait for the collector, in bytes or as `1GB` (default 1,000,000,000). */
  spool_limit?: number | string
  /** Receives warnings and errors; the default writes them to the console. */
  log?: Log
}
