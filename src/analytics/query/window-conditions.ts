import { type Sql, sql } from '../../storage/sql.js'
import type { Plan } from './plan.js'

/** Selects the site's rows that happened in the window. */
export const inWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and timestamp >= ${window.start} and timestamp < ${window.end}`

/** Selects the site's rows from before the window's end. */
export const beforeWindowEnd = ({ site, window }: Plan): Sql => sql`site_id = ${site} and timestamp < ${window.end}`

/** Selects all rows of the sessions that started in the window. */
export const startedInWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and session_start >= ${window.start} and session_start < ${window.end}`
