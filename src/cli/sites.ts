import { z } from 'zod'
import { IngestKey } from '../manage/ingest-keys.js'
import { Site } from '../manage/sites.js'
import { connect } from './client.js'
import { type Command, flagsOf, JSON_FLAG } from './command.js'
import { safeJson } from './escape.js'
import { table } from './table.js'
import { Failure } from './terminal.js'

const Create = z.object({
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
    JSON_FLAG,
  ],
  async run(call) {
    const { name, domain: domains, timezone, json } = flagsOf(call, Create)
    const client = await connect(call.config, call.terminal, { create: true })
    try {
      const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
      const { data } = Made.parse(await client.call('POST', '/api/sites', { name, domains, timezone: zone }))
      if (json) call.terminal.out(`${safeJson(data, 2)}\n`)
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

const List = z.object({ json: z.boolean().default(false) })

export const sitesList: Command = {
  name: 'sites list',
  summary: 'the sites by name and hostname',
  settings: ['data'],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = flagsOf(call, List)
    const client = await connect(call.config, call.terminal)
    try {
      const { data } = z.object({ data: z.array(Site) }).parse(await client.call('GET', '/api/sites'))
      if (json) call.terminal.out(`${safeJson(data, 2)}\n`)
      else
        call.terminal.out(
          table(
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

const Shown = z.object({ rotate: z.boolean().default(false), json: z.boolean().default(false) })

export const sitesIngestKey: Command = {
  name: 'sites ingest-key',
  summary: 'what the servers of a site sign with',
  arguments: [{ form: '<id>', doc: 'from sites list' }],
  settings: ['data'],
  flags: [{ form: '--rotate', doc: 'make a new one; the one before stays good for a day' }, JSON_FLAG],
  async run(call) {
    const [id = ''] = call.args
    if (!/^\d+$/.test(id)) throw new Failure(`${id} is not the id of a site; see readership sites list.`, 2)
    const { rotate, json } = flagsOf(call, Shown)
    const client = await connect(call.config, call.terminal)
    try {
      const path = `/api/sites/${id}/ingest-key`
      const answer = await (rotate ? client.call('POST', `${path}/rotate`) : client.call('GET', path))
      const { data } = z.object({ data: IngestKey }).parse(answer)
      if (json) call.terminal.out(`${safeJson(data, 2)}\n`)
      else {
        call.terminal.out(`${data.ingest_key}\n`)
        if (data.previous_until) call.terminal.err(`The one before is good until ${data.previous_until}.\n`)
      }
    } finally {
      await client.close()
    }
  },
}
