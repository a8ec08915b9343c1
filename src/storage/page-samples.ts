import { z } from 'zod'
import type { ValueType } from './sql.js'

/**
 * One edition of a page, as samples of its responses showed it, in the order of the table's columns. A page has one row
 * without `replaced_at`, its present edition. Of a page that differs at every sample there is only one row, which `varies`.
 */
export const PageEdition = z.object({
  site_id: z.int(),
  hostname: z.string(),
  pathname: z.string(),
  /** The first and the last sample that had this edition. */
  first_seen: z.date(),
  last_seen: z.date(),
  /** The last sample that had the edition before; null for the first edition, which is older than its first sample. */
  prior_seen: z.date().nullable(),
  /** The first sample of the next edition; null for the present one. */
  replaced_at: z.date().nullable(),
  digest: z.string(),
  samples: z.int(),
  /** How many of the last samples each had another text than the one before. */
  differing: z.int(),
  varies: z.boolean(),
  /** The kinds of clients that got it in samples. */
  served_to: z.enum(['people', 'agents', 'both']),
  /** Characters of the text, without white space. */
  text_length: z.int(),
  headings: z.int(),
  links: z.int(),
  lang: z.string().nullable(),
  canonical: z.string().nullable(),
  title: z.string().nullable(),
  /** The first line of the text. */
  first_line: z.string().nullable(),
  /** `not_found`, `consent` or `challenge` if the page says so in place of its content. */
  notice: z.string().nullable(),
  /** When a browser last described the document after its scripts ran, and what it showed; null if none did. */
  living_seen: z.date().nullable(),
  living_text_length: z.int().nullable(),
  living_headings: z.int().nullable(),
  living_links: z.int().nullable(),
  /** The first line of its text, once browsers of five visitors showed the same within a day: it may greet a person. */
  living_line: z.string().nullable(),
  /**
   * Another text that agents got while people got this one: its last sample, how many samples had it, each after a new one
   * of people's text, and facts about it; null without one.
   */
  agent_seen: z.date().nullable(),
  agent_digest: z.string().nullable(),
  agent_samples: z.int().nullable(),
  agent_text_length: z.int().nullable(),
  agent_headings: z.int().nullable(),
  agent_links: z.int().nullable(),
  agent_line: z.string().nullable(),
})
export type PageEdition = z.infer<typeof PageEdition>

export type PageEditionKey = Pick<PageEdition, (typeof PAGE_EDITION_KEY)[number]>
export const PAGE_EDITION_KEY = ['site_id', 'hostname', 'pathname', 'first_seen'] as const

const COLUMN_TYPES = {
  ...({ number: 'integer', string: 'varchar', enum: 'varchar', date: 'timestamp', boolean: 'boolean' } as const),
}

/** The columns of `page_samples`, in the order of the table. */
export const PAGE_EDITION_TYPES: Readonly<Record<string, ValueType>> = Object.fromEntries(
  Object.entries(PageEdition.shape).map(([name, field]) => [
    name,
    COLUMN_TYPES[field instanceof z.ZodNullable ? field.unwrap().type : field.type],
  ]),
)

/** Editions to store in place of those with their keys, and editions to delete. */
export interface PageEditionChanges {
  put: readonly PageEdition[]
  remove: readonly PageEditionKey[]
}
