import { raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow, Store } from '../../storage/store.js'
import type { Prices } from './bill.js'
import type { BlockedUrls } from './blocked-urls.js'
import { withComparison, withoutNulls } from './comparison.js'
import type { CountedPages } from './counted-pages.js'
import type { Cursor } from './cursor.js'
import type { Audience } from './dimensions.js'
import type { Funnel } from './funnels.js'
import { addHistory, type ReadHistory } from './histories.js'
import { createListReader, type ListOptions, type ReadWindow } from './list-reader.js'
import { type Plan, withWindow } from './plan.js'
import type { PolicyQuery, PolicyVersionsQuery } from './policy-query.js'
import { createReadWarnings } from './read-warnings.js'
import { createRecordedTimes } from './recorded-times.js'
import type { Recording } from './recording.js'
import type { SaltPeriod } from './salt-periods.js'

/** The site that a read is about. */
export interface ReadSite extends Prices {
  /** Its organisation, which shares the store with others. */
  readonly org?: number
  readonly id: number
  readonly timezone: string
  /** ISO 4217, of its prices. */
  readonly currency?: string
  /** The period after which a visitor gets another id. */
  readonly visitor_salt: SaltPeriod
  /** A URL is a citation gap if its ratio exceeds this multiple of the site's median; default 3. */
  readonly citation_threshold?: number | undefined
  /** The patterns of the sections that its owner wrote, in the order in which they are tried. */
  readonly sections?: readonly string[] | undefined
  /** Whether a hostname belongs to the site. */
  owns(hostname: string): boolean
}

/** An agent of the catalog as `agents/catalog` returns it. */
export interface CatalogAgent {
  readonly agent_id: string
  readonly name: string
  readonly operator: string
  readonly purpose: string
  readonly docs_url: string
  readonly robots_token?: string
  /** Whether its operator states that it obeys robots.txt. */
  readonly respects_robots: 'yes' | 'no' | 'unknown'
  readonly verification: readonly ('ranges' | 'rdns' | 'web_bot_auth')[]
  readonly ranges?: { readonly count: number; readonly refreshed_at: string; readonly source: string }
}

/** The id of agents that are in no catalogue. */
export const OTHER_AGENTS = 'other'

/** A traffic source that is an AI assistant, with its operator (by the catalog's name if it is in the catalog). */
export interface Assistant {
  readonly source: string
  readonly operator: string
}

/** The downloaded address ranges of an agent. */
export type AgentRanges = { readonly agent_id: string } & NonNullable<CatalogAgent['ranges']>

/** Finds the redirect of a missing page by its path. */
export type RedirectByPath = (pathname: string) => { readonly id: number; readonly created_at: Date } | undefined

export interface ReadContextOptions {
  readonly plan: Plan
  /** The audience that the response is for. The plan's may be people for `all`, where only people have rows. */
  readonly audience: Audience
  readonly site: ReadSite
  readonly now: Date
  readonly catalog: readonly CatalogAgent[]
  readonly assistants: readonly Assistant[]
  /** As in `ReadDependencies`. */
  readonly hidesVisits: boolean
  /** The URLs that the policy disallows for the agents of an operator, or of all; undefined if no policy is known. */
  blockedUrls(operator: string | undefined): Promise<BlockedUrls | undefined>
  /** The site's recorded policy, for the read to parse. */
  policy(question: PolicyQuery): Promise<unknown>
  /** The versions of the site's policy, for the read to parse. */
  policyVersions(question: PolicyVersionsQuery): Promise<unknown>
  /** The site's redirects by the path of the missing page. */
  redirects(): Promise<RedirectByPath>
  /** The downloaded address ranges of all agents that have some. */
  agentRanges(): Promise<readonly AgentRanges[]>
  /** The times that were recorded of the site. */
  readonly recording: Recording
  /** The days of the site that other tools counted. */
  readonly history: ReadHistory
  /** The pages of the site that search engines counted; undefined: none were imported. */
  countedPages(): Promise<CountedPages | undefined>
  /** A funnel of the site by the id in the path. */
  funnel(id: string): Promise<Funnel | undefined>
  readonly paging: { readonly limit: number; readonly page: number } | undefined
  readonly store: Pick<Store, 'query'>
  /** Goes into each statement as a comment, for the engine's slow-query log. */
  readonly name: string
  readonly onStatement: ((statement: Sql) => void) | undefined
  /** `list` returns the next rows of this cursor instead of a page. */
  readonly cursor?: Cursor | undefined
}

