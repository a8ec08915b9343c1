import { join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Window } from './calendar.js'
import type { Plan } from './plan.js'

/** Selects the site's rows that happened in the window. */
export const inWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and timestamp >= ${window.start} and timestamp < ${window.end}`

/** Selects the site's rows from before the window's end. */
export const beforeWindowEnd = ({ site, window }: Plan): Sql => sql`site_id = ${site} and timestamp < ${window.end}`

/** Selects all rows of the sessions that started in the window. */
export const startedInWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and session_start >= ${window.start} and session_start < ${window.end}`

/** The condition that an instant lies in one of these parts of a window. */
export function isWithin(column: Sql, parts: readonly Window[], window: Window): Sql {
  const [only] = parts
  if (only === undefined) return raw('false')
  if (parts.length === 1 && isSameTime(only, window)) return raw('true')
  return sql`(${join(
    parts.map(({ start, end }) => sql`(${column} >= ${start} and ${column} < ${end})`),
    ' or ',
  )})`
}
const isSameTime = (a: Window, b: Window): boolean =>
  a.start.getTime() === b.start.getTime() && a.end.getTime() === b.end.getTime()
