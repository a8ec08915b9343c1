import type { Agent } from '../../agents/catalog.js'

/** Requests of agents. `client_errors` are responses 400 to 499, `server_errors` 500 to 599. */
export interface AgentTotals {
  requests: number
  bytes: number
  client_errors: number
  server_errors: number
}

/** One file that was read, and why it was read in this format. */
export interface ReadFile {
  name: string
  format: string
  because: string
  lines: number
  broken: number
}

/** The findings of `readership report`, which the screen, the page, `--json` and `--csv` show. Instants are ISO-8601 UTC. */
export interface LogReport {
  files: readonly ReadFile[]
  /** `skipped` are not requests, such as headers; `other_hosts` are requests that `--host` leaves out. */
  lines: { read: number; broken: number; skipped: number; other_hosts: number }
  /** The first and the last request; null without any. */
  window: { start: string; end: string } | null
  tz: string
  people: {
    requests: number
    bytes: number
    pageviews: number
    /** Requests that are not pageviews because of the paths of data alone. */
    data_requests: number
    visitors: number
    sessions: number
    /** Visitors with three pageviews or more who never loaded a style, script, picture or font. */
    without_assets: { visitors: number; pageviews: number }
  }
  /** Requests of logs that have no user agents; absent if all have. They are in no number of people or agents. */
  unknown_readers?: {
    requests: number
    bytes: number
    /** Distinct addresses. */
    addresses: number
    paths: readonly { pathname: string; requests: number }[]
    statuses: readonly { status: number; requests: number }[]
  }
  /** `agents` are those of the catalogue; `unnamed` are requests whose user agent it does not know. */
  agents: AgentTotals & { agents: number; operators: number; unnamed: number }
  /** `t` is local: `2026-11-21 13`, `2026-11-21` or `2026-11`. Empty buckets are listed too. */
  series: {
    granularity: 'hour' | 'day' | 'month'
    buckets: readonly { t: string; pageviews: number; requests: number }[]
  }
  by_agent: readonly AgentLine[]
  by_operator: readonly (AgentTotals & { operator: string; purposes: readonly string[] })[]
  by_purpose: readonly (AgentTotals & { purpose: string })[]
  /** Absent without a robots.txt. */
  robots?: {
    source: string
    requests: number
    /** One for each agent, with the rule of the first request. */
    agents: readonly DisobedientAgent[]
    /** One for each agent and rule. */
    rules: readonly DisobedientAgent[]
  }
  errors: readonly { status: number; pathname: string; requests: number; agents: readonly string[] }[]
  read_by_assistants: readonly { pathname: string; requests: number }[]
  arrivals: {
    pageviews: number
    assistants: readonly { name: string; pageviews: number }[]
    pages: readonly { pathname: string; pageviews: number }[]
  }
  /** The paths that people read most, with the requests of agents beside. */
  pages: readonly { pathname: string; pageviews: number; requests: number }[]
  /** Responses by status; the sum is the requests of people and agents. */
  statuses: readonly { status: number; people: number; agents: number }[]
  /** Responses of 400 and above to people. */
  people_errors: readonly { status: number; pathname: string; requests: number }[]
  /** Requests by the hostname that was asked for; empty if the log has none. */
  hosts: readonly { hostname: string; people: number; agents: number }[]
  /** Places that people came from, by pageviews; pages of the site itself do not count. */
  referrers: readonly NamedPageviews[]
  browsers: readonly NamedPageviews[]
  systems: readonly NamedPageviews[]
  /** ISO 3166-1 codes, or `unknown`; absent where addresses cannot be located. */
  countries?: readonly NamedPageviews[]
  /** Requests by the client's address; absent unless they were asked for. */
  addresses?: readonly { address: string; people: number; agents: number; bytes: number }[]
  /** The hours of the day, 0 to 23, over all days of the log. */
  hours: readonly { hour: number; pageviews: number; requests: number }[]
  /** The paths with most bytes, of people and agents. */
  bandwidth: readonly { pathname: string; bytes: number; requests: number }[]
  /** Styles, scripts, pictures, fonts and the like, by requests of people. */
  assets: readonly { pathname: string; requests: number; bytes: number }[]
  /** User agents of the agents that the catalogue does not name. */
  unnamed: readonly { user_agent: string; requests: number }[]
  /** False if there were more distinct paths than are kept: rare ones may be missing from the lists. */
  lists_complete: boolean
}

export interface NamedPageviews {
  name: string
  pageviews: number
}

export interface AgentLine extends AgentTotals {
  agent_id: string
  name: string
  operator: string
  purpose: string
  first_seen: string
  last_seen: string
  /** Requests that the robots.txt disallows; absent without one. */
  disallowed?: number
}

export interface DisobedientAgent {
  agent_id: string
  name: string
  operator: string
  /** Whether its operator says that it obeys robots.txt. */
  respects_robots: Agent['respects_robots']
  requests: number
  /** The rule that disallowed the first of them, its line, and the path of that request. */
  rule: string
  line: number
  pathname: string
}
