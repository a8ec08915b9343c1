import { z } from 'zod'
import { IngestKey } from '../../manage/ingest-keys.js'
import { ManagedSite } from '../../manage/sites.js'
import { type Client, withClient } from './client.js'
import { type CommandCall, defineCommand, defineRequest, flag, idArgument, idOf, queryString } from './command.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const SITE_ARGUMENT = [{ syntax: '<id>', doc: 'site ID, from sites list' }]
const siteIdArgument = (call: CommandCall<unknown>): string => idArgument(call, 'a site', 'sites list')

export const sitesCreate = defineRequest({
  name: 'sites create',
  summary: 'create a site and print its ingest key',
  flags: z.object({
    name: flag('--name <name>', 'name of the site', z.string('is missing: the name of the site')),
    domain: flag(
      '--domain <host>',
      'hostname of the site (repeatable)',
      z.array(z.string(), 'is missing: the hostname of the site'),
      true,
    ),
    timezone: flag('--timezone <zone>', "time zone of its days (default: this machine's)", z.string().optional()),
    org: flag('--org <id>', 'organisation (default 1)', idOf('an organisation').default(1)),
  }),
  create: true,
  result: ManagedSite.extend({ ingest_key: z.string() }),
  request: ({ flags: { org, name, domain, timezone } }) => [
    'POST',
    '/api/sites',
    {
      org,
      name,
      domains: domain,
      timezone: timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
  ],
  print({ id, domains, ingest_key }, { terminal }) {
    terminal.out(`${ingest_key}\n`)
    terminal.err(
      `Created site ${id}, ${domains.join(', ')}. To print its ingest key again: readership sites ingest-key ${id}\n`,
    )
  },
})

export const sitesList = defineRequest({
  name: 'sites list',
  summary: 'list sites with their hostnames',
  flags: z.object({ org: flag('--org <id>', 'only this organisation', idOf('an organisation').optional()) }),
  result: z.array(ManagedSite),
  request: ({ flags }) => ['GET', `/api/sites${queryString(flags)}`],
  print: (sites, { terminal }) =>
    printTable(
      terminal,
      [right('ID'), 'NAME', 'TIMEZONE', 'DOMAINS'],
      sites.map(({ id, name, timezone, domains }) => [
        String(id),
        name,
        timezone,
        domains.join(', ') || 'every hostname of no other site',
      ]),
    ),
})

const OnOff = z.enum(['on', 'off'], 'must be on or off').transform((word) => word === 'on')
/** A number; `none` removes the setting. */
const NumberOrNone = z
  .string()
  .regex(/^(none|\d+(\.\d+)?)$/, 'must be a number, or none')
  .transform((word) => (word === 'none' ? null : Number(word)))
const price = (unit: string, what: string) =>
  flag(`--price-per-${unit} <n>`, `price of ${what}, or none`, NumberOrNone.optional())
const TextOrNone = z.string().transform((word) => (word === 'none' ? null : word))

export const sitesUpdate = defineRequest({
  name: 'sites update',
  summary: 'change a site, effective immediately',
  arguments: SITE_ARGUMENT,
  flags: z.object({
    name: flag('--name <name>', 'name of the site', z.string().optional()),
    domain: flag(
      '--domain <host>',
      'hostname; replaces the previous ones (repeatable)',
      z.array(z.string()).optional(),
      true,
    ),
    timezone: flag('--timezone <zone>', 'time zone of its days', z.string().optional()),
    currency: flag('--currency <code>', 'ISO 4217 code', z.string().optional()),
    exclude: flag(
      '--exclude <path>',
      'path that is not recorded; replaces the previous ones (repeatable)',
      z.array(z.string()).optional(),
      true,
    ),
    section: flag(
      '--section <pattern>',
      'group of pages, as /blog/*; the first that fits decides; replaces the previous ones (repeatable)',
      z.array(z.string()).optional(),
      true,
    ),
    respectGpc: flag('--respect-gpc <on|off>', 'honour Sec-GPC and DNT', OnOff.optional()),
    visitorSalt: flag(
      '--visitor-salt <period>',
      'how long a visitor keeps one ID: day, week, month, never',
      z.string().optional(),
    ),
    retentionDays: flag('--retention-days <n>', 'days until rows are deleted, or none', NumberOrNone.optional()),
    citationThreshold: flag('--citation-threshold <n>', 'fetches per arrival, or none', NumberOrNone.optional()),
    pricePerGigabyte: price('gigabyte', '10^9 bytes to agents'),
    pricePerThousandRequests: price('thousand-requests', '1,000 fetches by agents'),
    pricePerOriginSecond: price('origin-second', 'a second of origin time'),
    indexnowKey: flag(
      '--indexnow-key <key>',
      'key to announce changed pages with by IndexNow, or none',
      TextOrNone.optional(),
    ),
    indexnowKeyLocation: flag('--indexnow-key-location <url>', "URL of the key's file, or none", TextOrNone.optional()),
    origin: flag(
      '--origin <url>',
      'URL to read robots.txt from, for rows sent by other servers, or none',
      TextOrNone.optional(),
    ),
  }),
  result: ManagedSite,
  request(call) {
    const { domain, exclude, section, ...rest } = call.flags
    // The other flags are named as the site's fields.
    const fields = Object.entries(rest).map(([flag, value]) => [
      flag.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ])
    const change = { domains: domain, excluded_paths: exclude, sections: section, ...Object.fromEntries(fields) }
    const id = siteIdArgument(call)
    if (Object.values(change).every((value) => value === undefined))
      throw new Failure('Nothing to change: give at least one flag.', 2)
    return ['PATCH', `/api/sites/${id}`, change]
  },
  print: ({ id, version }, { terminal }) => terminal.err(`Changed site ${id}; it is at version ${version} now.\n`),
})

export const sitesDelete = defineCommand({
  name: 'sites delete',
  summary: 'delete a site and all its recorded data',
  arguments: SITE_ARGUMENT,
  flags: z.object({
    yes: flag('--yes', 'confirm', z.literal(true, 'is missing: deleting a site cannot be undone')),
  }),
  async run(call) {
    const id = siteIdArgument(call)
    await withClient(call, (client) => client.call('DELETE', `/api/sites/${id}`))
    call.terminal.err(`Deleted site ${id}.\n`)
  },
})

export const sitesIngestKey = defineRequest({
  name: 'sites ingest-key',
  summary: "print the key that a site's servers sign their deliveries with",
  arguments: SITE_ARGUMENT,
  flags: z.object({
    rotate: flag('--rotate', 'create a new key; the previous one stays valid for 24 hours', z.boolean().default(false)),
  }),
  result: IngestKey,
  request(call) {
    const path = `/api/sites/${siteIdArgument(call)}/ingest-key`
    return call.flags.rotate ? ['POST', `${path}/rotate`] : ['GET', path]
  },
  print({ ingest_key, previous_until }, { terminal }) {
    terminal.out(`${ingest_key}\n`)
    if (previous_until) terminal.err(`The previous key is valid until ${previous_until}.\n`)
  },
})

/** Returns the site of an id; without one the only site. Throws `Failure` if the id is unknown, or several sites may be meant. */
export async function chooseSite(client: Client, id: number | undefined): Promise<ManagedSite> {
  const sites = await client.read(z.array(ManagedSite), 'GET', '/api/sites')
  const site = id === undefined && sites.length === 1 ? sites[0] : sites.find((one) => one.id === id)
  if (site !== undefined) return site
  if (id !== undefined) throw new Failure(`There is no site ${id}; see readership sites list.`)
  throw new Failure('There are several sites: name one with --site; see readership sites list.', 2)
}
