import { Resolver } from 'node:dns/promises'
import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import type { Config } from '../config.js'
import { createResolve } from '../outbound/guarded-outbound.js'
import { fetchPolicy } from '../policy/fetch-policy.js'
import { createPolicyCache } from '../policy/policy-cache.js'
import { agentsForRobots, createPolicyReport, findAgent } from '../policy/report.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson, escapeText } from './escape.js'
import { formatTable } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

const Flags = z.object({
  site: z.string().regex(/^\d+$/, 'must be a number').default('1'),
  hostname: z.string().optional(),
  agent: z.string().min(1).optional(),
  path: z.string().startsWith('/', 'must begin with /').optional(),
  json: z.boolean().default(false),
})

const Problem = z.object({ line: z.number().optional(), problem: z.string() })
const File = {
  url: z.string(),
  status: z.number(),
  standing: z.enum(['served', 'unavailable', 'unreachable']),
  reason: z.string().optional(),
  fetched_at: z.string(),
  first_seen: z.string(),
  sha256: z.string().optional(),
  truncated: z.boolean().optional(),
  problems: z.array(Problem),
}
const Agent = z.object({
  agent_id: z.string(),
  robots_token: z.string(),
  group: z.array(z.string()),
  allowed: z.boolean(),
  reason: z.string(),
  rule: z.string().optional(),
  line: z.number().optional(),
  rules: z.number(),
  crawl_delay: z.number().optional(),
  content_signals: z.record(z.string(), z.string()).optional(),
})
/** What of the policy is shown (contract 5). */
const Report = z.object({
  hostname: z.string().optional(),
  robots: z
    .object({
      ...File,
      groups: z.array(
        z.object({
          user_agents: z.array(z.string()),
          line: z.number(),
          rules: z.array(z.object({ allow: z.boolean(), pattern: z.string(), line: z.number() })),
          crawl_delay: z.number().optional(),
          content_signals: z.record(z.string(), z.string()).optional(),
          content_usage: z
            .array(z.object({ pattern: z.string(), preferences: z.record(z.string(), z.string()) }))
            .optional(),
        }),
      ),
      sitemaps: z.array(z.string()),
    })
    .optional(),
  llms: z
    .object({
      ...File,
      title: z.string().optional(),
      summary: z.string().optional(),
      sections: z.array(
        z.object({
          name: z.string(),
          optional: z.boolean(),
          links: z.array(
            z.object({
              title: z.string(),
              url: z.string(),
              disallowed: z.boolean().optional(),
              last_status: z.number().optional(),
            }),
          ),
        }),
      ),
    })
    .optional(),
  path: z.string(),
  agents: z.array(Agent),
})
type Report = z.output<typeof Report>
type Agent = z.output<typeof Agent>

export const policy: Command = {
  name: 'policy',
  summary: 'robots.txt and llms.txt as parsed, and what they say to each agent',
  arguments: [{ form: '[url]', doc: 'a site to ask directly (default: as the instance of --data keeps them)' }],
  settings: ['data'],
  flags: [
    { form: '--agent <name>', doc: 'only one: its id, its name, or any token of robots.txt' },
    { form: '--path <path>', doc: 'whether this path may be fetched, by which rule and line (default /)' },
    { form: '--hostname <host>', doc: "one of the site's hostnames (default its first)" },
    { form: '--site <id>', doc: 'the site (default 1)' },
    JSON_FLAG,
  ],
  async run(call) {
    const flags = parseFlags(call, Flags)
    const { terminal } = call
    const [url] = call.args
    const found =
      url === undefined
        ? await readStoredPolicy(call.config, terminal, flags)
        : await fetchSitePolicy(url, terminal, flags)
    if (flags.json) {
      terminal.out(`${escapeJson(found, 2)}\n`)
      return
    }
    const report = Report.parse(found)
    if (report.robots === undefined && report.llms === undefined)
      throw new Failure(
        'No policy is known yet: open the site once through the proxy, or name its hostname with --domain.',
      )
    if (flags.agent !== undefined || flags.path !== undefined) showVerdicts(terminal, report)
    else showFiles(terminal, report)
  },
}

type PolicyFlags = Pick<z.output<typeof Flags>, 'site' | 'hostname' | 'agent' | 'path'>

