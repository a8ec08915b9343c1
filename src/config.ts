import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { asciiHostname } from './hostname.js'

/** A setting that is missing, unknown or wrong: one line that names it, for the person at the terminal. */
export class ConfigError extends Error {
  constructor(
    message: string,
    readonly setting: string,
  ) {
    super(message)
    this.name = 'ConfigError'
  }
}

const wholeNumber = (min: number, max: number) =>
  z
    .union([z.int(), z.string().regex(/^\d+$/).transform(Number)], { error: 'must be a whole number' })
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
const nonEmptyText = z.string('must be text').min(1, 'must not be empty')
/** A YAML list, one flag repeated, or one variable with commas. */
const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) =>
      (Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [value])
        .map((one) => (typeof one === 'string' ? one.trim() : one))
        .filter((one) => one !== ''),
    z.array(item),
  )
const originUrl = nonEmptyText.refine((value) => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false
  const url = new URL(value)
  return url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
}, 'must be an http or https URL of a host alone, as in http://localhost:3000')
const serviceUrl = nonEmptyText.refine((value) => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false
  const url = new URL(value)
  return !url.search && !url.hash && !url.username && !url.password
}, 'must be an http or https URL, as in https://stats.example.com')
const smtpUrl = nonEmptyText.refine((value) => {
  if (!/^smtps?:\/\//i.test(value) || !URL.canParse(value)) return false
  return new URL(value).hostname !== ''
}, 'must be an smtp or smtps URL, as in smtp://mail.example.com:587')
const hostname = nonEmptyText.transform((value, context) => {
  const ascii = asciiHostname(value)
  if (ascii === undefined) context.addIssue('must be a hostname, without scheme, port or path')
  return ascii ?? ''
})
/** As a browser writes it in `Origin`: ASCII, lower case, without the scheme's own port. */
const pageOrigin = originUrl.transform((value, context) => {
  const { origin, hostname } = new URL(value)
  if (hostname.includes('*')) context.addIssue('must be one origin, not a pattern')
  return origin
})
const timeoutSeconds = wholeNumber(1, 86_400)
const SIZE_PATTERN = /^\d+(\.\d+)?\s?[KMGT]i?B$/i
/** Bytes of `512MB`, `1.5GiB` or a plain number. */
const byteSize = z
  .union([z.int().min(0), nonEmptyText.regex(/^\d+$/), nonEmptyText.regex(SIZE_PATTERN)], {
    error: 'must be a size such as 512MB',
  })
  .transform((value) => {
    const [, number, unit, binary] = /^([\d.]+)\s?([KMGT]?)(i?)B?$/i.exec(String(value)) ?? []
    const power = unit ? 'KMGT'.indexOf(unit.toUpperCase()) + 1 : 0
    return Math.floor(Number(number) * (binary ? 1024 : 1000) ** power)
  })
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

interface SettingInfo {
  /** One line for `--help` and the README. */
  doc: string
  /** What the flag's value is called in `--help`; absent with no `switch`: the setting is an argument, not a flag. */
  value?: string
  /** The flag has no value: it is there or not. */
  switch?: true
  list?: true
  /** What it is must be in no message. */
  secret?: true
}
const settingInfo = z.registry<SettingInfo>()

/** Every setting once: its form, its default and its meaning. Flag and variable are its name (`flagOf`, `envOf`). */
const Settings = z.strictObject({
  origin: originUrl.optional().register(settingInfo, { doc: 'the site to stand in front of' }),
  host: nonEmptyText
    .default('0.0.0.0')
    .register(settingInfo, { value: 'address', doc: 'address the site is served on' }),
  port: wholeNumber(0, 65_535)
    .default(8080)
    .register(settingInfo, { value: 'port', doc: 'port the site is served on' }),
  admin_host: nonEmptyText
    .default('127.0.0.1')
    .register(settingInfo, { value: 'address', doc: 'address of the service' }),
  admin_port: wholeNumber(0, 65_535).default(8081).register(settingInfo, { value: 'port', doc: 'port of the service' }),
  data: nonEmptyText
    .default('./readership-data')
    .register(settingInfo, { value: 'dir', doc: 'directory of what is stored' }),
  domain: listOf(hostname).default([]).register(settingInfo, {
    value: 'host',
    list: true,
    doc: "the site's hostname; with none, every hostname served is the site's",
  }),
  base_path: nonEmptyText
    .regex(/^\/[\w~.-]+(\/[\w~.-]+)*$/, 'must be a path such as /_readership')
    .default('/_readership')
    .register(settingInfo, { value: 'path', doc: 'where the public listener serves readership itself' }),
  trust_proxy: listOf(nonEmptyText).default(['loopback']).register(settingInfo, {
    value: 'cidr|loopback|private',
    list: true,
    doc: 'peers whose X-Forwarded-For is believed',
  }),
  tls_cert: nonEmptyText.optional().register(settingInfo, {
    value: 'file',
    doc: 'certificate chain (PEM); the site is then served by HTTPS and HTTP/2',
  }),
  tls_key: nonEmptyText
    .optional()
    .register(settingInfo, { value: 'file', doc: 'private key (PEM) of the certificate' }),
  inject: z
    .union([z.boolean(), z.stringbool()], { error: 'must be true or false' })
    .default(false)
    .register(settingInfo, {
      switch: true,
      doc: "adds the tracker's script to the site's HTML pages",
    }),
  expose: listOf(z.enum(['ingest', 'api'], { error: 'must be ingest or api' }))
    .default([])
    .register(settingInfo, {
      value: 'part',
      list: true,
      doc: 'parts of the service (ingest, api) also served under the base path',
    }),
  cors_origins: listOf(pageOrigin).default([]).register(settingInfo, {
    value: 'origin',
    list: true,
    doc: 'pages elsewhere that may ask the reads, with an API key',
  }),
  public_url: serviceUrl
    .optional()
    .register(settingInfo, { value: 'url', doc: 'where people reach the service: what links in mails begin with' }),
  smtp: smtpUrl.optional().register(settingInfo, {
    value: 'url',
    doc: 'mail server, as in smtp://user:password@mail.example.com:587; without one links go to the log',
    secret: true,
  }),
  mail_from: nonEmptyText
    .regex(/^[^\r\n]+$/, 'must be one line')
    .optional()
    .register(settingInfo, {
      value: 'address',
      doc: "sender of mails; not set, readership@ and the public URL's hostname",
    }),
  disable_registration: z
    .union([z.boolean(), z.stringbool()], { error: 'must be true or false' })
    .default(false)
    .register(settingInfo, { switch: true, doc: 'nobody registers; also SERVICE_DISABLE_REGISTRATION' }),
  private_webhooks: z
    .union([z.boolean(), z.stringbool()], { error: 'must be true or false' })
    .default(false)
    .register(settingInfo, { switch: true, doc: 'webhooks may go to addresses of private networks' }),
  collector: serviceUrl.optional().register(settingInfo, {
    value: 'url',
    doc: 'another readership that rows are shipped to, instead of a store here',
  }),
  site: wholeNumber(1, 2_147_483_647)
    .default(1)
    .register(settingInfo, { value: 'id', doc: "the site's id at the collector" }),
  ingest_key: nonEmptyText.regex(/^\S+$/, 'must be one word').optional().register(settingInfo, {
    value: 'key',
    doc: "the site's ingest key; a flag shows in `ps`, a file or the variable does not",
    secret: true,
  }),
  ingest_key_file: nonEmptyText
    .optional()
    .register(settingInfo, { value: 'file', doc: "file of the site's ingest key, read again when it changes" }),
  spool_limit: byteSize
    .pipe(z.int().min(1_000_000, 'must be at least 1MB'))
    .default(1_000_000_000)
    .register(settingInfo, { value: 'size', doc: 'disk for rows that wait for the collector; over it the oldest go' }),
  memory_limit: nonEmptyText.regex(SIZE_PATTERN, 'must be a size such as 512MB').optional().register(settingInfo, {
    value: 'size',
    doc: "memory the store may use; not set, half of the container's limit, without one half of the machine's, at most 2 GB",
  }),
  min_free_disk: byteSize
    .default(512_000_000)
    .register(settingInfo, { value: 'size', doc: 'with less free disk, rows are no longer stored; the site goes on' }),
  geoip: nonEmptyText.optional().register(settingInfo, { value: 'file', doc: 'MMDB file that adds region and city' }),
  pdf_font: nonEmptyText.optional().register(settingInfo, {
    value: 'file',
    doc: 'font for what the shipped one lacks in a PDF: Chinese, Japanese, Korean',
  }),
  ranges: listOf(nonEmptyText).default([]).register(settingInfo, {
    value: 'file|dir',
    list: true,
    doc: "an operator's published addresses from a file of your own, instead of fetching them",
  }),
  offline: z
    .union([z.boolean(), z.stringbool()], { error: 'must be true or false' })
    .default(false)
    .register(settingInfo, {
      switch: true,
      doc: 'no request but to the origin, and no DNS: agents are verified by what is held',
    }),
  origin_headers_timeout: timeoutSeconds
    .default(60)
    .register(settingInfo, { value: 'seconds', doc: 'an origin silent for longer is answered 504' }),
  origin_idle_timeout: timeoutSeconds
    .default(300)
    .register(settingInfo, { value: 'seconds', doc: 'an origin whose body pauses for longer is cut' }),
  log_level: z
    .enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })
    .default('info')
    .register(settingInfo, { value: 'level', doc: 'least level that is logged' }),
})

