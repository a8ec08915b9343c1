import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import { agentsOfUrls } from './counted-days.js'
import type { Plan } from './plan.js'

/** Metrics that a list computes for its returned rows only. None of them sorts. */
export interface LateMetrics {
  readonly metrics: readonly string[]
  /** Selects the key and the metrics of these rows of a list. */
  build(plan: Plan, page: readonly ResultRow[]): Sql
}

/** Returns a function that finds the late metrics of a row in the plan's window; `nameOf` names a row by its key. */
export async function findLateMetrics(
  late: LateMetrics | undefined,
  rows: readonly ResultRow[],
  plan: Plan,
  { query, nameOf }: { query(statement: Sql): Promise<ResultRow[]>; nameOf(row: ResultRow): string },
): Promise<(row: ResultRow) => ResultRow> {
  const found = late && rows.length > 0 ? await query(late.build(plan, rows)) : []
  const byName = new Map(found.map((row) => [nameOf(row), row]))
  return (row) => byName.get(nameOf(row)) ?? {}
}

/**
 * How a list of paths gets the metric `agents`: for the rows of a page only, because counting the agents of all paths costs
 * more than the other metrics together. `key` is the list's column with the path.
 */
export const agentsOfPaths = (key: string): LateMetrics => ({
  metrics: ['agents'],
  build: (plan, page) => sql`
    select pathname as ${raw(key)}, count(distinct agent_id) as agents
    from (${agentsOfUrls(
      plan,
      isIn(
        raw('pathname'),
        page.map((row) => String(row[key])),
      ),
    )}) a
    group by pathname`,
})
