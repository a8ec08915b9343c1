import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { listAgents, loadCatalog, UNDOCUMENTED } from '../../agents/catalog.js'
import { createExplain } from '../../agents/identify.js'
import { RefreshResult } from '../../agents/ranges/status.js'
import { formatNumber } from '../../analytics/export/format.js'
import { AgentIdentification, ReclassifyResult } from '../../api/worker-control.js'
import { parseAddress } from '../../base/address.js'
import { openPlaceLookup, type Place } from '../../worker/ingest/place/place-lookup.js'
import { isRunning, withClient } from './client.js'
import {
  type CommandCall,
  DEFAULT_RANGE,
  defineCommand,
  flag,
  idOf,
  JSON_FLAG,
  printJson,
  queryString,
  RANGE_FLAG,
} from './command.js'
import { escapeText } from './escape.js'
import { createProgress, showElapsed } from './progress.js'
import { formatTable, printTable, right } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

const SiteList = z.array(z.object({ id: z.int() }))
const ListedAgents = z.array(
  z.looseObject({
    agent_id: z.string(),
    operator: z.string(),
    purpose: z.string(),
    verification: z.array(z.string()),
    docs_url: z.string().optional(),
    seen: z.object({ fetches: z.number(), last_seen: z.string() }).optional(),
  }),
)

export const agents = defineCommand({
  name: 'agents',
  summary: 'list known agents, with their fetches of a site',
  flags: z.object({
    site: flag('--site <id>', 'site whose fetches are counted (default: the only one)', idOf('a site').optional()),
    range: RANGE_FLAG,
    json: JSON_FLAG,
    // The setting of the same name, to tell whether it was given as a flag.
    data: z.unknown().optional(),
  }),
  async run(call) {
    const { flags, terminal } = call
    const seen = await fetchSeen(call)
    const agents = seen ?? ListedAgents.parse(listAgents(loadCatalog()))
    if (flags.json) return printJson(terminal, agents)
    printTable(
      terminal,
      ['ID', 'OPERATOR', 'PURPOSE', ...(seen ? [right('FETCHES'), 'LAST SEEN'] : []), 'VERIFIABLE BY', 'DOCS'],
      agents
        .toSorted((a, b) => (b.seen?.fetches ?? 0) - (a.seen?.fetches ?? 0))
        .map((agent) => [
          agent.agent_id,
          agent.operator,
          agent.purpose,
          ...(seen
            ? [
                agent.seen ? formatNumber(agent.seen.fetches) : '',
                agent.seen?.last_seen.slice(0, 16).replace('T', ' ') ?? '',
              ]
            : []),
          agent.verification.join(','),
          agent.docs_url ?? '',
        ]),
    )
  },
})

/** Returns the catalog with a site's fetches; undefined if there is no data and no flag asks for any. */
async function fetchSeen(call: CommandCall<{ site?: number | undefined; range?: string | undefined; data?: unknown }>) {
  const { config, flags, terminal } = call
  const { site, range = DEFAULT_RANGE, data } = flags
  const isAsked = site !== undefined || flags.range !== undefined || data !== undefined
  if (!isAsked && !existsSync(join(config.data, 'control.duckdb'))) return undefined
  return withClient(call, async (client) => {
    const sites = (await client.read(SiteList, 'GET', '/api/sites')).map(({ id }) => id)
    const id = site ?? (sites.length === 1 ? sites[0] : undefined)
    if (id === undefined) {
      terminal.err(`Fetches are counted for one site: choose it with --site (${sites.join(', ')}).\n`)
      return undefined
    }
    const query = queryString({ site: id, range, limit: 1000 })
    return client.read(ListedAgents, 'GET', `/api/agents/catalog${query}`)
  })
}