export type Config = z.output<typeof Settings>
export type SettingName = keyof Config

const isSetting = (name: string): name is SettingName => Object.hasOwn(Settings.shape, name)
const SETTING_NAMES: readonly SettingName[] = Object.keys(Settings.shape).filter(isSetting)
const variableName = (name: SettingName): string => `READERSHIP_${name.toUpperCase()}`
const flagName = (name: SettingName): string => `--${name.replaceAll('_', '-')}`

/** The settings as `--help` and the README's table show them, in order. */
export const SETTINGS = SETTING_NAMES.map((name) => {
  const { doc, value, list, switch: bare } = settingInfo.get(Settings.shape[name]) ?? { doc: '' }
  const fallback = Settings.shape[name].safeParse(undefined)
  return {
    name,
    doc,
    env: variableName(name),
    /** As commander writes it; absent for the origin, which is an argument. */
    ...(value ? { flag: `${flagName(name)} <${value}>` } : bare ? { flag: flagName(name) } : {}),
    list: list === true,
    default: fallback.success ? fallback.data : undefined,
  }
})

const ENV_PREFIX = 'READERSHIP_'
/** The one setting that has a second variable (spec 5.4). */
const ENV_DISABLE_REGISTRATION = 'SERVICE_DISABLE_REGISTRATION'
/** Where the file is: the one variable that is not a setting. */
export const ENV_CONFIG = 'READERSHIP_CONFIG'
export const DEFAULT_FILE = 'readership.yaml'