/**
 * The context in which a read runs. A read builds its SQL for a plan; the context runs it for the window and for the comparison, and
 * adds paging, so no read handles a window, a page or a comparison itself.
 */
export type ReadContext = ReturnType<typeof createReadContext>

export function createReadContext({ store, name, onStatement, cursor, ...options }: ReadContextOptions) {
  const { plan, paging } = options
  const { warnOfVerification, ...warnings } = createReadWarnings(options)
  const times = createRecordedTimes({ ...options, warn: warnings.warn })
  const requestedMetrics = new Set<string>()
  let total: number | undefined
  const tagged = (statement: Sql): Sql => {
    const named = sql`${raw(`/* ${name} */ `)}${statement}`
    onStatement?.(named)
    return named
  }
  const query = (statement: Sql) => store.query(tagged(statement))
  const noteMetrics = (metrics: readonly string[]) => {
    for (const metric of metrics) requestedMetrics.add(metric)
    if (metrics.includes('visitors')) warnings.warnOfSaltChange([plan.window])
  }
  const readWindow = (of: Plan): ReadWindow => ({ plan: of, isRecorded: times.recorded(of.window) !== 'none' })
  const comparedWindow = () => plan.comparison && readWindow(withWindow(plan, plan.comparison))

  return {
    ...options,
    ...warnings,
    ...times,
    /** Every metric that `one` and `list` were asked for, in order. */
    metrics: requestedMetrics,
    /** The number of rows on all pages. */
    get total() {
      return total
    },
    /** Runs a statement; null columns are absent from the rows. */
    rows: async (statement: Sql): Promise<ResultRow[]> => (await query(statement)).map((row) => withoutNulls(row)),

    /**
     * Returns one row of metrics, with `comparison` and `change` if a comparison was requested. With `days` of other tools
     * for a window, they are added.
     */
    async one(metrics: readonly string[], build: (plan: Plan) => Sql, days?: ReadHistory['find']): Promise<ResultRow> {
      noteMetrics(metrics)
      const readRow = async ({ plan: of, isRecorded }: ReadWindow) => {
        const [row = {}] = await query(build(of))
        return addHistory(withoutNulls(row, metrics, isRecorded), (await days?.(of.window, metrics)) ?? [], metrics)
      }
      const row = await readRow(readWindow(plan))
      warnOfVerification([row], metrics)
      const compared = comparedWindow()
      return compared ? withComparison(row, await readRow(compared), metrics, compared.isRecorded) : row
    },

    /** Returns sorted rows, each with `comparison` and `change`. `build` selects all rows, unsorted. */
    async list(asked: ListOptions, build: (plan: Plan) => Sql): Promise<ResultRow[]> {
      const { metrics, limit, compare = true } = asked
      noteMetrics(metrics)
      const current = readWindow(plan)
      const compared = compare ? comparedWindow() : undefined
      const reader = createListReader(asked, { current, compared, build, query })
      const readPage = async () => {
        const ofPage = paging ?? { limit: 50, page: 1 }
        if (limit !== undefined) return (await reader.page({ limit, offset: 0, isCounted: false })).rows
        const offset = (ofPage.page - 1) * ofPage.limit
        const page = await reader.page({ limit: ofPage.limit, offset, isCounted: true })
        total = page.total
        return page.rows
      }
      const rows = cursor && limit === undefined ? await reader.next(cursor, tagged) : await readPage()
      warnOfVerification(rows, metrics)
      return rows
    },

    agentNames: createAgentNames(options.catalog),

    /** Returns the requested page of rows that come from no table. */
    page<T>(all: readonly T[]): T[] {
      total = all.length
      return paging ? all.slice((paging.page - 1) * paging.limit, paging.page * paging.limit) : [...all]
    },
  }
}

/** Creates the function that returns an agent's name, operator and purpose; an agent that is in no catalogue has a name only. */
function createAgentNames(catalog: readonly CatalogAgent[]) {
  let agents: Map<string, CatalogAgent> | undefined
  return (id: string): { name: string; operator?: string; purpose?: string } => {
    agents ??= new Map(catalog.map((agent) => [agent.agent_id, agent]))
    const agent = agents.get(id)
    if (!agent) return { name: id === OTHER_AGENTS ? 'Other agents' : id }
    return { name: agent.name, operator: agent.operator, purpose: agent.purpose }
  }
}