export const agentsIdentify = defineCommand({
  name: 'agents identify',
  summary: 'explain how a user agent is classified, and verify its claim',
  arguments: [{ syntax: '<user-agent>', doc: 'value of the User-Agent header' }],
  settings: ['geoip'],
  flags: z.object({
    ip: flag(
      '--ip <address>',
      'address of the client: shows country and network, and verifies the claim',
      z.union([z.ipv4(), z.ipv6()], 'must be an IP address').optional(),
    ),
    json: JSON_FLAG,
  }),
  async run(call) {
    const { args, config, flags, terminal } = call
    const { ip } = flags
    const place = ip === undefined ? undefined : openPlaceLookup(config).locate(parseAddress(ip))
    const explained = createExplain(loadCatalog())(args[0] ?? '')
    const { claim, unchecked } = explained.audience === 'agent' ? await verifyClaim(call, explained.user_agent, ip) : {}
    if (flags.json) return printJson(terminal, { ...explained, place, claim, unchecked })
    const reason = {
      token: `the catalog has the token "${explained.token}"`,
      isbot: `the general bot pattern matches "${explained.token}"; the catalog does not list this agent`,
      no_user_agent: 'the request has no user agent, and every browser sends one',
      nothing: 'nothing in the user agent suggests an agent',
    }[explained.because]
    const lines: [label: string, text: string | undefined][] = [
      [
        'is',
        explained.audience === 'human'
          ? 'a person'
          : `${explained.name} by ${explained.operator}, purpose ${explained.purpose}`,
      ],
      ['because', reason],
      ['documented', explained.docs_url === UNDOCUMENTED ? 'no page is known' : explained.docs_url],
      [
        'verifiable',
        explained.audience === 'agent'
          ? explained.verification.join(', ') || 'no: nothing is published to verify it by'
          : undefined,
      ],
      ['verified', claim && claimText(claim, explained.operator ?? '')],
      ['verified', unchecked && `not checked: ${unchecked}`],
      ['from', place && placeText(place)],
      ...explained.others.map(({ agent_id, token, why }): [string, string] => [
        'not',
        `${agent_id} ("${token}"): ${why}`,
      ]),
    ]
    for (const [label, text] of lines)
      if (text !== undefined) terminal.out(`${style(terminal, 'dim', label.padEnd(11))} ${escapeText(text)}\n`)
  },
})

type Claim = NonNullable<AgentIdentification>

/** Verifies the claim with the running instance; returns the reason if it cannot be checked. */
async function verifyClaim(
  call: CommandCall<unknown>,
  user_agent: string,
  ip: string | undefined,
): Promise<{ claim?: Claim; unchecked?: string }> {
  const { data } = call.config
  if (ip === undefined) return { unchecked: 'give the address of the client with --ip' }
  try {
    if (!(await isRunning(data)))
      return { unchecked: `no instance runs on ${data}; start one, or name its directory with --data` }
    const path = `/control/agents/identify${queryString({ user_agent, ip })}`
    const claim = await withClient(call, (client) => client.read(AgentIdentification, 'GET', path))
    // Happens if the instance runs another version than this command.
    return claim === null ? { unchecked: 'the running instance classifies it as a person' } : { claim }
  } catch (error) {
    // The rest of the explanation needs no instance, so it is printed in any case.
    if (error instanceof Failure) return { unchecked: error.message }
    throw error
  }
}

function claimText({ verification, ranges }: Claim, operator: string): string {
  const list = ranges
    ? ` (${formatNumber(ranges.count)} prefixes of ${ranges.source}, ${formatAge(ranges.refreshed_at)}${ranges.stale ? ', stale' : ''})`
    : ''
  return {
    web_bot_auth: 'yes, by its signature',
    ranges: `yes, the address is in the published ranges${list}`,
    rdns: 'yes, reverse DNS names the operator and resolves back to the address',
    spoofed: `no, spoofed: ${operator} publishes a way to verify it, and the address fails${list}`,
    unverifiable: 'unverifiable: nothing is published to verify it by, or it runs on its users’ machines',
    indeterminate: `unknown at present: the published list is missing or stale, or DNS did not respond${list}`,
  }[verification]
}

const formatAge = (instant: string): string => {
  const hours = Math.max(0, Math.floor((Date.now() - Date.parse(instant)) / 3_600_000))
  return hours === 0
    ? 'fetched within the hour'
    : hours < 48
      ? `${hours} hours old`
      : `${Math.floor(hours / 24)} days old`
}

const placeText = ({ city, region, country, asn }: Place): string =>
  [city, region, country, asn === null ? null : `AS${asn}`].filter((part) => part !== null).join(', ') ||
  'unknown place'

