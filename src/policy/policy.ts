import type { Agent } from '../agents/catalog.js'
import type { ContentUsage, RobotsProblem } from './groups.js'
import type { Llms } from './llms.js'

/** One file as it was answered: `status` 0 where there was no answer at all. */
export interface PolicyFile {
  status: number
  body: Uint8Array | string
}

/** Why a fetch is allowed or not. `unavailable` (4xx) allows all, `unreachable` (5xx, no answer) allows nothing. */
export type Reason = 'rule' | 'no_rule' | 'no_group' | 'unavailable' | 'unreachable' | 'robots_txt'

/** The answer to one question, with what decided it. */
export interface Decision {
  allowed: boolean
  reason: Reason
  /** The deciding pattern as the file writes it (first 512 characters), and its line (from 1); only for `rule`. */
  rule?: string
  line?: number
  /** The tokens whose groups apply, `['*']` for the rest's, `[]` for none. */
  group: readonly string[]
}

/** What the file says to one agent, all of its groups merged. */
export interface AgentGroup {
  group: readonly string[]
  rules: number
  crawl_delay?: number
  content_signals?: Readonly<Record<string, string>>
  content_usage?: readonly ContentUsage[]
}

/** One hostname's robots.txt and llms.txt at one moment. A value: nothing in it changes, nothing in it waits or throws. */
export interface Policy {
  readonly hostname: string
  /** As parsed in `rfc` mode, for the page; null where no answer of status 2xx was given. */
  readonly robots: RobotsView | null
  readonly llms: Llms | null
  /** `target`: path and query as they stood on the request line. Undefined as agent: one that is in no catalog. */
  allows(agent: Agent | undefined, target: string): Decision
  /** Whether llms.txt links the URL, its `.md` twin, or it without its trailing slash; null where there is no llms.txt. */
  lists(target: string): boolean | null
  groupOf(agent: Agent | undefined): AgentGroup
  /** Whether every one of these agents is disallowed here; false for no agents. */
  blocksAll(agents: readonly Agent[], target: string): boolean
  /** Patterns as written, one of which matches every target that `blocksAll` these agents: a cheap first sieve. */
  disallowPatterns(agents: readonly Agent[]): readonly string[]
}

/** The groups with their line numbers (contract 5, policy). */
export interface RobotsView {
  groups: readonly {
    user_agents: readonly string[]
    rules: readonly { allow: boolean; pattern: string; line: number }[]
    line: number
    crawl_delay?: number
    content_signals?: Readonly<Record<string, string>>
    content_usage?: readonly ContentUsage[]
  }[]
  sitemaps: readonly string[]
  problems: readonly RobotsProblem[]
  truncated: boolean
}

/**
 * The policy from the answers of its two files; undefined as a file: never asked for (robots.txt: nothing is known, so
 * the caller does not ask; llms.txt: there is none).
 */
export declare function createPolicy(files: { hostname: string; robots: PolicyFile; llms?: PolicyFile }): Policy
