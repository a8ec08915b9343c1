import type { RowTable } from '../columns.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import type { AgentChange, FetchJudgement, ImportPart, LateVerdict, Placement, SessionMove } from '../event-store.js'
import {
  type ChangeTable,
  listPlacements,
  listSessionMoves,
  listSessionSplits,
  listVerdicts,
  listViewAdditions,
} from '../row-changes.js'
import type { Addition } from '../rows.js'
import { isIn, join, raw, type Sql, sql } from '../sql.js'
import { listColumns } from './schema.js'

/*
 * Statements that change stored rows: each inserts a new version of every row that it changes. The rows of a statement are
 * `e`, its changes `now`, many of them in one parameter.
 */

/** Changes the rows that `from` selects as `e`: inserts a new version of each with these values and its other ones. */
export function insertVersions(table: RowTable, values: Readonly<Record<string, Sql>>, number: bigint, from: Sql): Sql {
  const given: Readonly<Record<string, Sql>> = { ...values, ver: sql`${number}`, is_deleted: raw('0') }
  const columns = listColumns(table).map(({ name }) => name)
  const selected = columns.map((name) => given[name] ?? raw(`e.${name}`))
  return sql`insert into ${raw(table)} (${raw(columns.join(', '))}) select ${join(selected, ', ')} from ${from}`
}

/** Deletes the rows that `from` selects as `e`: inserts a new version of each that has only its key. */
export const insertDeletions = (table: RowTable, number: bigint, from: Sql): Sql => sql`
  insert into ${raw(table)} (site_id, timestamp, row_id, ver, is_deleted)
  select e.site_id, e.timestamp, e.row_id, ${number}, 1 from ${from}`

/** The new values of the columns that a table of changes has. */
const newValues = ({ columns }: ChangeTable): Record<string, Sql> =>
  Object.fromEntries(columns.map((column) => [column, raw(`now.new_${column}`)]))
const asTable = ({ rows, types }: ChangeTable): Sql => clickhouseDialect.rows(rows, types)

/** Gives the rows of `moves` their new sessions. */
export function buildSessionMoves(moves: readonly SessionMove[], number: bigint): Sql {
  const table = listSessionMoves(moves)
  return insertVersions(
    'events',
    newValues(table),
    number,
    sql`events e join ${asTable(table)} now on e.session_id = now.was_id
      where ${ofSites(moves)} and e.timestamp between ${table.first} and ${table.last}`,
  )
}

/** Gives the rows that stay when those of an import leave their sessions. */
export function buildSessionSplits({ site, import: id, splits }: ImportPart, number: bigint): Sql {
  const table = listSessionSplits(splits)
  return insertVersions(
    'events',
    newValues(table),
    number,
    sql`events e join ${asTable(table)} now on e.session_id = now.was_id
      where e.site_id = ${site} and e.import_id is distinct from ${id}
        and e.timestamp >= now.at_from and e.timestamp < now.at_until`,
  )
}

/** More than lies between a report's arrival and its place: the view of its page is at most a day before. */
const MAX_REPORT_DISTANCE_MS = 2 * 86_400_000

/** Moves reports to their places. A row that one of these statements wrote is not changed again. */
export function buildPlacements(placements: readonly Placement[], number: bigint): Sql[] {
  const table = listPlacements(placements)
  const values = newValues(table)
  const placed = (name: 'events' | 'loose_reports') => sql`${raw(name)} e join ${asTable(table)} now
    on e.site_id = now.at_site and e.visitor_id = now.at_visitor and e.kind = now.at_kind and e.hostname = now.at_host
      and e.pathname = now.at_path and e.reported_at = now.at_time and coalesce(e.engaged_ms, 0) = now.at_engaged
    where ${ofSites(placements.map(({ key }) => key))} and e.ver <> ${number}
      and e.timestamp between ${new Date(table.first.getTime() - MAX_REPORT_DISTANCE_MS)}
        and ${new Date(table.last.getTime() + MAX_REPORT_DISTANCE_MS)}`
  return [
    insertVersions('events', values, number, placed('events')),
    insertDeletions('events', number, sql`${placed('events')} and e.timestamp <> now.new_timestamp`),
    insertVersions('events', values, number, placed('loose_reports')),
    insertDeletions('loose_reports', number, placed('loose_reports')),
  ]
}

/**
 * Adds to stored views what the other half reported. Several views of one millisecond get one addition each, in the order
 * of their ids. Views of the commit itself, from `firstRow` on, get none; those that have one by this change count as they
 * did before.
 */
