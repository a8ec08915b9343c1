import type { ValueType } from './sql.js'

/**
 * One edition of a page, as samples of its responses showed it. A page has one row without `replaced_at`, its present
 * edition. Of a page that differs at every sample there is only one row, which `varies`.
 */
export interface PageEdition {
  site_id: number
  hostname: string
  pathname: string
  /** The first and the last sample that had this edition. */
  first_seen: Date
  last_seen: Date
  /** The last sample that had the edition before; null for the first edition, which is older than its first sample. */
  prior_seen: Date | null
  /** The first sample of the next edition; null for the present one. */
  replaced_at: Date | null
  digest: string
  samples: number
  /** How many of the last samples each had another text than the one before. */
  differing: number
  varies: boolean
  /** Characters of the text, without white space. */
  text_length: number
  headings: number
  links: number
  lang: string | null
  canonical: string | null
  title: string | null
  /** The first line of the text. */
  first_line: string | null
  /** `not_found`, `consent` or `challenge` if the page says so in place of its content. */
  notice: string | null
  /** When a browser last described the document after its scripts ran, and what it showed; null if none did. */
  living_seen: Date | null
  living_text_length: number | null
  living_headings: number | null
  living_links: number | null
  /** The first line of its text, once browsers of two visitors showed the same: it may greet a person. */
  living_line: string | null
}

export type PageEditionKey = Pick<PageEdition, (typeof PAGE_EDITION_KEY)[number]>
export const PAGE_EDITION_KEY = ['site_id', 'hostname', 'pathname', 'first_seen'] as const

/** The columns of `page_samples`, in the order of the table. */
export const PAGE_EDITION_TYPES = {
  site_id: 'integer',
  hostname: 'varchar',
  pathname: 'varchar',
  first_seen: 'timestamp',
  last_seen: 'timestamp',
  prior_seen: 'timestamp',
  replaced_at: 'timestamp',
  digest: 'varchar',
  samples: 'integer',
  differing: 'integer',
  varies: 'boolean',
  text_length: 'integer',
  headings: 'integer',
  links: 'integer',
  lang: 'varchar',
  canonical: 'varchar',
  title: 'varchar',
  first_line: 'varchar',
  notice: 'varchar',
  living_seen: 'timestamp',
  living_text_length: 'integer',
  living_headings: 'integer',
  living_links: 'integer',
  living_line: 'varchar',
} as const satisfies Record<keyof PageEdition, ValueType>

/** Editions to store in place of those with their keys, and editions to delete. */
export interface PageEditionChanges {
  put: readonly PageEdition[]
  remove: readonly PageEditionKey[]
}
