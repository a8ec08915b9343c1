import { counted, formatNumber } from '../../state/format.js'
import type { Parts } from '../rich-text.js'

export const robots = {
  sentence: (disallowed: string, llms: number, sitemap: string): Parts => [
    `In this time the text would have disallowed ${disallowed} beyond today’s text; it hides ${counted(llms, 'link', 'links')} of llms.txt and ${sitemap} of the sitemap from agents that it does not name.`,
  ],
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
  newlyAllowed: (text: string) => `${text} newly allowed`,
  nothingDisallowed: 'The text disallows no fetch of this time that is allowed now.',
  after: 'After the last rule',
  readOn: (n: number) => `read on, ${counted(n, 'time', 'times')}`,
  unclear: (n: number) => `${formatNumber(n)} unclear`,
  neverRead: 'never read robots.txt',
  obeyed: 'obeyed',
  obeyedAfter: (time: string) => `obeyed, read it ${time} after`,
  noSearchEngine: 'Search engines: no fetch newly disallowed.',
  limit: {
    query: (text: string) => `Of ${text} the record has no query, which a pattern of the text could match.`,
    spoofed: (text: string) => `${text} under a false name: left out.`,
    no_policy: (text: string) => `${text} of hostnames without a known robots.txt: left out.`,
  },
  hidden: 'Hidden by it',
  hiddenFrom: 'from agents that it does not name',
  hidesNothing: 'It hides no link of llms.txt and no page of the sitemap from them.',
  hiddenInAll: (llms: number, sitemap: string) =>
    `In all ${counted(llms, 'link', 'links')} of llms.txt and ${sitemap} of the sitemap.`,
  hiddenFromNamed: (agents: readonly string[], total: number, llms: number, sitemap: string) =>
    `From ${agents.slice(0, 3).join(', ')}${total > 3 ? ` and ${formatNumber(total - Math.min(3, agents.length))} more` : ''} it hides ${counted(llms, 'link', 'links')} and ${sitemap}.`,
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
  byUs: 'readership serves the robots.txt of this site.',
  byServer: 'Your server serves its own robots.txt. Publish yours here, or copy it there.',
  publish: 'Publish',
  published: 'Published.',
  handBack: 'Let my server serve it again',
  handedBack: 'Your server serves its robots.txt again.',
  versions: 'Versions',
  served: 'served',
  rollBack: 'Roll back',
  rolledBack: 'Rolled back.',
}
