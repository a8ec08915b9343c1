import { type RowTable, VITAL_COLUMNS } from '../columns.js'
import type { AgentChange, FetchJudgement, LateVerdict, Placement, SessionMove } from '../event-store.js'
import { type Addition, ARRIVAL_COLUMNS, BROWSER_COLUMNS, SERVER_COLUMNS } from '../rows.js'
import { isIn, join, raw, type Sql, sql } from '../sql.js'
import { listColumns } from './schema.js'
import { rowsAsTable, toInstant } from './statements.js'

/*
 * Statements that change stored rows: each inserts a new version of every row that it changes. The rows of a statement are
 * `e`, its changes `now`, many of them in one parameter.
 */

/** Inserts new versions of the rows `e` of `from`: they get these values, and keep the others. */
export function insertVersions(table: RowTable, values: Readonly<Record<string, Sql>>, number: bigint, from: Sql): Sql {
  const given: Readonly<Record<string, Sql>> = { ...values, ver: sql`${number}`, is_deleted: raw('0') }
  const columns = listColumns(table).map(({ name }) => name)
  const selected = columns.map((name) => given[name] ?? raw(`e.${name}`))
  return sql`insert into ${raw(table)} (${raw(columns.join(', '))}) select ${join(selected, ', ')} from ${from}`
}

/** Deletes the rows `e` of `from`: a version of each without any value but its key. */
export const insertDeletions = (table: RowTable, number: bigint, from: Sql): Sql => sql`
  insert into ${raw(table)} (site_id, timestamp, row_id, ver, is_deleted)
  select e.site_id, e.timestamp, e.row_id, ${number}, 1 from ${from}`

/** Gives the rows of `moves`, at least one, their new sessions. */
export function buildSessionMoves(moves: readonly SessionMove[], number: bigint): Sql {
  const { first, last } = spanOf([...moves.map((move) => move.first), ...moves.map((move) => move.last)])
  const rows = moves.flatMap(({ session_ids, to }) => {
    const now = { now_id: String(to.session_id), now_start: to.session_start.getTime(), ...to.arrival }
    return session_ids.map((id) => ({ was_id: String(id), ...now }))
  })
  const types = { was_id: 'UInt64', now_id: 'UInt64', now_start: 'Int64', ...textTypes(ARRIVAL_COLUMNS) }
  return insertVersions(
    'events',
    {
      session_id: raw('now.now_id'),
      session_start: toInstant(raw('now.now_start')),
      ...Object.fromEntries(ARRIVAL_COLUMNS.map((column) => [column, raw(`now.${column}`)])),
    },
    number,
    sql`events e join ${rowsAsTable(rows, types)} now on e.session_id = now.was_id
      where ${ofSites(moves)} and e.timestamp between ${first} and ${last}`,
  )
}

/** More than lies between a report's arrival and its place: the view of its page is at most a day before. */
const MAX_REPORT_DISTANCE_MS = 2 * 86_400_000

/** Moves reports, at least one, to their places. A row that one of these statements wrote is not changed again. */
export function buildPlacements(placements: readonly Placement[], number: bigint): Sql[] {
  const { first, last } = spanOf(placements.map(({ key }) => key.reported_at))
  const rows = placements.map(({ key, to }) => ({
    ...{ at_site: key.site_id, at_visitor: String(key.visitor_id), at_ms: key.reported_at.getTime() },
    ...{ at_kind: key.kind, at_host: key.hostname, at_path: key.pathname, at_engaged: key.engaged_ms },
    ...{ new_session_id: String(to.session_id), new_session_start: to.session_start.getTime() },
    ...{ new_timestamp: to.timestamp.getTime(), new_visitor_id: String(to.visitor_id), new_pathname: to.pathname },
    new_reported_at: to.reported_at?.getTime() ?? null,
    ...Object.fromEntries(ARRIVAL_COLUMNS.map((column) => [`new_${column}`, to.arrival[column]])),
  }))
  const types = {
    ...{ at_site: 'Int32', at_visitor: 'UInt64', at_ms: 'Int64', at_kind: 'String', at_host: 'String' },
    ...{ at_path: 'String', at_engaged: 'Int64', new_session_id: 'UInt64', new_session_start: 'Int64' },
    ...{ new_timestamp: 'Int64', new_visitor_id: 'UInt64', new_pathname: 'String', new_reported_at: 'Nullable(Int64)' },
    ...textTypes(ARRIVAL_COLUMNS.map((column) => `new_${column}`)),
  }
  const values = Object.fromEntries([
    ...['session_start', 'timestamp', 'reported_at'].map((name) => [name, toInstant(raw(`now.new_${name}`))] as const),
    ...['session_id', 'visitor_id', 'pathname', ...ARRIVAL_COLUMNS].map(
      (name) => [name, raw(`now.new_${name}`)] as const,
    ),
  ])
  const placed = (table: 'events' | 'loose_reports') => sql`${raw(table)} e join ${rowsAsTable(rows, types)} now
    on e.site_id = now.at_site and e.visitor_id = now.at_visitor and e.kind = now.at_kind and e.hostname = now.at_host
      and e.pathname = now.at_path and e.reported_at = ${toInstant(raw('now.at_ms'))}
      and coalesce(e.engaged_ms, 0) = now.at_engaged
    where ${ofSites(placements.map(({ key }) => key))} and e.ver <> ${number}
      and e.timestamp between ${new Date(first.getTime() - MAX_REPORT_DISTANCE_MS)}
        and ${new Date(last.getTime() + MAX_REPORT_DISTANCE_MS)}`
  return [
    insertVersions('events', values, number, placed('events')),
    insertDeletions(
      'events',
      number,
      sql`${placed('events')} and e.timestamp <> ${toInstant(raw('now.new_timestamp'))}`,
    ),
    insertVersions('events', values, number, placed('loose_reports')),
    insertDeletions('loose_reports', number, placed('loose_reports')),
  ]
}

