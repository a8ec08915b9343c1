import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { suggestName } from '../base/nearest-name.js'
import {
  byteSize,
  databaseUrl,
  hostname,
  listOf,
  logLevel,
  nonEmptyText,
  originUrl,
  pageOrigin,
  SIZE_PATTERN,
  serviceUrl,
  smtpUrl,
  timeoutSeconds,
  wholeNumber,
} from './config-values.js'

/** A setting that is missing, unknown or invalid; the message is one line that names it. */
export class ConfigError extends Error {
  constructor(
    message: string,
    readonly setting: string,
  ) {
    super(message)
    this.name = 'ConfigError'
  }
}

interface SettingInfo {
  /** One line for `--help` and src/app/cli/README.md. */
  doc: string
  /** Name of the flag's value in `--help`. A setting with neither `value` nor `switch` is an argument. */
  value?: string
  /** The flag takes no value. */
  switch?: true
  list?: true
  /** The value never appears in a message. */
  secret?: true
  /** For a setting that a later release removes: the words that say what takes its place. */
  deprecated?: string
}
const settingInfo = z.registry<SettingInfo>()
/** Describes a setting for `--help`; `value` names the flag's value. */
function setting<T extends z.ZodType>(
  value: string | undefined,
  doc: string,
  schema: T,
  more: Partial<SettingInfo> = {},
) {
  settingInfo.add(schema, { doc, ...(value === undefined ? {} : { value }), ...more })
  return schema
}
const switchSetting = (doc: string) => {
  const word = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' }).default(false)
  return setting(undefined, doc, word, { switch: true })
}
const onOffSetting = (doc: string) => setting('on|off', doc, z.enum(['on', 'off'], 'must be on or off').default('on'))
const listSetting = <T extends z.ZodType>(value: string, doc: string, item: T, preset: z.output<T>[] = []) =>
  setting(value, doc, listOf(item).default(preset), { list: true })

