import { formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const coverage = {
  order: 'Order',
  mostRead: 'Most read',
  longestUnread: 'Longest unread',
  sentence: (pages: Quantity<'pages'>, page: unknown, ago: string): Parts => [
    'Agents have read all of ',
    pages.shown,
    ' that people or agents read or a sitemap lists; they left ',
    page,
    ` unread for longest: the last read was ${ago}.`,
  ],
  /** `isPart`: at least so many are unread. */
  sentenceNever: (pages: Quantity<'pages'>, unread: number, isPart: boolean, page: unknown): Parts => [
    'Of ',
    pages.shown,
    ' that people or agents read or a sitemap lists, agents have not read ',
    ...(unread === 1 ? [] : [`${isPart ? 'at least ' : ''}${formatNumber(unread)}, such as `]),
    page,
    '.',
  ],
  most: (agent: unknown, n: number, all: Quantity<'fetches'>): Parts => [
    ' ',
    agent,
    ` fetched most: ${formatNumber(n)} of ${all.text}.`,
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
