import { z } from 'zod'
import { parseAddress } from '../address.js'
import { listAgents, loadCatalog } from '../agents/catalog.js'
import { createExplain } from '../agents/identify.js'
import type { Config } from '../config.js'
import { formatNumber } from '../export/format.js'
import { AgentIdentification } from '../http/agent-control.js'
import { openPlaceLookup, type Place } from '../ingest/place/place-lookup.js'
import { connect, isRunning } from './client.js'
import { type Command, type CommandCall, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson, escapeText } from './escape.js'
import { formatTable } from './table.js'
import { Failure, style } from './terminal.js'

const Flags = z.object({ json: z.boolean().default(false) })

export const agents: Command = {
  name: 'agents',
  summary: 'the agents that are known',
  settings: [],
  flags: [JSON_FLAG],
  async run(call) {
    const { json } = parseFlags(call, Flags)
    const known = listAgents(loadCatalog())
    if (json) call.terminal.out(`${escapeJson(known, 2)}\n`)
    else
      call.terminal.out(
        formatTable(
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
  summary: 'explain how a user agent is classified, and check its claim',
  arguments: [{ form: '<user-agent>', doc: 'the header as it was sent' }],
  settings: ['geoip', 'data'],
  flags: [
    { form: '--ip <address>', doc: 'where it came from: tells country and network, and checks the claim' },
    JSON_FLAG,
  ],
  async run(call) {
    const { ip, json } = parseFlags(call, Identify)
    const { terminal } = call
    const place = ip === undefined ? undefined : openPlaces(call.config).locate(parseAddress(ip))
    const explained = createExplain(loadCatalog())(call.args[0] ?? '')
    const check = explained.audience === 'agent' ? await checkClaim(call, explained.user_agent, ip) : undefined
    const found = { ...explained, ...(place ? { place } : {}), ...check }
    if (json) {
      terminal.out(`${escapeJson(found, 2)}\n`)
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
      ...(check?.claim ? [['verified', claimText(check.claim, found.operator ?? '')] satisfies [string, string]] : []),
      ...(check?.unchecked ? [['verified', `not checked: ${check.unchecked}`] satisfies [string, string]] : []),
      ...(place ? [['from', placeText(place)] satisfies [string, string]] : []),
      ...found.others.map(({ agent_id, token, why }): [string, string] => ['not', `${agent_id} ("${token}"): ${why}`]),
    ]
    for (const [label, text] of lines) terminal.out(`${style(terminal, 'dim', label.padEnd(11))} ${escapeText(text)}\n`)
  },
}

const Answer = z.object({ data: AgentIdentification })

/** What the running instance finds of the claim; where there is none to ask, why nothing was checked. */
async function checkClaim(
  { config, terminal }: CommandCall,
  user_agent: string,
  ip: string | undefined,
): Promise<{ claim?: NonNullable<AgentIdentification>; unchecked?: string }> {
  if (ip === undefined) return { unchecked: 'say with --ip where it came from' }
  try {
    if (!(await isRunning(config.data)))
      return { unchecked: `no instance runs on ${config.data}; start one, or name its directory with --data` }
    const client = await connect(config, terminal)
    try {
      const { data } = Answer.parse(
        await client.call('GET', `/control/agents/identify?${new URLSearchParams({ user_agent, ip })}`),
      )
      // The instance is of another version than this command.
      return data === null ? { unchecked: 'the running instance takes it for a person' } : { claim: data }
    } finally {
      await client.close()
    }
  } catch (error) {
    // What is known without it is told all the same.
    if (error instanceof Failure) return { unchecked: error.message }
    throw error
  }
}

function claimText({ verification, ranges }: NonNullable<AgentIdentification>, operator: string): string {
  const list = ranges
    ? ` (${formatNumber(ranges.count)} prefixes of ${ranges.source}, ${formatAge(ranges.refreshed_at)}${ranges.stale ? ', stale' : ''})`
    : ''
  return {
    web_bot_auth: 'yes, by its signature',
    ranges: `yes, the address is in the published ranges${list}`,
    rdns: 'yes, reverse DNS names the operator and leads back to the address',
    spoofed: `no, spoofed: ${operator} publishes a way to tell, and the address fails it${list}`,
    unverifiable: 'nobody can say: nothing is published by which to tell, or it runs on its users’ machines',
    indeterminate: `not known now: the published list is missing or stale, or DNS did not answer${list}`,
  }[verification]
}

const formatAge = (instant: string): string => {
  const hours = Math.max(0, Math.floor((Date.now() - Date.parse(instant)) / 3_600_000))
  return hours === 0 ? 'fetched within the hour' : hours < 48 ? `${hours} h old` : `${Math.floor(hours / 24)} days old`
}

const openPlaces = ({ geoip }: Config) => openPlaceLookup(geoip === undefined ? {} : { geoip })

const placeText = ({ city, region, country, asn }: Place): string =>
  [city, region, country, asn === null ? null : `AS${asn}`].filter((part) => part !== null).join(', ') ||
  'nowhere that is known'
