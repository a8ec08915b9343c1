import { type Addition, BROWSER_COLUMNS, SERVER_COLUMNS, type Vitals } from '../rows.js'
import { join, raw, type Sql, sql } from '../sql.js'

const VITAL_COLUMNS = ['lcp', 'cls', 'inp', 'fcp', 'ttfb'] as const satisfies readonly (keyof Vitals)[]
const INTEGER_COLUMNS: readonly string[] = SERVER_COLUMNS
const ADDED_COLUMNS = [
  ...[...BROWSER_COLUMNS, ...SERVER_COLUMNS].filter((column) => column !== 'vitals'),
  ...VITAL_COLUMNS,
]

/**
 * Adds to stored views, at least one, what their other half said: once done, a row is no half any more, and is left as it
 * is if told again. They travel as one parameter, however many they are. Answers the sessions of the rows it changed.
 */
export function buildViewAdditions(all: readonly Addition[]): Sql {
  const times = all.map(({ to }) => to.timestamp.getTime())
  // The bounds let old blocks be skipped.
  const first = times.reduce((a, b) => Math.min(a, b))
  const last = times.reduce((a, b) => Math.max(a, b))
  const before = new Map<string, number>()
  const rows = all.map(({ to, vitals, ...said }) => {
    const key = {
      at_site: to.site_id,
      at_visitor: String(to.visitor_id),
      at_ms: to.timestamp.getTime(),
      at_host: to.hostname,
      at_path: to.pathname,
      // The server's half is added to the browser's, and the other way round.
      at_browser: said.status !== null,
    }
    const name = JSON.stringify(key)
    const nth = (before.get(name) ?? 0) + 1
    before.set(name, nth)
    return {
      ...{ ...key, nth },
      ...Object.fromEntries(Object.entries(said).map(([column, value]) => [`new_${column}`, value])),
      ...Object.fromEntries(VITAL_COLUMNS.map((name) => [`new_${name}`, vitals?.[name] ?? null])),
    }
  })
  // A column that none of them says anything of costs nothing.
  const told = ADDED_COLUMNS.filter((column) => rows.some((row) => Reflect.get(row, `new_${column}`) !== null))
  const shape = {
    ...{ at_site: 'INTEGER', at_visitor: 'UBIGINT', at_ms: 'BIGINT', at_host: 'VARCHAR', at_path: 'VARCHAR' },
    ...{
      at_browser: 'BOOLEAN',
      nth: 'INTEGER',
      ...Object.fromEntries(told.map((name) => [`new_${name}`, columnType(name)])),
    },
  }
  const sets = told.map((column) => raw(`${column} = coalesce(now.new_${column}, events.${column})`))
  // Of several views in the same millisecond each is added to once: rows keep their number within a transaction.
  return sql`update events set ${join([raw("recorded_by = 'browser'"), ...sets], ', ')}
    from (
      select e.rowid as id, a.* from events e
      join (select unnest(from_json(${JSON.stringify(rows, wellFormed)}, ${JSON.stringify([shape])}),
        recursive := true)) a
        on e.site_id = a.at_site and e.visitor_id = a.at_visitor and e.timestamp = make_timestamp(a.at_ms * 1000)
          and e.hostname = a.at_host and e.pathname = a.at_path and (e.recorded_by = 'browser') = a.at_browser
      where e.timestamp between ${new Date(first)} and ${new Date(last)} and e.kind = 'pageview'
        and (e.recorded_by in ('server', 'edge') or (e.status is null and e.duration_ms is null))
      qualify dense_rank() over (partition by at_site, at_visitor, at_ms, at_host, at_path, at_browser order by e.rowid) = nth
    ) as now
    where events.timestamp between ${new Date(first)} and ${new Date(last)} and events.rowid = now.id
    returning events.site_id, events.session_id, events.session_start`
}

const columnType = (column: string): string =>
  VITAL_COLUMNS.some((name) => name === column) ? 'DOUBLE' : INTEGER_COLUMNS.includes(column) ? 'INTEGER' : 'VARCHAR'

/** Half a character pair cannot stand in JSON; an appender makes the same of it. */
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? Buffer.from(value).toString() : value)
