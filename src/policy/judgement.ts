import type { Agent } from '../agents/catalog.js'

/** What a site's policy said of one fetch when it was made: columns of its row (contract 3). */
export interface Judgement {
  /** Null where no version was known, or the origin could not be reached. */
  robots_allowed: boolean | null
  /** From here: null unless it was not allowed. */
  robots_rule: string | null
  robots_line: number | null
  /** A version that was in force within the last 24 hours allowed it: a cached copy may be held. */
  robots_grace: boolean | null
  llms_listed: 0 | 1 | null
}

export interface PolicyJudge {
  /**
   * By the versions in force at `at` (milliseconds since 1970). `target` is path and query as requested; undefined as
   * `agent`: one that is in no catalog. Never throws, never waits.
   */
  judge(hostname: string, agent: Agent | undefined, target: string, at: number): Judgement
}
