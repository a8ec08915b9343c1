import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const coverage = {
  order: 'Order',
  mostRead: 'Most read',
  longestUnread: 'Longest unread',
  sentence: (pages: Quantity<'pages'>, page: unknown, ago: string): Parts => [
    'People or agents read ',
    pages.shown,
    ', or a sitemap lists them. Agents left ',
    page,
    ` unread for longest: the last read was ${ago}.`,
  ],
  sentenceNever: (pages: Quantity<'pages'>, page: unknown): Parts => [
    'People or agents read ',
    pages.shown,
    ', or a sitemap lists them. No agent ever read ',
    page,
    '.',
  ],
  sentenceNone: 'No page was read in this time, and no sitemap is known.',
  people: 'Pageviews',
  first: 'First read',
  age: 'Age of the copy',
  never: 'never read',
  status: 'Status',
  robots: 'Last read was',
  robotsHint: 'Whether robots.txt allowed the last read to the agent that made it',
  allowed: 'allowed',
  disallowed: 'disallowed',
  listed: { yes: 'listed', no: 'no' },
  sitemap: 'Sitemap',
}