export function buildViewAdditions(
  additions: readonly Addition[],
  { number, firstRow }: { number: bigint; firstRow: number },
): Sql {
  const table = listViewAdditions(additions)
  const within = sql`${ofSites(additions.map(({ to }) => to))} and e.timestamp between ${table.first} and ${table.last}`
  const given = raw(table.columns.map((column) => `, a.new_${column}`).join(''))
  const candidates = sql`select e.row_id, a.nth ${given},
      dense_rank() over (partition by a.at_site, a.at_visitor, a.at_time, a.at_host, a.at_path, a.at_browser
        order by e.row_id) as place
    from events e join ${asTable(table)} a
      on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = a.at_time and e.hostname = a.at_host
        and e.pathname = a.at_path
    where ${within} and e.kind = 'pageview' and e.row_id < ${firstRow}
      and (e.ver = ${number} or ((e.recorded_by = 'browser') = a.at_browser
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))))`
  const added = table.columns.map((column) => [column, raw(`coalesce(now.new_${column}, e.${column})`)])
  return insertVersions(
    'events',
    { ...Object.fromEntries(added), recorded_by: raw("'browser'") },
    number,
    sql`events e join (${candidates}) now on e.row_id = now.row_id where ${within} and now.place = now.nth`,
  )
}

/** Gives rows that are still `indeterminate` their verdicts. */
export function buildVerdictUpdate(verdicts: readonly LateVerdict[], number: bigint): Sql {
  const table = listVerdicts(verdicts)
  return insertVersions(
    'agent_events',
    newValues(table),
    number,
    sql`agent_events e join ${asTable(table)} now on e.site_id = now.at_site and e.timestamp = now.at_time
        and e.agent_id = now.at_agent and e.ip_hash = now.at_ip
      where ${ofSites(verdicts)} and e.timestamp between ${table.first} and ${table.last}
        and e.verification = 'indeterminate'`,
  )
}

/** Fills in what these fetches lack; a fetch that has a judgement keeps it. */
export function buildJudgements(
  judged: readonly (FetchJudgement & { row_id: number })[],
  since: Date,
  number: bigint,
): Sql {
  const unlessJudged = (column: string) => raw(`if(e.robots_allowed is null, now.new_${column}, e.${column})`)
  const rows = judged.map(({ row_id, ...values }) => ({
    row_id,
    ...Object.fromEntries(Object.entries(values).map(([column, value]) => [`new_${column}`, value])),
  }))
  const now = clickhouseDialect.rows(rows, {
    row_id: 'ubigint',
    new_robots_allowed: 'boolean',
    new_robots_rule: 'varchar',
    new_robots_line: 'integer',
    new_robots_grace: 'boolean',
    new_llms_listed: 'integer',
  })
  return insertVersions(
    'agent_events',
    {
      ...Object.fromEntries(
        ['robots_allowed', 'robots_rule', 'robots_line', 'robots_grace'].map((column) => [
          column,
          unlessJudged(column),
        ]),
      ),
      llms_listed: raw('coalesce(e.llms_listed, now.new_llms_listed)'),
    },
    number,
    sql`agent_events e join ${now} now on e.row_id = now.row_id where e.timestamp >= ${since}`,
  )
}

/** Gives the fetches that `where` selects the catalogue `version`, and their new agents. */
export function buildReclassification(
  changes: readonly AgentChange[],
  { version, where, number }: { version: string; where: Sql; number: bigint },
): Sql {
  const rows = changes.map((one) => ({
    of_user_agent: one.user_agent,
    of_agent: one.agent_id,
    of_signed: one.signed,
    now_id: one.to,
    now_operator: one.operator,
    now_purpose: one.purpose,
    now_verification: one.verification,
    moved: one.to !== one.agent_id,
  }))
  const now = clickhouseDialect.rows(rows, {
    of_user_agent: 'varchar',
    of_agent: 'varchar',
    of_signed: 'boolean',
    now_id: 'varchar',
    now_operator: 'varchar',
    now_purpose: 'varchar',
    now_verification: 'varchar',
    moved: 'boolean',
  })
  const unlessMoved = (column: string) => raw(`if(coalesce(now.moved, false), null, e.${column})`)
  return insertVersions(
    'agent_events',
    {
      catalog_version: sql`${version}`,
      ...Object.fromEntries(
        ['agent_id', 'operator', 'purpose'].map((column) => [
          column,
          raw(`coalesce(now.now_${column === 'agent_id' ? 'id' : column}, e.${column})`),
        ]),
      ),
      verification: raw('if(coalesce(now.moved, false), now.now_verification, e.verification)'),
      ...Object.fromEntries(
        ['verified', 'proof', 'proof_at', 'robots_allowed', 'robots_rule', 'robots_line', 'robots_grace'].map(
          (column) => [column, unlessMoved(column)],
        ),
      ),
    },
    number,
    sql`agent_events e left join ${now} now on e.user_agent = now.of_user_agent
        and e.agent_id = now.of_agent and (e.verification = 'web_bot_auth') = now.of_signed
      where ${where}`,
  )
}

const ofSites = (rows: readonly { site_id: number }[]): Sql =>
  isIn(raw('e.site_id'), [...new Set(rows.map(({ site_id }) => site_id))])
