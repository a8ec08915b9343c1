/** Selects a part of a site's policy: one hostname, one agent, and the path and query to judge. */
export interface PolicyQuery {
  readonly hostname?: string
  readonly agent_id?: string
  readonly path?: string
  /** Agents to judge beside those that robots.txt can name, by id. */
  readonly seen?: readonly string[]
}

/** Selects versions of a site's policy: those of one hostname or file that began before `before` (milliseconds). */
export interface PolicyVersionsQuery {
  readonly hostname?: string
  readonly kind?: 'robots' | 'llms'
  readonly before: number
  /** The versions, newest first, that get their text and counts; default all. */
  readonly offset?: number
  readonly limit?: number
  /** Adds the links of llms.txt that lead to this hostname. */
  readonly links?: true
}
