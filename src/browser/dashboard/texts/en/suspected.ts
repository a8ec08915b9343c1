import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

const meaning: Readonly<Record<string, string>> = {
  'headers:no_navigation': 'Opens pages without saying so, as browsers do (Sec-Fetch)',
  'headers:no_language': 'Names no language',
  'headers:accept': 'Asks for something else than HTML',
  'headers:no_gzip': 'Takes no compressed responses',
  'headers:client_hints': 'Its hints name another browser than its user agent, or a headless one',
  'headers:stale_browser': 'A Chrome from before 2020 on a later system',
  'headers:order': 'Orders or spells its header fields as no Chromium does',
  'headers:http1': 'Named as a Chromium, but speaks HTTP/1.1 where HTTP/2 is offered',
  'network:hosting': 'From a network that rents out servers',
  'behaviour:burst': 'More than 30 pages in 10 seconds',
  'behaviour:sweep': 'More than 25 different pages in a minute',
  'behaviour:policy_first': 'Began with robots.txt, llms.txt or a sitemap',
  'behaviour:no_assets': 'Loaded no image, style or script with its pages',
  'behaviour:network_sweep':
    'More than 25 different pages in a minute to one network, without an image, style or script',
}

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
  without: 'People without them',
  switch: 'Leave out suspected visits in every view',
  overTime: 'Suspected views over time',
  signals: 'What speaks against them',
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
  nothing: 'Nothing speaks against a view in this time.',
  foot: 'A view is suspected if two of three families of signals speak against its visitor: headers, network, behaviour. One family alone marks nothing. A visit with a suspected view is left out whole.',
}