/** Edit distance, for "did you mean": the nearest known name, when it is near at all. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i)
    for (let i = 1; i <= a.length; i++) {
      const next = [i]
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        )
      row = next
    }
    return row[b.length] ?? 0
  }
  const [best] = known.map((one) => ({ one, far: distance(name, one) })).sort((a, b) => a.far - b.far)
  return best && best.far <= Math.max(2, Math.floor(name.length / 3)) ? best.one : undefined
}

const unknownSetting = (what: string, name: string, known: readonly string[]) => {
  const near = nearestName(name, known)
  return new ConfigError(`${what} is not a setting${near ? `; did you mean ${near}?` : '.'}`, name)
}

interface GivenValue {
  value: unknown
  /** How the person wrote it, for messages. */
  where: string
}

function readSettingsFile(path: string, source: string): Map<SettingName, GivenValue> {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => `${path}:${lines.linePos(offset).line}`
  const [broken] = document.errors
  if (broken) throw new ConfigError(`${at(broken.pos[0])}: ${broken.message.split('\n')[0]}`, path)
  const said = new Map<SettingName, GivenValue>()
  const value: unknown = document.toJS()
  if (value === null || value === undefined) return said
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ConfigError(`${path}: must be a map of settings, as in "port: 8080".`, path)
  for (const [name, one] of Object.entries(value)) {
    const node: unknown = document.get(name, true)
    const range = z.object({ range: z.tuple([z.number()], z.number()) }).safeParse(node)
    const where = range.success ? at(range.data.range[0]) : path
    if (!isSetting(name)) throw unknownSetting(`${where}: ${name}`, name, SETTING_NAMES)
    if (one !== null) said.set(name, { value: one, where: `${where}: ${name}` })
  }
  return said
}

