import { z } from 'zod'
import { parseAddress } from '../address.js'
import { loadCatalog } from '../agents/catalog.js'
import { createExplain } from '../agents/identify.js'
import { listing } from '../agents/listing.js'
import type { Config } from '../config.js'
import { openPlaces, type Place } from '../record/place/places.js'
import { type Command, flagsOf, JSON_FLAG } from './command.js'
import { safeJson, visible } from './escape.js'
import { table } from './table.js'
import { style } from './terminal.js'

const Flags = z.object({ json: z.boolean().default(false) })

export const agents: Command = {
  name: 'agents',
  summary: 'the agents that are known',
  settings: [],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = flagsOf(call, Flags)
    const known = listing(loadCatalog())
    if (json) call.terminal.out(`${safeJson(known, 2)}\n`)
    else
      call.terminal.out(
        table(
          call.terminal,
          [{ title: 'ID' }, { title: 'OPERATOR' }, { title: 'PURPOSE' }, { title: 'VERIFIABLE BY' }, { title: 'DOCS' }],
          known.map((agent) => [
            agent.agent_id,
            agent.operator,
            agent.purpose,
            agent.verification.join(','),
            agent.docs_url ?? '',
          ]),
        ),
      )
  },
}

const Identify = z.object({
  ip: z.union([z.ipv4(), z.ipv6()], 'must be an IP address').optional(),
  json: z.boolean().default(false),
})

export const agentsIdentify: Command = {
  name: 'agents identify',
  summary: 'explain how a user agent is classified',
  arguments: [{ form: '<user-agent>', doc: 'the header as it was sent' }],
  settings: ['geoip'],
  flags: [{ form: '--ip <address>', doc: 'where it came from: tells the country and network' }, JSON_FLAG],
  async run(call) {
    const { ip, json } = flagsOf(call, Identify)
    const { terminal } = call
    const place = ip === undefined ? undefined : placesOf(call.config).locate(parseAddress(ip))
    const found = { ...createExplain(loadCatalog())(call.args[0] ?? ''), ...(place ? { place } : {}) }
    if (json) {
      terminal.out(`${safeJson(found, 2)}\n`)
      return
    }
    const because = {
      token: `the catalog's token "${found.token}"`,
      isbot: `the general pattern for bots found "${found.token}"; it is in no catalog`,
      no_user_agent: 'it has no user agent, and every browser has one',
      nothing: 'nothing in it says that it is an agent',
    }[found.because]
    const lines: [string, string][] = [
      ['is', found.audience === 'human' ? 'a person' : `${found.name} by ${found.operator}, purpose ${found.purpose}`],
      ['because', because],
      ...(found.docs_url ? [['documented', found.docs_url] satisfies [string, string]] : []),
      ...(found.audience === 'agent'
        ? [['verifiable', found.verification.join(', ') || 'by nothing that is published'] satisfies [string, string]]
        : []),
      ...(place ? [['from', placeText(place)] satisfies [string, string]] : []),
      ...found.others.map(({ agent_id, token, why }): [string, string] => ['not', `${agent_id} ("${token}"): ${why}`]),
    ]
    for (const [label, text] of lines) terminal.out(`${style(terminal, 'dim', label.padEnd(11))} ${visible(text)}\n`)
  },
}

const placesOf = ({ geoip }: Config) => openPlaces(geoip === undefined ? {} : { geoip })

const placeText = ({ city, region, country, asn }: Place): string =>
  [city, region, country, asn === null ? null : `AS${asn}`].filter((part) => part !== null).join(', ') ||
  'nowhere that is known'