/** As the running instance keeps it, or as the store has it where none runs. */
async function readStoredPolicy(
  config: Config,
  terminal: Terminal,
  { site, hostname, agent, path }: PolicyFlags,
): Promise<unknown> {
  const client = await connect(config, terminal)
  try {
    const query = new URLSearchParams({ site })
    if (hostname !== undefined) query.set('hostname', hostname)
    if (agent !== undefined) query.set('agent_id', agent)
    if (path !== undefined) query.set('path', path)
    return z.object({ data: z.unknown() }).parse(await client.call('GET', `/api/policy?${query}`)).data
  } finally {
    await client.close()
  }
}

/** As that site serves it now: it may be on this machine, for it was typed; what it redirects to may not. */
async function fetchSitePolicy(text: string, terminal: Terminal, { agent, path = '/' }: PolicyFlags): Promise<unknown> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Failure(`${text} is no http or https URL, as in https://example.com`, 2)
  const { version } = terminal
  // Only here: its client of the internet is a quarter of what every other command would load.
  const { createOutbound } = await import('../outbound/guarded-outbound.js')
  const { createOriginOutbound } = await import('../outbound/origin-outbound.js')
  const outbound = createOutbound({ resolve: createResolve(new Resolver()), offline: false, version })
  const ask = createOriginOutbound({ origin: new URL(url.origin), version, outbound })
  const { hostname } = url
  const at = Date.now()
  const llmsUrl = url.pathname.endsWith('/llms.txt') ? url.href : `${url.origin}/llms.txt`
  const [robots, llms] = await Promise.all([
    fetchPolicy(ask, { hostname, kind: 'robots', at, url: `${url.origin}/robots.txt` }),
    fetchPolicy(ask, { hostname, kind: 'llms', at, url: llmsUrl }),
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
  no_rule: 'no rule of its group is about this path',
  no_group: 'no group of robots.txt is about it',
  unavailable: 'there is no robots.txt, and everything is allowed',
  unreachable: 'robots.txt cannot be reached, and crawlers are to assume that nothing is allowed',
  robots_txt: 'robots.txt itself is always allowed',
}

/** Whether each agent may fetch the path, and why. */
function showVerdicts(terminal: Terminal, { hostname = '', robots, agents, path }: Report): void {
  for (const one of agents.length > 1 ? groupAgents(agents) : agents) {
    const mark = one.allowed ? style(terminal, 'green', 'allowed') : style(terminal, 'red', 'not allowed')
    const why = one.rule === undefined ? (REASON_TEXTS[one.reason] ?? one.reason) : `${ruleText(one)}, line ${one.line}`
    terminal.out(
      `${mark}  ${escapeText(one.agent_id)} ${escapeText(hostname)}${escapeText(path)}: ${escapeText(why)}\n`,
    )
  }
  const [only, ...more] = agents
  if (only && more.length === 0 && !loadCatalog().get(only.agent_id))
    terminal.out(`${escapeText(only.agent_id)} is in no catalog: it is read as a name in robots.txt, as it stands.\n`)
  if (robots)
    terminal.out(`${style(terminal, 'dim', `by ${escapeText(robots.url)} ${escapeText(versionText(robots))}`)}\n`)
}

const ruleText = ({ allowed, rule, group }: Agent): string =>
  `${allowed ? 'Allow' : 'Disallow'}: ${rule} (User-agent: ${group.join(', ')})`

const versionText = ({
  sha256,
  first_seen,
  standing,
  status,
}: Pick<NonNullable<Report['robots']>, 'sha256' | 'first_seen' | 'standing' | 'status'>) =>
  sha256 === undefined
    ? `${standing}${status === 0 ? '' : ` (${status})`} since ${first_seen}`
    : `version ${sha256.slice(0, 12)} since ${first_seen}`

/** Problems shown in the terminal; the rest is counted. */
const MAX_SHOWN_PROBLEMS = 10

function showFiles(terminal: Terminal, { robots, llms, agents, path }: Report): void {
  const heading = (title: string) => style(terminal, 'bold', escapeText(title))
  const problems = (list: readonly z.output<typeof Problem>[]) => {
    for (const { line, problem } of list.slice(0, MAX_SHOWN_PROBLEMS))
      terminal.out(
        `  ${style(terminal, 'yellow', '!')} ${line === undefined ? '' : `line ${line}: `}${escapeText(problem)}\n`,
      )
    if (list.length > MAX_SHOWN_PROBLEMS) terminal.out(`  and ${list.length - MAX_SHOWN_PROBLEMS} more problems\n`)
  }
  if (robots) {
    terminal.out(`${heading(robots.url)}  ${escapeText(versionText(robots))}\n`)
    if (robots.reason !== undefined) terminal.out(`  ${escapeText(robots.reason)}\n`)
    for (const group of robots.groups) {
      terminal.out(`\n  User-agent: ${escapeText(group.user_agents.join(', '))}\n`)
      for (const { allow, pattern, line } of group.rules)
        terminal.out(
          `  ${style(terminal, 'dim', String(line).padStart(5))}  ${allow ? 'Allow' : 'Disallow'}: ${escapeText(pattern)}\n`,
        )
      if (group.crawl_delay !== undefined) terminal.out(`         Crawl-delay: ${group.crawl_delay}\n`)
      if (group.content_signals)
        terminal.out(`         Content-Signal: ${escapeText(formatPairs(group.content_signals))}\n`)
      for (const { pattern, preferences } of group.content_usage ?? [])
        terminal.out(`         Content-Usage: ${escapeText(pattern)} ${escapeText(formatPairs(preferences))}\n`)
    }
    for (const sitemap of robots.sitemaps) terminal.out(`\n  Sitemap: ${escapeText(sitemap)}`)
    if (robots.sitemaps.length > 0) terminal.out('\n')
    problems(robots.problems)
  }
  if (llms) {
    terminal.out(`\n${heading(llms.url)}  ${escapeText(versionText(llms))}\n`)
    if (llms.reason !== undefined) terminal.out(`  ${escapeText(llms.reason)}\n`)
    if (llms.title !== undefined) terminal.out(`  ${escapeText(llms.title)}\n`)
    if (llms.summary !== undefined) terminal.out(`  ${escapeText(llms.summary)}\n`)
    for (const { name, optional, links } of llms.sections) {
      terminal.out(`\n  ${escapeText(name)}${optional ? ' (may be skipped)' : ''}\n`)
      for (const { title, url, disallowed, last_status } of links) {
        const but = [
          ...(disallowed ? ['robots.txt disallows it'] : []),
          ...(last_status !== undefined && last_status >= 400 ? [`answered ${last_status}`] : []),
        ]
        terminal.out(
          `    ${escapeText(title)}  ${style(terminal, 'dim', escapeText(url))}${but.length === 0 ? '' : style(terminal, 'yellow', `  ${but.join(', ')}`)}\n`,
        )
      }
    }
    problems(llms.problems)
  }
  terminal.out('\n')
  terminal.out(
    formatTable(
      terminal,
      [
        { title: 'AGENT' },
        { title: path === '/' ? 'ALLOWED /' : 'ALLOWED' },
        { title: 'RULES', right: true },
        { title: 'GROUP' },
        { title: 'ASKED OF IT' },
      ],
      // Whom the file names, and then all the others in one line.
      groupAgents(agents).map((one) => [
        one.agent_id,
        one.allowed ? 'yes' : 'no',
        String(one.rules),
        one.group.join(', ') || 'none',
        [
          ...(one.crawl_delay === undefined ? [] : [`crawl-delay ${one.crawl_delay} s`]),
          ...(one.content_signals ? [formatPairs(one.content_signals)] : []),
        ].join('; '),
      ]),
    ),
  )
}

const formatPairs = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')

/** Agents that the file names, and what it says to all others once. */
function groupAgents(agents: readonly Agent[]): Agent[] {
  const others = agents.find((one) => one.agent_id === 'other')
  if (!others) return [...agents]
  const same = (one: Agent) =>
    one.allowed === others.allowed && one.rules === others.rules && one.group.join() === others.group.join()
  const rest = agents.filter(same).length
  return [
    ...agents.filter((one) => !same(one)),
    { ...others, agent_id: rest === 1 ? 'any other' : `the other ${rest - 1} known, and any other` },
  ]
}