/** All settings with schema, default and description. `flagName` and `variableName` derive flag and variable. */
const Settings = z.strictObject({
  origin: setting(undefined, 'URL of the site to proxy', originUrl.optional()),
  host: setting(
    'address',
    'address to serve the site on (serve: the dashboard and the API)',
    nonEmptyText.default('0.0.0.0'),
  ),
  port: setting(
    'port',
    'port to serve the site on (serve: the dashboard and the API)',
    wholeNumber(0, 65_535).default(8080),
  ),
  admin_host: setting('address', 'address to serve the dashboard and the API on', nonEmptyText.default('127.0.0.1')),
  admin_port: setting('port', 'port to serve the dashboard and the API on', wholeNumber(0, 65_535).default(8081)),
  data: setting('dir', 'data directory', nonEmptyText.default('./readership-data')),
  domain: listSetting('host', "the site's hostname; if not set, every hostname belongs to the site", hostname),
  base_path: setting(
    'path',
    "path under which the site's listener serves readership itself",
    nonEmptyText.regex(/^\/[\w~.-]+(\/[\w~.-]+)*$/, 'must be a path such as /_readership').default('/_readership'),
  ),
  trust_proxy: listSetting('cidr|loopback|private', 'peers whose X-Forwarded-For is trusted', nonEmptyText, [
    'loopback',
  ]),
  tls_cert: setting('file', 'certificate chain (PEM); serves the site over HTTPS and HTTP/2', nonEmptyText.optional()),
  tls_key: setting('file', 'private key (PEM) of the certificate', nonEmptyText.optional()),
  inject: switchSetting("add the tracker script to the site's HTML pages"),
  expose: listSetting(
    'part',
    'part of the service to serve under the base path too: ingest, mcp, or api (all of it, with the dashboard)',
    z
      .enum(['ingest', 'mcp', 'api', 'dashboard'], { error: 'must be ingest, mcp, or api (also: dashboard)' })
      // The dashboard is a client of the API: neither is served without the other.
      .transform((part) => (part === 'dashboard' ? 'api' : part)),
  ),
  cors_origins: listSetting('origin', 'origins whose pages may call the reads with an API key (CORS)', pageOrigin),
  public_url: setting('url', 'URL at which people reach the service; mails link to it', serviceUrl.optional()),
  smtp: setting(
    'url',
    'mail server, such as smtp://user:password@mail.example.com:587; without it links are logged',
    smtpUrl.optional(),
    { secret: true },
  ),
  mail_from: setting(
    'address',
    "sender of mails (default: readership@ the public URL's hostname)",
    nonEmptyText.regex(/^[^\r\n]+$/, 'must be one line').optional(),
  ),
  disable_registration: switchSetting('close registration of new accounts; also SERVICE_DISABLE_REGISTRATION'),
  private_webhooks: switchSetting('allow webhooks to addresses of private networks'),
  indexnow_url: setting('url', 'receiver of IndexNow pings', serviceUrl.default('https://api.indexnow.org/indexnow')),
  rules: onOffSetting('whether rules for agents decide'),
  page_samples: onOffSetting('whether the proxy copies few pages, to find when their texts change'),
  workers: setting(
    'number',
    'processes that serve the site and share its port; the store stays one more process',
    wholeNumber(1, 64).default(1),
  ),
  store: setting(
    'url',
    'ClickHouse database for hits and fetches, such as clickhouse://user:password@host:8123/readership',
    databaseUrl(/^clickhouse:\/\//i, 'clickhouse://user@host:8123/readership').optional(),
    { secret: true },
  ),
  control: setting(
    'url',
    'PostgreSQL database for accounts, sites and keys, such as postgres://user:password@host:5432/readership',
    databaseUrl(/^postgres(?:ql)?:\/\//i, 'postgres://user@host:5432/readership').optional(),
    { secret: true },
  ),
  to: setting(
    'store',
    'where migrate copies to: clickhouse://… with its --control, or duckdb:DIRECTORY',
    nonEmptyText.optional(),
    { secret: true },
  ),
  role: setting(
    'role',
    'what this process does where several share the records: writer, reader, or both',
    z.enum(['writer', 'reader', 'both'], { error: 'must be writer, reader or both' }).default('both'),
  ),
  advertise: setting(
    'url',
    "URL at which the other processes reach the service of this one (default: this machine's name, with the port)",
    serviceUrl.optional(),
  ),
  collector: setting(
    'url',
    'URL of another readership to ship rows to, instead of storing them here',
    serviceUrl.optional(),
  ),
  site: setting('id', "the site's ID at the collector", wholeNumber(1, 2_147_483_647).default(1)),
  ingest_key: setting(
    'key',
    "the site's ingest key; `ps` shows flags, so prefer the variable or --ingest-key-file",
    nonEmptyText.regex(/^\S+$/, 'must be one word').optional(),
    { secret: true },
  ),
  ingest_key_file: setting(
    'file',
    "file with the site's ingest key, read again when it changes",
    nonEmptyText.optional(),
  ),
  spool_limit: setting(
    'size',
    'disk space for rows waiting for the collector; beyond it the oldest are dropped',
    byteSize.pipe(z.int().min(1_000_000, 'must be at least 1MB')).default(1_000_000_000),
  ),
  memory_limit: setting(
    'size',
    "memory limit of the store (default: half of the container's or machine's memory, at most 2 GB)",
    nonEmptyText.regex(SIZE_PATTERN, 'must be a size such as 512MB').optional(),
  ),
  min_free_disk: setting(
    'size',
    'minimum free disk space; below it rows are not stored, and the site stays up',
    byteSize.default(512_000_000),
  ),
  max_disk: setting(
    'size',
    'disk space for the store; from 80 % on it warns, and when it is full rows are not stored, and the site stays up',
    byteSize.pipe(z.int().min(10_000_000, 'must be at least 10MB')).optional(),
  ),
  backup_dir: setting(
    'dir',
    'existing directory that gets a backup each night, as readership backup writes it',
    nonEmptyText.optional(),
  ),
  backup_keep: setting('number', 'backups that are kept in --backup-dir', wholeNumber(1, 10_000).default(7)),
  geoip: setting('file', 'MMDB file for region and city lookup', nonEmptyText.optional()),
  pdf_font: setting(
    'file',
    'font for PDF characters that the built-in font lacks (Chinese, Japanese, Korean)',
    nonEmptyText.optional(),
  ),
  ranges: listSetting(
    'file|dir',
    "file or folder with an operator's published address ranges, used instead of fetching them",
    nonEmptyText,
  ),
  spam_referrers: listSetting(
    'host',
    'host whose referrals are spam and no source, besides the hosts of the shipped list',
    hostname,
  ),
  trusted_referrers: listSetting('host', 'host to take off the shipped list of referrer spam', hostname),
  offline: switchSetting(
    'send no requests except to the origin and do no DNS lookups; agents are verified with cached data',
  ),
  origin_headers_timeout: setting(
    'seconds',
    'seconds to wait for response headers before returning 504',
    timeoutSeconds.default(60),
  ),
  origin_idle_timeout: setting(
    'seconds',
    'seconds a response body may pause before the connection is closed',
    timeoutSeconds.default(300),
  ),
  log_level: setting(
    'level',
    'log lines of this level and above: error, warn, info, or debug with each commit',
    logLevel.default('info'),
  ),
})

export type Config = z.output<typeof Settings>

/** Tells whether the settings name a collector. */
export const isShipping = <C extends Pick<Config, 'collector'>>(config: C): config is C & { collector: string } =>
  config.collector !== undefined

export type SettingName = keyof Config
const isSetting = (name: string): name is SettingName => Object.hasOwn(Settings.shape, name)
const SETTING_NAMES: readonly SettingName[] = Object.keys(Settings.shape).filter(isSetting)
const variableName = (name: SettingName): string => `READERSHIP_${name.toUpperCase()}`
const flagName = (name: SettingName): string => `--${name.replaceAll('_', '-')}`

/** All settings in the order of `--help` and src/app/cli/README.md. */
export const SETTINGS = SETTING_NAMES.map((name) => {
  const { value, list, switch: bare, ...info } = settingInfo.get(Settings.shape[name]) ?? { doc: '' }
  return {
    name,
    doc: info.doc,
    deprecated: info.deprecated,
    env: variableName(name),
    /** In commander's notation; undefined for the origin, which is an argument. */
    flag: value ? `${flagName(name)} <${value}>` : bare ? flagName(name) : undefined,
    list: list === true,
    default: Settings.shape[name].safeParse(undefined).data,
  }
})

const ENV_PREFIX = 'READERSHIP_'
/** A second variable of the setting `disable_registration`. */
const ENV_DISABLE_REGISTRATION = 'SERVICE_DISABLE_REGISTRATION'
const ENV_CONFIG = 'READERSHIP_CONFIG'
/** Variables of the repository's tests, which start programs with their own environment. */
const TEST_PREFIX = 'READERSHIP_TEST_'
const DEFAULT_FILE = 'readership.yaml'
const unknownSetting = (what: string, name: string, known: readonly string[]) =>
  new ConfigError(`${what} is not a setting${suggestName(name, known)}`, name)

interface GivenValue {
  value: unknown
  /** Flag, variable, or file and line, for messages. */
  where: string
}

function readSettingsFile(path: string, source: string): Map<SettingName, GivenValue> {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => `${path}:${lines.linePos(offset).line}`
  const [syntaxError] = document.errors
  if (syntaxError) throw new ConfigError(`${at(syntaxError.pos[0])}: ${syntaxError.message.split('\n')[0]}`, path)
  const given = new Map<SettingName, GivenValue>()
  const value: unknown = document.toJS()
  if (value === null || value === undefined) return given
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ConfigError(`${path}: must be a map of settings, such as "port: 8080".`, path)
  for (const [name, entry] of Object.entries(value)) {
    const node: unknown = document.get(name, true)
    const range = z.object({ range: z.tuple([z.number()], z.number()) }).safeParse(node)
    const where = range.success ? at(range.data.range[0]) : path
    if (!isSetting(name)) throw unknownSetting(`${where}: ${name}`, name, SETTING_NAMES)
    if (entry !== null) given.set(name, { value: entry, where: `${where}: ${name}` })
  }
  return given
}

function readEnvironment(env: Readonly<Record<string, string | undefined>>): Map<SettingName, GivenValue> {
  const given = new Map<SettingName, GivenValue>()
  const disabled = env[ENV_DISABLE_REGISTRATION]
  if (disabled) given.set('disable_registration', { value: disabled, where: ENV_DISABLE_REGISTRATION })
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(ENV_PREFIX) || variable === ENV_CONFIG || variable.startsWith(TEST_PREFIX)) continue
    const name = SETTING_NAMES.find((setting) => variableName(setting) === variable)
    if (!name) throw unknownSetting(variable, variable, SETTING_NAMES.map(variableName))
    // Deployment tools set a variable to nothing to mean "not set".
    if (value) given.set(name, { value, where: variable })
  }
  return given
}

