import { type Sql, sql } from '../sql.js'
import type { Plan } from './plan.js'

/** A row of the site that happened in the window. */
export const inWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and timestamp >= ${window.start} and timestamp < ${window.end}`

/** A row of the site from before the window's end. */
export const beforeWindowEnd = ({ site, window }: Plan): Sql => sql`site_id = ${site} and timestamp < ${window.end}`

/** A row, of any time, of a session that started in the window (contract 4). */
export const startedInWindow = ({ site, window }: Plan): Sql =>
  sql`site_id = ${site} and session_start >= ${window.start} and session_start < ${window.end}`