function readEnvironment(env: Readonly<Record<string, string | undefined>>): Map<SettingName, GivenValue> {
  const said = new Map<SettingName, GivenValue>()
  const closed = env[ENV_DISABLE_REGISTRATION]
  if (closed) said.set('disable_registration', { value: closed, where: ENV_DISABLE_REGISTRATION })
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(ENV_PREFIX) || variable === ENV_CONFIG) continue
    const name = SETTING_NAMES.find((one) => variableName(one) === variable)
    if (!name) throw unknownSetting(variable, variable, SETTING_NAMES.map(variableName))
    // A variable set to nothing is how deployment tools write "not set".
    if (value) said.set(name, { value, where: variable })
  }
  return said
}

/** What the settings are read from; disk and environment come in as arguments. */
export interface SettingSources {
  /** By setting name, as text or as what it becomes; what was not given is undefined. */
  flags: Readonly<Partial<Record<SettingName, unknown>>>
  env: Readonly<Record<string, string | undefined>>
  /** `--config`, or `READERSHIP_CONFIG`; absent: `readership.yaml` where there is one. */
  file?: string | undefined
  /** The file's text; undefined where there is no such file. */
  read(path: string): string | undefined
}

/**
 * Every setting, by rising precedence: defaults, file, environment, flags (contract 2). Throws `ConfigError` whose
 * message is one line that names the setting, and the file's line where it came from one.
 */
export function loadConfig(sources: SettingSources): Config {
  const asked = sources.file ?? (sources.env[ENV_CONFIG] || undefined)
  const source = sources.read(asked ?? DEFAULT_FILE)
  if (asked && source === undefined) throw new ConfigError(`${asked}: no such configuration file.`, 'config')
  const said = new Map<SettingName, GivenValue>([
    ...(source === undefined ? [] : readSettingsFile(asked ?? DEFAULT_FILE, source)),
    ...readEnvironment(sources.env),
    ...SETTING_NAMES.flatMap((name): [SettingName, GivenValue][] => {
      const value = sources.flags[name]
      return value === undefined ? [] : [[name, { value, where: name === 'origin' ? 'origin' : flagName(name) }]]
    }),
  ])
  const parsed = Settings.safeParse(Object.fromEntries([...said].map(([name, one]) => [name, one.value])))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = String(issue?.path[0] ?? '')
    const one = isSetting(name) ? said.get(name) : undefined
    const value = [one?.value].flat()[Number(issue?.path[1] ?? 0)]
    const secret = isSetting(name) && settingInfo.get(Settings.shape[name])?.secret === true
    throw new ConfigError(
      `${one?.where ?? name} ${issue?.message ?? 'is invalid'}${secret ? '' : `, not ${JSON.stringify(value)}`}.`,
      name,
    )
  }
  const { tls_cert, tls_key } = parsed.data
  if ((tls_cert === undefined) !== (tls_key === undefined))
    throw new ConfigError('--tls-cert and --tls-key go together.', tls_cert ? 'tls_key' : 'tls_cert')
  checkShipping(parsed.data, said)
  return parsed.data
}

/** What only a store has a use for, and what only shipping has. */
const STORE_SETTINGS: readonly SettingName[] = [
  'domain',
  'expose',
  'cors_origins',
  'public_url',
  'smtp',
  'mail_from',
  'disable_registration',
  'private_webhooks',
  'memory_limit',
  'geoip',
  'pdf_font',
  'ranges',
]
const SHIPPING_SETTINGS: readonly SettingName[] = ['site', 'ingest_key', 'ingest_key_file', 'spool_limit']

function checkShipping({ collector, ingest_key, ingest_key_file }: Config, said: Map<SettingName, GivenValue>): void {
  const first = (some: readonly SettingName[]) => some.find((name) => said.has(name))
  const where = (name: SettingName) => said.get(name)?.where ?? name
  if (collector === undefined) {
    const useless = first(SHIPPING_SETTINGS)
    if (useless) throw new ConfigError(`${where(useless)} is for shipping: it needs --collector.`, useless)
    return
  }
  if (ingest_key !== undefined && ingest_key_file !== undefined)
    throw new ConfigError(`${where('ingest_key')} and ${where('ingest_key_file')} exclude each other.`, 'ingest_key')
  if (ingest_key === undefined && ingest_key_file === undefined)
    throw new ConfigError(
      `${where('collector')} needs the site's ingest key: --ingest-key-file, or READERSHIP_INGEST_KEY.`,
      'ingest_key_file',
    )
  const useless = first(STORE_SETTINGS)
  if (useless)
    throw new ConfigError(`${where(useless)} does nothing here: with --collector it is the collector's.`, useless)
}
