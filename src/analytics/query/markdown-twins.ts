import { type Dialect, raw, type Sql, sql } from '../../storage/sql.js'

/** The name that the URLs of one page share: no final slash, no `index`, no `.html`. */
export const pageName = ({ firstGroup }: Dialect): Sql =>
  firstGroup(raw('pathname'), '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?$')

/** The name of a twin's page: `/a.md`, `/a.html.md` and `/a/index.md` are twins of `/a`. */
export const twinName = ({ firstGroup }: Dialect): Sql =>
  firstGroup(raw('pathname'), '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?[.](?:md|markdown)$')

/** Reports whether a path may be a Markdown twin: it is one if its page exists. */
export const isTwin = ({ lower, endsWith }: Dialect): Sql =>
  sql`(${endsWith(lower(raw('pathname')), sql`${'.md'}`)} or ${endsWith(lower(raw('pathname')), sql`${'.markdown'}`)})`
