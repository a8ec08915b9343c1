import { counted } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const blank = {
  title: 'Blank to machines',
  byReaders: (n: string) => `${n}, by visits at stake; those that only say “not found” last`,
  none: 'No page with a problem is known: every sampled page has its text without scripts, the same for people and agents, and refuses no agent that people are not refused.',
  sentence: (pages: Quantity<'pages'>): Parts => [
    pages.shown,
    ': blank to programs, closed to agents or different for them, or “not found” with status 200. ',
  ],
  mostAtStake: (visits: Quantity<'visits'>, path: unknown, problems: string): Parts => [
    'A search engine or an assistant sent ',
    visits.shown,
    ' to ',
    path,
    `: ${problems}.`,
  ],
  page: 'Page, and what is wrong',
  served: 'As served',
  living: 'In the browser',
  readers: 'Visits at stake',
  notSampled: 'no response was sampled',
  notDescribed: 'no browser described it',
  noText: 'no text',
  toAgents: 'Agents get',
  language: (tag: string) => `language ${tag}`,
  canonical: (address: string) => `canonical ${address}`,
  amount: (characters: number, headings: number, links: number) =>
    `${counted(characters, 'character', 'characters')}, ${counted(headings, 'heading', 'headings')}, ${counted(links, 'link', 'links')}`,
  problem: {
    empty_shell: 'empty without scripts',
    written_by_scripts: 'mostly written by scripts',
    not_found: '“not found” with status 200',
    consent: 'asks for consent first',
    challenge: 'asks for a proof first',
    other_text: 'agents get another text',
    agents_refused: 'refuses agents only',
  },
  refusedUnsampled: 'refuses agents, is shown to people who may be signed in',
  foot: 'Visits at stake are those in this time that began on the page after a search engine or an assistant. Spaces do not count as characters.',
}