const ADDED_COLUMNS = [
  ...[...BROWSER_COLUMNS, ...SERVER_COLUMNS].filter((column) => column !== 'vitals'),
  ...VITAL_COLUMNS,
]

/**
 * Adds to stored views, at least one addition, what the other half reported. Several views of one millisecond get one
 * addition each, in the order of their ids. Views of the commit itself, from `firstRow` on, get none; those that have one
 * by this change count as they did before.
 */
export function buildViewAdditions(
  additions: readonly Addition[],
  { number, firstRow }: { number: bigint; firstRow: number },
): Sql {
  const { first, last } = spanOf(additions.map(({ to }) => to.timestamp))
  const rows = numberAdditions(additions)
  const types = {
    ...{ at_site: 'Int32', at_visitor: 'UInt64', at_ms: 'Int64', at_host: 'String', at_path: 'String' },
    ...{ at_browser: 'Bool', nth: 'UInt32' },
    ...Object.fromEntries(ADDED_COLUMNS.map((name) => [`new_${name}`, columnType(name)])),
  }
  const columns = Object.keys(types).filter((name) => name.startsWith('new_'))
  const candidates = sql`select e.row_id, a.nth, ${raw(columns.map((name) => `a.${name}`).join(', '))},
      dense_rank() over (partition by a.at_site, a.at_visitor, a.at_ms, a.at_host, a.at_path, a.at_browser
        order by e.row_id) as place
    from events e join ${rowsAsTable(rows, types)} a
      on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = ${toInstant(raw('a.at_ms'))}
        and e.hostname = a.at_host and e.pathname = a.at_path
    where ${within(additions, first, last)} and e.kind = 'pageview' and e.row_id < ${firstRow}
      and (e.ver = ${number} or ((e.recorded_by = 'browser') = a.at_browser
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))))`
  return insertVersions(
    'events',
    {
      recorded_by: raw("'browser'"),
      ...Object.fromEntries(ADDED_COLUMNS.map((name) => [name, raw(`coalesce(now.new_${name}, e.${name})`)])),
    },
    number,
    sql`events e join (${candidates}) now on e.row_id = now.row_id
      where ${within(additions, first, last)} and now.place = now.nth`,
  )
}

/** The additions with the keys of their views; of several with one key, each has its place. */
function numberAdditions(additions: readonly Addition[]): object[] {
  const earlier = new Map<string, number>()
  return additions.map(({ to, vitals, ...values }) => {
    const key = {
      at_site: to.site_id,
      at_visitor: String(to.visitor_id),
      at_ms: to.timestamp.getTime(),
      at_host: to.hostname,
      at_path: to.pathname,
      // The server's half is added to a row of the browser, and the other way round.
      at_browser: values.status !== null,
    }
    const name = JSON.stringify(key)
    const nth = (earlier.get(name) ?? 0) + 1
    earlier.set(name, nth)
    return {
      ...key,
      nth,
      ...Object.fromEntries(Object.entries(values).map(([column, value]) => [`new_${column}`, value])),
      ...Object.fromEntries(VITAL_COLUMNS.map((vital) => [`new_${vital}`, vitals?.[vital] ?? null])),
    }
  })
}

