import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

/** Meanings of signals by their names; the API has them in English. */
const meaning: Readonly<Record<string, string>> = {}

/** The view Agents among people. */
export const suspected = {
  sentence: (views: Quantity<'pageviews'>, share: string, visits: Quantity<'visits'>): Parts => [
    views.shown,
    ` (${share} of all) may be of agents that pose as people, in `,
    visits.shown,
    '.',
  ],
  none: 'No view of a person is suspected in this time.',
  noViews: 'No page was viewed in this time.',
  metric: 'Number',
  both: 'People with and without them',
  all: 'All',
  without: 'Without them',
  switch: 'Leave out suspected visits in every view',
  overTime: 'Suspected views over time',
  signals: 'What can speak against a visitor',
  signal: 'Signal',
  family: { headers: 'headers', network: 'network', behaviour: 'behaviour' },
  meaning,
  spoke: 'Speaks against',
  suspectedViews: 'Suspected',
  share: 'Share',
  pages: 'Pages',
  sources: 'Sources',
  countries: 'Countries',
  noValue: 'none',
  foot: 'A view is suspected if two of three families of signals speak against its visitor: headers, network, behaviour. One family alone marks nothing. A visit with a suspected view is left out whole.',
}