/** The sources of settings; disk and environment are arguments. */
export interface SettingSources {
  /** Values by setting name, as text or already parsed; undefined if not given. */
  flags: Readonly<Partial<Record<SettingName, unknown>>>
  env: Readonly<Record<string, string | undefined>>
  /** Value of `--config`. The default is `READERSHIP_CONFIG`, and then `readership.yaml` if it exists. */
  file?: string | undefined
  /** Returns the file's text, or undefined if there is no such file. */
  read(path: string): string | undefined
}

/**
 * Loads all settings, by rising precedence: defaults, file, environment, flags. Throws `ConfigError` with one line that
 * names the setting, and file and line if it comes from the file.
 */
export function loadConfig(sources: SettingSources): Config {
  const named = sources.file ?? (sources.env[ENV_CONFIG] || undefined)
  const source = sources.read(named ?? DEFAULT_FILE)
  if (named && source === undefined) throw new ConfigError(`${named}: no such configuration file.`, 'config')
  const given = new Map<SettingName, GivenValue>([
    ...(source === undefined ? [] : readSettingsFile(named ?? DEFAULT_FILE, source)),
    ...readEnvironment(sources.env),
    ...SETTING_NAMES.flatMap((name): [SettingName, GivenValue][] => {
      const value = sources.flags[name]
      return value === undefined ? [] : [[name, { value, where: name === 'origin' ? 'origin' : flagName(name) }]]
    }),
  ])
  const parsed = Settings.safeParse(Object.fromEntries([...given].map(([name, { value }]) => [name, value])))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = String(issue?.path[0] ?? '')
    const wrong = isSetting(name) ? given.get(name) : undefined
    // For a list, the issue's path names the item.
    const value = [wrong?.value].flat()[Number(issue?.path[1] ?? 0)]
    const secret = isSetting(name) && settingInfo.get(Settings.shape[name])?.secret === true
    throw new ConfigError(
      `${wrong?.where ?? name} ${issue?.message ?? 'is invalid'}${secret ? '' : `, not ${JSON.stringify(value)}`}.`,
      name,
    )
  }
  const { tls_cert, tls_key } = parsed.data
  if ((tls_cert === undefined) !== (tls_key === undefined))
    throw new ConfigError('--tls-cert and --tls-key must be set together.', tls_cert ? 'tls_key' : 'tls_cert')
  checkShipping(parsed.data, given)
  checkShared(parsed.data, given)
  if (given.has('backup_keep') && parsed.data.backup_dir === undefined)
    throw new ConfigError(`${given.get('backup_keep')?.where} needs --backup-dir.`, 'backup_keep')
  return parsed.data
}