const within = (additions: readonly Addition[], first: Date, last: Date): Sql =>
  sql`${ofSites(additions.map(({ to }) => to))} and e.timestamp between ${first} and ${last}`

const columnType = (column: string): string =>
  VITAL_COLUMNS.some((name) => name === column)
    ? 'Nullable(Float64)'
    : SERVER_COLUMNS.some((name) => name === column)
      ? 'Nullable(Int32)'
      : 'Nullable(String)'

const textTypes = (columns: readonly string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, 'Nullable(String)']))

/** Gives rows that are still `indeterminate` their verdicts. */
export function buildVerdictUpdate(verdicts: readonly LateVerdict[], number: bigint): Sql {
  const { first, last } = spanOf(verdicts.map(({ timestamp }) => timestamp))
  const rows = verdicts.map(({ site_id, timestamp, agent_id, ip_hash, verified, verification }) => ({
    ...{ at_site: site_id, at_ms: timestamp.getTime(), at_agent: agent_id, at_ip: String(ip_hash) },
    ...{ now_verified: verified, now_verification: verification },
  }))
  const types = {
    ...{ at_site: 'Int32', at_ms: 'Int64', at_agent: 'String', at_ip: 'UInt64' },
    ...{ now_verified: 'Nullable(Bool)', now_verification: 'String' },
  }
  return insertVersions(
    'agent_events',
    { verified: raw('now.now_verified'), verification: raw('now.now_verification') },
    number,
    sql`agent_events e join ${rowsAsTable(rows, types)} now on e.site_id = now.at_site
        and e.timestamp = ${toInstant(raw('now.at_ms'))} and e.agent_id = now.at_agent and e.ip_hash = now.at_ip
      where ${ofSites(verdicts)} and e.timestamp between ${first} and ${last} and e.verification = 'indeterminate'`,
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
  const types = {
    ...{ row_id: 'UInt64', new_robots_allowed: 'Nullable(Bool)', new_robots_rule: 'Nullable(String)' },
    ...{ new_robots_line: 'Nullable(Int32)', new_robots_grace: 'Nullable(Bool)', new_llms_listed: 'Nullable(Int32)' },
  }
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
    sql`agent_events e join ${rowsAsTable(rows, types)} now on e.row_id = now.row_id where e.timestamp >= ${since}`,
  )
}

/** Gives the fetches that `where` selects the catalogue `version`, and their new agents. */
export function buildReclassification(
  changes: readonly AgentChange[],
  { version, where, number }: { version: string; where: Sql; number: bigint },
): Sql {
  const rows = changes.map((one) => ({
    ...{ of_user_agent: one.user_agent, of_agent: one.agent_id, of_signed: one.signed, now_id: one.to },
    ...{ now_operator: one.operator, now_purpose: one.purpose, now_verification: one.verification },
    moved: one.to !== one.agent_id,
  }))
  const types = {
    ...{ of_user_agent: 'String', of_agent: 'String', of_signed: 'Bool', now_id: 'Nullable(String)' },
    ...{ now_operator: 'Nullable(String)', now_purpose: 'Nullable(String)', now_verification: 'Nullable(String)' },
    moved: 'Nullable(Bool)',
  }
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
        ['verified', 'robots_allowed', 'robots_rule', 'robots_line', 'robots_grace'].map((column) => [
          column,
          unlessMoved(column),
        ]),
      ),
    },
    number,
    sql`agent_events e left join ${rowsAsTable(rows, types)} now on e.user_agent = now.of_user_agent
        and e.agent_id = now.of_agent and (e.verification = 'web_bot_auth') = now.of_signed
      where ${where}`,
  )
}

const ofSites = (rows: readonly { site_id: number }[]): Sql =>
  isIn(raw('e.site_id'), [...new Set(rows.map(({ site_id }) => site_id))])

/** Earliest and latest of `times`, at least one: with these bounds ClickHouse skips other months and granules. */
function spanOf(times: readonly Date[]): { first: Date; last: Date } {
  // Not `Math.min(...times)`: there may be more of them than a call takes arguments.
  const ms = times.map((time) => time.getTime())
  return { first: new Date(ms.reduce((a, b) => Math.min(a, b))), last: new Date(ms.reduce((a, b) => Math.max(a, b))) }
}
