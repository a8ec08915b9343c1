import { z } from 'zod'
import { loadCatalog } from '../../agents/catalog.js'
import { fetchPolicy } from '../../agents/policy/fetch-policy.js'
import { createPolicyCache } from '../../agents/policy/policy-cache.js'
import { agentsForRobots, createPolicyReport, findAgent } from '../../agents/policy/report.js'
import type { PolicyReport } from '../../analytics/reads/policy.js'
import { withClient } from './client.js'
import { type CommandCall, defineCommand, flag, idOf, JSON_FLAG, printJson, queryString } from './command.js'
import { escapeText } from './escape.js'
import { createSiteOutbound } from './site-outbound.js'
import { printTable, right } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

type Report = Omit<z.output<typeof PolicyReport>, 'hostnames' | 'versions'>
type Agent = Report['agents'][number]

const PolicyFlags = z.object({
  agent: flag(
    '--agent <name>',
    'one agent: by ID, name, or any user agent token of robots.txt',
    z.string().min(1).optional(),
  ),
  path: flag(
    '--path <path>',
    'whether this path may be fetched, with rule and line (default /)',
    z.string().startsWith('/', 'must begin with /').optional(),
  ),
  hostname: flag('--hostname <host>', "one of the site's hostnames (default: the first)", z.string().optional()),
  site: flag('--site <id>', 'site (default 1)', idOf('a site').default(1)),
})
type PolicyFlags = z.output<typeof PolicyFlags>

export const policy = defineCommand({
  name: 'policy',
  summary: 'show robots.txt and llms.txt as parsed, and what they allow each agent',
  arguments: [{ syntax: '[url]', doc: 'site to fetch them from (default: as stored in --data)' }],
  flags: PolicyFlags.extend({ json: JSON_FLAG }),
  async run(call) {
    const { args, flags, terminal } = call
    const [url] = args
    const response =
      url === undefined ? await readStoredPolicy(call) : await fetchSitePolicy(url, terminal.version, flags)
    if (flags.json) return printJson(terminal, response)
    // Loaded here, because no other command needs the reads.
    const { PolicyReport } = await import('../../analytics/reads/policy.js')
    const report: Report = PolicyReport.omit({ hostnames: true, versions: true }).parse(response)
    if (report.robots === undefined && report.llms === undefined)
      throw new Failure(
        'No policy is known yet: open the site through the proxy once, or set its hostname with --domain.',
      )
    if (flags.agent !== undefined || flags.path !== undefined) showVerdicts(terminal, report)
    else showFiles(terminal, report)
  },
})

/** Reads the policy that the instance has stored. */
async function readStoredPolicy(call: CommandCall<PolicyFlags>): Promise<unknown> {
  const { site, hostname, agent: agent_id, path } = call.flags
  const query = queryString({ site, hostname, agent_id, path })
  return withClient(call, (client) => client.read(z.unknown(), 'GET', `/api/policy${query}`))
}

/** Fetches the policy from a site. */
async function fetchSitePolicy(text: string, version: string, { agent, path = '/' }: PolicyFlags): Promise<unknown> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Failure(`${text} is not an http or https URL, such as https://example.com`, 2)
  const fetchFile = await createSiteOutbound(url, version)
  const { hostname } = url
  const at = Date.now()
  const llmsUrl = url.pathname.endsWith('/llms.txt') ? url.href : `${url.origin}/llms.txt`
  const [robots, llms] = await Promise.all([
    fetchPolicy(fetchFile, { hostname, kind: 'robots', at, url: `${url.origin}/robots.txt` }),
    fetchPolicy(fetchFile, { hostname, kind: 'llms', at, url: llmsUrl }),
  ])
  if (robots?.status === 0) throw new Failure(`${robots.url}: ${robots.reason}.`)
  const catalog = loadCatalog()
  return createPolicyReport({
    hostname,
    agents: agent === undefined ? agentsForRobots(catalog) : [findAgent(catalog, agent)],
    path,
    robots: robots ? [robots] : [],
    llms: llms ? [llms] : [],
    policyOf: createPolicyCache(),
  })
}

const REASON_TEXTS: Readonly<Record<string, string>> = {
  no_rule: 'no rule of its group matches this path',
  no_group: 'no group of robots.txt matches it',
  unavailable: 'there is no robots.txt, so everything is allowed',
  unreachable: 'robots.txt cannot be fetched, so crawlers must assume that nothing is allowed',
  robots_txt: 'robots.txt itself is always allowed',
}

/** Prints whether each agent may fetch the path, and why. */
function showVerdicts(terminal: Terminal, { hostname = '', robots, agents, path }: Report): void {
  for (const agent of agents.length > 1 ? groupAgents(agents) : agents) {
    const mark = agent.allowed ? style(terminal, 'green', 'allowed') : style(terminal, 'red', 'not allowed')
    const reason =
      agent.rule === undefined
        ? (REASON_TEXTS[agent.reason] ?? agent.reason)
        : `${agent.allowed ? 'Allow' : 'Disallow'}: ${agent.rule} (User-agent: ${agent.group.join(', ')}), line ${agent.line}`
    terminal.out(`${mark}  ${escapeText(`${agent.agent_id} ${hostname}${path}: ${reason}`)}\n`)
  }
  const [only, ...more] = agents
  if (only && more.length === 0 && !loadCatalog().get(only.agent_id))
    terminal.out(
      `${escapeText(only.agent_id)} is not in the catalog; it is taken as a user agent token of robots.txt.\n`,
    )
  if (robots) terminal.out(`${style(terminal, 'dim', escapeText(`by ${robots.url} ${versionText(robots)}`))}\n`)
}

