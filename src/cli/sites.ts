import { z } from 'zod'
import { IngestKey } from '../manage/ingest-keys.js'
import { Site } from '../manage/sites.js'
import { connect } from './client.js'
import { type Command, type CommandCall, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'
import { Failure } from './terminal.js'

const OrgId = z.string().regex(/^\d+$/, 'must be the id of an organisation').transform(Number)

function siteIdArgument({ args: [id = ''] }: Pick<CommandCall, 'args'>): string {
  if (!/^\d+$/.test(id)) throw new Failure(`${id} is not the id of a site; see readership sites list.`, 2)
  return id
}

const Create = z.object({
  org: OrgId.default(1),
  name: z.string('is missing: it says which site it is'),
  domain: z.array(z.string(), 'is missing: the hostname of the site'),
  timezone: z.string().optional(),
  json: z.boolean().default(false),
})
const Made = z.object({ data: Site.extend({ ingest_key: z.string() }) })

export const sitesCreate: Command = {
  name: 'sites create',
  summary: 'make a site, and show what its servers sign with',
  settings: ['data'],
  flags: [
    { form: '--name <name>', doc: 'what it is called' },
    { form: '--domain <host>', doc: 'its hostname (repeatable)', list: true },
    { form: '--timezone <zone>', doc: "of its days (default this machine's)" },
    { form: '--org <id>', doc: 'its organisation (default 1)' },
    JSON_FLAG,
  ],
  async run(call) {
    const { org, name, domain: domains, timezone, json } = parseFlags(call, Create)
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
      const { data } = Made.parse(await client.call('POST', '/api/sites', { org, name, domains, timezone: zone }))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.ingest_key}\n`)
        call.terminal.err(
          `Site ${data.id}, ${data.domains.join(', ')}. Its ingest key again: readership sites ingest-key ${data.id}\n`,
        )
      }
    } finally {
      await client.close()
    }
  },
}

const List = z.object({ org: OrgId.optional(), json: z.boolean().default(false) })

export const sitesList: Command = {
  name: 'sites list',
  summary: 'the sites by name and hostname',
  settings: ['data'],
  flags: [{ form: '--org <id>', doc: 'of one organisation' }, JSON_FLAG],
  async run(call) {
    const { org, json } = parseFlags(call, List)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = z
        .object({ data: z.array(Site) })
        .parse(await client.call('GET', `/api/sites${org === undefined ? '' : `?org=${org}`}`))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else
        call.terminal.out(
          formatTable(
            call.terminal,
            [{ title: 'ID', right: true }, { title: 'NAME' }, { title: 'TIMEZONE' }, { title: 'DOMAINS' }],
            data.map(({ id, name, timezone, domains }) => [
              String(id),
              name,
              timezone,
              domains.length > 0 ? domains.join(', ') : 'every hostname that no other site has',
            ]),
          ),
        )
    } finally {
      await client.close()
    }
  },
}

const OnOff = z.enum(['on', 'off'], 'is on or off').transform((word) => word === 'on')
/** A number, or `none` to take it away. */
const NumberOrNone = z
  .string()
  .regex(/^(none|\d+(\.\d+)?)$/, 'is a number, or none')
  .transform((word) => (word === 'none' ? null : Number(word)))
const Update = z.object({
  name: z.string().optional(),
  domain: z.array(z.string()).optional(),
  timezone: z.string().optional(),
  currency: z.string().optional(),
  exclude: z.array(z.string()).optional(),
  respectGpc: OnOff.optional(),
  visitorSalt: z.string().optional(),
  retentionDays: NumberOrNone.optional(),
  citationThreshold: NumberOrNone.optional(),
  origin: z
    .string()
    .transform((word) => (word === 'none' ? null : word))
    .optional(),
  json: z.boolean().default(false),
})

export const sitesUpdate: Command = {
  name: 'sites update',
  summary: 'change a site, in force at once',
  arguments: [{ form: '<id>', doc: 'from sites list' }],
  settings: ['data'],
  flags: [
    { form: '--name <name>', doc: 'what it is called' },
    { form: '--domain <host>', doc: 'its hostname, in place of those before (repeatable)', list: true },
    { form: '--timezone <zone>', doc: 'of its days' },
    { form: '--currency <code>', doc: 'ISO 4217' },
    { form: '--exclude <path>', doc: 'path that is not recorded, in place of those before (repeatable)', list: true },
    { form: '--respect-gpc <on|off>', doc: 'whether Sec-GPC and DNT are honoured' },
    { form: '--visitor-salt <period>', doc: 'how long a visitor is the same: day, week, month, never' },
    { form: '--retention-days <n>', doc: 'when rows go, or none' },
    { form: '--citation-threshold <n>', doc: 'fetches per arrival, or none' },
    { form: '--origin <url>', doc: 'where robots.txt is read for rows that other servers send, or none' },
    JSON_FLAG,
  ],
  async run(call) {
    const id = siteIdArgument(call)
    const { json, domain, exclude, respectGpc, visitorSalt, retentionDays, citationThreshold, ...rest } = parseFlags(
      call,
      Update,
    )
    const change = {
      ...rest,
      ...{ domains: domain, excluded_paths: exclude, respect_gpc: respectGpc, visitor_salt: visitorSalt },
      ...{ retention_days: retentionDays, citation_threshold: citationThreshold },
    }
    if (Object.values(change).every((value) => value === undefined)) throw new Failure('Say what is to change.', 2)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = z.object({ data: Site }).parse(await client.call('PATCH', `/api/sites/${id}`, change))
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else call.terminal.err(`Site ${id} is version ${data.version} now.\n`)
    } finally {
      await client.close()
    }
  },
}

const Delete = z.object({ yes: z.literal(true, 'is missing: a deleted site does not come back') })

export const sitesDelete: Command = {
  name: 'sites delete',
  summary: 'delete a site with all that was recorded of it',
  arguments: [{ form: '<id>', doc: 'from sites list' }],
  settings: ['data'],
  flags: [{ form: '--yes', doc: 'it is meant' }],
  async run(call) {
    const id = siteIdArgument(call)
    parseFlags(call, Delete)
    const client = await connect(call.config, call.terminal)
    try {
      await client.call('DELETE', `/api/sites/${id}`)
      call.terminal.err(`Deleted: site ${id}.\n`)
    } finally {
      await client.close()
    }
  },
}

const Shown = z.object({ rotate: z.boolean().default(false), json: z.boolean().default(false) })

export const sitesIngestKey: Command = {
  name: 'sites ingest-key',
  summary: 'what the servers of a site sign with',
  arguments: [{ form: '<id>', doc: 'from sites list' }],
  settings: ['data'],
  flags: [{ form: '--rotate', doc: 'make a new one; the one before stays good for a day' }, JSON_FLAG],
  async run(call) {
    const id = siteIdArgument(call)
    const { rotate, json } = parseFlags(call, Shown)
    const client = await connect(call.config, call.terminal)
    try {
      const path = `/api/sites/${id}/ingest-key`
      const answer = await (rotate ? client.call('POST', `${path}/rotate`) : client.call('GET', path))
      const { data } = z.object({ data: IngestKey }).parse(answer)
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.ingest_key}\n`)
        if (data.previous_until) call.terminal.err(`The one before is good until ${data.previous_until}.\n`)
      }
    } finally {
      await client.close()
    }
  },
}
