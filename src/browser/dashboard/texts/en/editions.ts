import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const editions = {
  title: 'Pages and their readers',
  byStake: (pages: string) => `${pages}, by visits at stake`,
  none: 'No page was sampled yet. The proxy samples pages as they are read; imports, sidecars and middleware bring none.',
  sentence: (when: string, changed: string, pages: Quantity<'pages'>): Parts => [
    `${when}, the text of ${changed} of `,
    pages.shown,
    ' changed. ',
  ],
  stale: (operators: readonly string[], visits: Quantity<'visits'>, path: unknown, day: string): Parts => [
    `${operators.join(', ')} sent `,
    visits.shown,
    ' to ',
    path,
    `, and none of ${operators.length === 1 ? 'its' : 'their'} search or assistant agents has read the page since it changed on ${day}.`,
  ],
  others: (names: readonly string[]) => ` Read it since, for other purposes: ${names.join(', ')}.`,
  noStake: 'No operator that sent visits has an older edition of a page.',
  page: 'Page',
  changed: 'Changed',
  holders: 'Search and assistants without this edition',
  lastRead: (at: string | undefined, visits: string) =>
    `${at === undefined ? 'never read' : `last read ${at}`}; ${visits}`,
  agents: 'Agents',
  current: 'This edition',
  old: 'Older',
  never: 'Never read',
  names: (names: string, more: number) => (more > 0 ? `${names} and ${more} more` : names),
  stake: 'Visits at stake',
  same: 'not since sampling began',
  varies: 'differs each time',
  verdict: {
    missed: 'Sitemap date older than the change',
    unfounded: 'Sitemap date newer than the text',
  },
  foot: 'Visits at stake are those in this time from operators of which no search or assistant agent has read the page since the edition before.',
  reread: 'How long search engines and assistants take to read a changed page again',
  again: 'Changes read again',
  ofAll: (n: string, all: string) => `${n} of ${all}`,
  median: 'Median',
  noReread: 'No page changed in this time that an agent of an operator with readers had read before.',
  dates: 'Dates of the sitemap',
  agree: 'Agree with the samples',
  noDate: 'Without a date, or differs each time',
  datesFoot: 'Pages; a difference of a day is allowed.',
}