type PolicyFile = Omit<NonNullable<Report['robots']>, 'groups' | 'sitemaps' | 'licenses'>

const versionText = ({ sha256, first_seen, standing, status }: PolicyFile) =>
  sha256 === undefined
    ? `${standing}${status === 0 ? '' : ` (${status})`} since ${first_seen}`
    : `version ${sha256.slice(0, 12)} since ${first_seen}`

/** Problems printed for one file; the rest is only counted. */
const MAX_SHOWN_PROBLEMS = 10

/** Prints both files as parsed, then what they allow each agent. */
function showFiles(terminal: Terminal, { robots, llms, agents, path }: Report): void {
  if (robots) showRobots(terminal, robots)
  if (robots && llms) terminal.out('\n')
  if (llms) showLlms(terminal, llms)
  terminal.out('\n')
  printTable(
    terminal,
    ['AGENT', path === '/' ? 'ALLOWED /' : 'ALLOWED', right('RULES'), 'GROUP', 'REQUESTS'],
    groupAgents(agents).map(({ agent_id, allowed, rules, group, crawl_delay, content_signals }) => [
      agent_id,
      allowed ? 'yes' : 'no',
      String(rules),
      group.join(', ') || 'none',
      [
        ...(crawl_delay === undefined ? [] : [`crawl-delay ${crawl_delay} s`]),
        ...(content_signals ? [formatPairs(content_signals)] : []),
      ].join('; '),
    ]),
  )
}

function showHeading(terminal: Terminal, file: PolicyFile): void {
  terminal.out(`${style(terminal, 'bold', escapeText(file.url))}  ${escapeText(versionText(file))}\n`)
  if (file.reason !== undefined) terminal.out(`  ${escapeText(file.reason)}\n`)
}

function showProblems(terminal: Terminal, { problems }: PolicyFile): void {
  for (const { line, problem } of problems.slice(0, MAX_SHOWN_PROBLEMS)) {
    const place = line === undefined ? '' : `line ${line}: `
    terminal.out(`  ${style(terminal, 'yellow', '!')} ${place}${escapeText(problem)}\n`)
  }
  const hidden = problems.length - MAX_SHOWN_PROBLEMS
  if (hidden > 0) terminal.out(`  and ${hidden} more problems\n`)
}

function showRobots(terminal: Terminal, robots: NonNullable<Report['robots']>): void {
  showHeading(terminal, robots)
  const field = (name: string, value: string, line = '') =>
    terminal.out(`  ${style(terminal, 'dim', line.padStart(5))}  ${name}: ${escapeText(value)}\n`)
  for (const group of robots.groups) {
    terminal.out(`\n  User-agent: ${escapeText(group.user_agents.join(', '))}\n`)
    for (const { allow, pattern, line } of group.rules) field(allow ? 'Allow' : 'Disallow', pattern, String(line))
    if (group.crawl_delay !== undefined) field('Crawl-delay', String(group.crawl_delay))
    if (group.content_signals) field('Content-Signal', formatPairs(group.content_signals))
    for (const { pattern, preferences } of group.content_usage ?? [])
      field('Content-Usage', `${pattern} ${formatPairs(preferences)}`)
  }
  for (const sitemap of robots.sitemaps) terminal.out(`\n  Sitemap: ${escapeText(sitemap)}`)
  for (const { url } of robots.licenses) terminal.out(`\n  License: ${escapeText(url)}`)
  if (robots.sitemaps.length + robots.licenses.length > 0) terminal.out('\n')
  showProblems(terminal, robots)
}

function showLlms(terminal: Terminal, llms: NonNullable<Report['llms']>): void {
  showHeading(terminal, llms)
  if (llms.title !== undefined) terminal.out(`  ${escapeText(llms.title)}\n`)
  if (llms.summary !== undefined) terminal.out(`  ${escapeText(llms.summary)}\n`)
  for (const { name, optional, links } of llms.sections) {
    terminal.out(`\n  ${escapeText(name)}${optional ? ' (optional)' : ''}\n`)
    for (const { title, url, disallowed, last_status } of links) {
      const notes = [
        ...(disallowed ? ['disallowed by robots.txt'] : []),
        ...(last_status !== undefined && last_status >= 400 ? [`status ${last_status}`] : []),
      ]
      const note = notes.length === 0 ? '' : style(terminal, 'yellow', `  ${notes.join(', ')}`)
      terminal.out(`    ${escapeText(title)}  ${style(terminal, 'dim', escapeText(url))}${note}\n`)
    }
  }
  showProblems(terminal, llms)
}

const formatPairs = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')

/** Merges all agents that are treated like an unknown agent into one row. */
function groupAgents(agents: readonly Agent[]): Agent[] {
  const unknown = agents.find(({ agent_id }) => agent_id === 'other')
  if (!unknown) return [...agents]
  const isSame = (agent: Agent) =>
    agent.allowed === unknown.allowed && agent.rules === unknown.rules && agent.group.join() === unknown.group.join()
  const known = agents.filter(isSame).length - 1
  return [
    ...agents.filter((agent) => !isSame(agent)),
    { ...unknown, agent_id: known === 0 ? 'any other' : `the other ${known} known, and any other` },
  ]
}