/** Checks that a process which shares its work names the stores that all of them reach. */
function checkShared({ store, control, role }: Config, given: Map<SettingName, GivenValue>): void {
  const where = (name: SettingName) => given.get(name)?.where ?? name
  if (role !== 'both' && (store === undefined || control === undefined))
    throw new ConfigError(`${where('role')} needs --store and --control, which the processes share.`, 'role')
  if (given.has('advertise') && control === undefined)
    throw new ConfigError(`${where('advertise')} needs --control.`, 'advertise')
}

/** Settings that have no effect if rows are shipped to a collector. */
const STORE_SETTINGS: readonly SettingName[] = [
  ...(['domain', 'expose', 'cors_origins', 'public_url', 'smtp', 'mail_from', 'disable_registration'] as const),
  ...(['private_webhooks', 'indexnow_url', 'memory_limit', 'max_disk', 'geoip', 'pdf_font', 'ranges'] as const),
  ...(['spam_referrers', 'trusted_referrers', 'store', 'control', 'role', 'advertise', 'backup_dir'] as const),
]
/** Settings that have no effect without a collector. */
const SHIPPING_SETTINGS: readonly SettingName[] = ['site', 'ingest_key', 'ingest_key_file', 'spool_limit']

function checkShipping({ collector, ingest_key, ingest_key_file }: Config, given: Map<SettingName, GivenValue>): void {
  const first = (names: readonly SettingName[]) => names.find((name) => given.has(name))
  const where = (name: SettingName) => given.get(name)?.where ?? name
  if (collector === undefined) {
    const unused = first(SHIPPING_SETTINGS)
    if (unused) throw new ConfigError(`${where(unused)} needs --collector.`, unused)
    return
  }
  if (ingest_key !== undefined && ingest_key_file !== undefined)
    throw new ConfigError(
      `${where('ingest_key')} and ${where('ingest_key_file')} cannot be set together.`,
      'ingest_key',
    )
  if (ingest_key === undefined && ingest_key_file === undefined)
    throw new ConfigError(
      `${where('collector')} needs the site's ingest key: --ingest-key-file, or READERSHIP_INGEST_KEY.`,
      'ingest_key_file',
    )
  const unused = first(STORE_SETTINGS)
  if (unused) throw new ConfigError(`${where(unused)} has no effect with --collector: set it at the collector.`, unused)
}
