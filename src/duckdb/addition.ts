import { type Addition, BROWSERS, SERVERS, type Vitals } from '../record/row.js'
import { join, raw, type Sql, sql } from '../sql.js'

const VITALS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const satisfies readonly (keyof Vitals)[]
const NUMBERS: readonly string[] = SERVERS
const COLUMNS = [...[...BROWSERS, ...SERVERS].filter((column) => column !== 'vitals'), ...VITALS]

/**
 * Adds to stored views, at least one, what their other half said: once done, a row is no half any more, and is left as it
 * is if told again. They travel as one parameter, however many they are. Answers the sessions of the rows it changed.
 */
export function adding(all: readonly Addition[]): Sql {
  const times = all.map(({ to }) => to.timestamp.getTime())
  // The bounds let old blocks be skipped.
  const first = times.reduce((a, b) => Math.min(a, b))
  const last = times.reduce((a, b) => Math.max(a, b))
  const rows = all.map(({ to, vitals, ...said }) => ({
    at_site: to.site_id,
    at_visitor: String(to.visitor_id),
    at_ms: to.timestamp.getTime(),
    at_host: to.hostname,
    at_path: to.pathname,
    ...Object.fromEntries(Object.entries(said).map(([column, value]) => [`new_${column}`, value])),
    ...Object.fromEntries(VITALS.map((name) => [`new_${name}`, vitals?.[name] ?? null])),
  }))
  // A column that none of them says anything of costs nothing.
  const told = COLUMNS.filter((column) => rows.some((row) => Reflect.get(row, `new_${column}`) !== null))
  const shape = {
    ...{ at_site: 'INTEGER', at_visitor: 'UBIGINT', at_ms: 'BIGINT', at_host: 'VARCHAR', at_path: 'VARCHAR' },
    ...Object.fromEntries(told.map((column) => [`new_${column}`, typeOf(column)])),
  }
  const sets = told.map((column) => raw(`${column} = coalesce(now.new_${column}, events.${column})`))
  return sql`update events set ${join([raw("recorded_by = 'browser'"), ...sets], ', ')}
    from (select unnest(from_json(${JSON.stringify(rows, wellFormed)}, ${JSON.stringify([shape])}),
      recursive := true)) as now
    where events.timestamp between ${new Date(first)} and ${new Date(last)} and events.kind = 'pageview'
      and events.site_id = now.at_site and events.visitor_id = now.at_visitor
      and events.timestamp = make_timestamp(now.at_ms * 1000)
      and events.hostname = now.at_host and events.pathname = now.at_path
      and (events.recorded_by in ('server', 'edge') or (events.status is null and events.duration_ms is null))
    returning events.site_id, events.session_id, events.session_start`
}

const typeOf = (column: string): string =>
  VITALS.some((name) => name === column) ? 'DOUBLE' : NUMBERS.includes(column) ? 'INTEGER' : 'VARCHAR'

/** Half a character pair cannot stand in JSON; an appender makes the same of it. */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? Buffer.from(value).toString() : value)