export const agentsRefresh = defineCommand({
  name: 'agents refresh',
  summary: "fetch the agents' published address ranges now",
  settings: ['ranges', 'offline'],
  // The settings of the same name, to tell whether they were given as flags.
  flags: z.object({ json: JSON_FLAG, ranges: z.unknown().optional(), offline: z.unknown().optional() }),
  async run(call) {
    const { config, flags, terminal } = call
    const setting = flags.ranges !== undefined ? '--ranges' : flags.offline !== undefined ? '--offline' : undefined
    if (setting !== undefined && (await isRunning(config.data)))
      throw new Failure(
        `${setting} is a setting of the running instance: restart that with it, or leave it out here.`,
        2,
      )
    // If no instance runs, the one opened here fetches the lists and stores them in the data directory.
    const refresh = withClient(
      call,
      (client) => client.read(z.array(RefreshResult), 'POST', '/control/agents/refresh'),
      { create: true },
    )
    const results = await showElapsed(terminal, () => 'Fetching the lists of addresses', refresh)
    if (flags.json) printJson(terminal, results)
    else printResults(terminal, results)
    const failed = results.filter(({ status }) => status === 'failed')
    const requested = results.filter(({ status }) => status !== 'file')
    if (failed.length > 0 && failed.length === requested.length)
      throw new Failure(`None of ${failed.length} lists could be fetched: ${failed[0]?.error ?? 'no reason given'}.`)
    if (flags.json) return
    if (failed.length > 0) terminal.err(`${failed.length} of ${requested.length} lists failed.\n`)
    if (requested.some(({ status }) => status === 'offline'))
      terminal.err('With --offline nothing is fetched; files of --ranges were read again.\n')
  },
})

const printResults = (terminal: Terminal, results: readonly RefreshResult[]) =>
  printTable(
    terminal,
    ['STATUS', right('COUNT'), 'OF', 'FETCHED', 'AGENTS', 'SOURCE', 'ERROR'],
    results
      .toSorted((a, b) => a.status.localeCompare(b.status) || a.source.localeCompare(b.source))
      .map(({ status, of, count, refreshed_at, agents, source, error }) => [
        status,
        formatNumber(count),
        of,
        refreshed_at?.slice(0, 16).replace('T', ' ') ?? '',
        agents.length > 2 ? `${agents.slice(0, 2).join(',')} +${agents.length - 2}` : agents.join(','),
        source,
        error ?? '',
      ]),
  )

type StepResult = z.infer<typeof ReclassifyResult>

export const agentsReclassify = defineCommand({
  name: 'agents reclassify',
  summary: 'identify agents and name systems in stored rows again after an update',
  flags: z.object({ json: JSON_FLAG }),
  async run(call) {
    const { flags, terminal } = call
    let stopped = false
    terminal.onSignal('SIGINT', () => {
      // A step takes about a second, so the first Ctrl-C waits for it and the second does not.
      if (stopped) terminal.exit(1)
      stopped = true
    })
    const progress = createProgress(terminal, 'Reclassifying')
    const total: Totals = { rows: 0, changed: 0, moves: new Map() }
    await withClient(call, async (client) => {
      for (;;) {
        const step = await client.read(ReclassifyResult, 'POST', '/control/agents/reclassify')
        addStep(total, step)
        const { catalog_version, remaining } = step
        progress.show(total.rows, total.rows + remaining)
        if (remaining === 0) {
          progress.clear()
          const { rows, changed } = total
          if (flags.json) printJson(terminal, { catalog_version, rows, changed, moves: rankMoves(total) })
          else terminal.out(formatTotals(terminal, total, catalog_version))
          return
        }
        if (stopped)
          throw new Failure(
            `Stopped after ${formatNumber(total.rows)} rows, which are done; run it again for the rest.`,
          )
      }
    }).finally(() => progress.clear())
  },
})

interface Totals {
  rows: number
  changed: number
  moves: Map<string, StepResult['moves'][number]>
}

function addStep(total: Totals, { rows, changed, moves }: StepResult): void {
  total.rows += rows
  total.changed += changed
  for (const move of moves) {
    const key = `${move.from} ${move.to}`
    total.moves.set(key, { ...move, rows: move.rows + (total.moves.get(key)?.rows ?? 0) })
  }
}

/** Sorts the changes of agent by their rows, largest first. */
const rankMoves = ({ moves }: Totals) =>
  [...moves.values()].sort((a, b) => b.rows - a.rows || (a.from + a.to < b.from + b.to ? -1 : 1))

function formatTotals(terminal: Terminal, total: Totals, version: string): string {
  if (total.rows === 0) return `All rows already use the catalog of ${version} and the present names of systems.\n`
  const moves = rankMoves(total).map((move) => [formatNumber(move.rows), move.from, move.to])
  const table = moves.length === 0 ? '' : formatTable(terminal, [right('ROWS'), 'FROM', 'TO'], moves)
  return `${table}Identified ${formatNumber(total.rows)} rows with the catalog of ${version}; ${formatNumber(total.changed)} have another agent or system now.\n`
}
