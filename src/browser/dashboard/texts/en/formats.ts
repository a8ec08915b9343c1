import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

const FORMATS: Readonly<Record<string, string>> = {
  markdown: 'Markdown',
  html: 'HTML',
  json: 'JSON',
  text: 'plain text',
  xml: 'XML',
  image: 'image',
  other: 'another',
  any: 'anything',
}

export const formats = {
  sentence: (when: string, fetches: Quantity<'fetches'>): Parts => [`${when}, agents got a body in `, fetches.shown],
  markdown: (asked: string): Parts => [`; they asked for Markdown in ${asked}`],
  got: (share: unknown): Parts => [' and got it in ', share, ' of these'],
  unknownAccept: ['; what they asked for is not known, because no Accept header was recorded.'] as Parts,
  links: (listed: string, unfollowed: string): Parts => [
    `. Of ${listed} links of llms.txt, ${unfollowed} were not followed by a fetch.`,
  ],
  format: (name: string | undefined): string => (name === undefined ? 'not known' : (FORMATS[name] ?? name)),
  matrix: 'Asked for and served',
  matrixAside: 'fetches by GET with a body; filled: the format asked for',
  shownOf: (shown: string, all: string) => `${shown} of ${all}`,
  all: 'All agents',
  fewer: 'Fewer',
  none: 'No agent got a body in this time.',
  allAgents: 'All agents',
  asked: 'Asked for',
  suited: 'Got it',
  served: 'Served',
  withoutMarkdown: 'Asked for as Markdown, served as HTML',
  noneWithoutMarkdown: 'No page was asked for as Markdown and served as HTML in this time.',
  twins: 'Markdown twins',
  twinsAside: 'paths in .md of pages that exist',
  noTwins: 'No agent fetched a Markdown twin of a page in this time.',
  readers: 'Readers of llms.txt',
  noReaders: 'No agent read llms.txt or llms-full.txt in this time.',
  linksAfter: 'Links fetched',
  soon: 'After (median)',
  order: 'Usual order',
  followed: 'Links of llms.txt',
  followedAside:
    'fetched by the same agent within 24 hours of a read; place: which of the links it fetched first, second …',
  noLinks: 'No links of llms.txt are known for this time: no version of the file is recorded, or it has none.',
  link: 'Link',
  section: 'Section',
  former: 'no longer listed',
  by: 'Agents',
  never: 'never followed',
  place: 'Place',
}
