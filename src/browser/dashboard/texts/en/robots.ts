import { counted, formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const robots = {
  sentence: (disallowed: Quantity<'fetches'>, llms: number, sitemap: Quantity<'pages'>): Parts => [
    `In this time the text would have disallowed ${disallowed.text} beyond today’s text; it hides ${counted(llms, 'link', 'links')} of llms.txt and ${sitemap.text} of the sitemap from agents that it does not name.`,
  ],
  editor: 'Text',
  editorLabel: (lines: number, differing: number) =>
    `robots.txt, ${counted(lines, 'line', 'lines')}; parsers read ${formatNumber(differing)} of them differently, as listed beside it`,
  show: { text: 'Text', diff: 'Changes' },
  startFrom: 'Start from',
  choose: 'choose…',
  preset: {
    search_not_training: 'Search yes, training no',
    assistants_only: 'Assistants only',
    nothing: 'Nothing',
    everything: 'Everything',
  },
  presentText: 'The present text',
  legend:
    'Left: a bar marks a new line, ? a line that parsers read differently. Right: the fetches that the line would have decided.',
  newlyDisallowed: 'Newly disallowed',
  nothingAllowed: 'nothing newly allowed',
  newlyAllowed: ({ text }: Quantity<'fetches'>) => `${text} newly allowed`,
  nothingDisallowed: 'The text disallows no fetch of this time that is allowed now.',
  agent: 'Agent',
  fetches: 'Fetches',
  after: 'After the last rule',
  readOn: (n: number) => `read on, ${counted(n, 'time', 'times')}`,
  unclear: (n: number) => `${formatNumber(n)} unclear`,
  neverRead: 'never read robots.txt',
  obeyed: 'obeyed',
  obeyedAfter: (time: string) => `obeyed, read it ${time} after`,
  moreAgents: (n: number) => `and ${counted(n, 'more agent', 'more agents')}`,
  noSearchEngine: 'Search engines: no fetch newly disallowed.',
  limit: {
    query: ({ text }: Quantity<'fetches'>) =>
      `Of ${text} the record has no query, which a pattern of the text could match.`,
    spoofed: ({ text }: Quantity<'fetches'>) => `${text} under a false name: left out.`,
    no_policy: ({ text }: Quantity<'fetches'>) => `${text} of hostnames without a known robots.txt: left out.`,
  },
  hidden: 'Hidden by it',
  hiddenFrom: 'from agents that it does not name',
  hidesNothing: 'It hides no link of llms.txt and no page of the sitemap from them.',
  hiddenInAll: (llms: number, sitemap: Quantity<'pages'>) =>
    `In all ${counted(llms, 'link', 'links')} of llms.txt and ${sitemap.text} of the sitemap.`,
  hiddenFromNamed: (agents: readonly string[], total: number, llms: number, sitemap: Quantity<'pages'>) =>
    `From ${agents.slice(0, 3).join(', ')}${total > 3 ? ` and ${formatNumber(total - Math.min(3, agents.length))} more` : ''} it hides ${counted(llms, 'link', 'links')} and ${sitemap.text}.`,
  differing: 'Lines that parsers read differently',
  noneDiffers: 'All parsers read every line the same way.',
  difference: {
    too_long: () => 'The text is longer than the 500 KiB that agents read.',
    byte_order_mark: () =>
      'The text begins with a byte order mark. Some parsers take it for a part of the first record.',
    long_line: () => 'Google reads 16,663 bytes of a line, and none after a NUL.',
    no_record: () => 'No record: it has no colon. Agents skip the line.',
    misspelt: (meant: string) => `Google reads it as ${meant}; by RFC 9309 agents skip it.`,
    unknown_key: () => 'Agents skip this record.',
    preferences: () => 'Preferences. An agent that does not know the record skips it; nothing enforces it.',
    crawl_delay: () => 'Bing waits that long. Google skips it, and RFC 9309 does not know it.',
    licence: () => 'RSL 1.0, for the whole file wherever it stands. An agent that does not know the record skips it.',
    pattern: () =>
      'Google, Bing and RFC 9309 read a pattern. Parsers of the draft of 1994 take * and $ for letters of a path.',
    token_only: (agent: string) =>
      `A name, not a crawler: ${agent} sends no requests. Other agents of its operator go on reading.`,
    agent_name: (name: string) =>
      name === ''
        ? 'Google reads no name here.'
        : `RFC 9309 has only letters, - and _ in names; Google reads “${name}”.`,
  } as Record<string, (detail: string) => string>,
  bandTitle: (n: number) => `This text would newly disallow ${counted(n, 'search engine', 'search engines')}.`,
  engine: (name: string, { text }: Quantity<'fetches'>) => `${name}: ${text}`,
  typeName: (name: string) => `To publish it nevertheless, type ${name}:`,
  servedBy: 'Served by',
  byUs: 'readership',
  byServer: 'my server; I copy the text',
  publish: 'Publish',
  published: 'Published.',
  handBack: 'Let my server serve it again',
  handedBack: 'Your server serves its robots.txt again.',
  copy: 'Copy',
  copied: 'Copied.',
  lastPublished: (at: string, by: string) => `Last published ${at} by ${by}`,
  needsAdmin: 'Publishing requires the admin role. Ask an owner.',
  versions: 'Versions',
  draft: 'Draft',
  notServed: 'not served',
  served: 'served',
  lines: (n: number) => counted(n, 'line', 'lines'),
  edit: 'Edit',
  rollBack: 'Roll back',
  rolledBack: 'Rolled back.',
  noVersions: 'readership has served no robots.txt of this site yet.',
}
