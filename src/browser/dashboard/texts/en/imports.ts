import type { Quantity } from '../quantity.js'

export const imports = {
  intro:
    'Access logs of nginx, Apache, Caddy, HAProxy, IIS, CloudFront, Fastly and others, plain or compressed with gzip or zstd. What is stored already is not stored twice.',
  list: 'Logs',
  drop: 'Drop files here, or',
  choose: 'Choose files',
  larger: 'Or on the server itself: npx readership import FILE',
  host: 'Hostname of the log',
  hostHint: 'The site lists no domain. Lines without a hostname get this one.',
  keepOpen:
    'You can open other views. Keep this tab open until the files are sent; the import itself goes on without it.',
  sending: (sent: string, all: string) => `${sent} of ${all} sent`,
  waiting: 'Waits until the import before it has ended',
  notImported: 'Nothing of this file was imported.',
  stop: 'Stop',
  forget: 'Remove from the list',
  undo: 'Undo',
  undoTitle: (name: string) => `Undo the import of ${name}?`,
  undoText: 'Its rows are removed, and visits are as they were before.',
  removing: 'Being undone. It leaves the list when that is done.',
  running: (
    share: string,
    day: string | undefined,
    people: Quantity<'pageviews'>,
    agents: Quantity<'fetches'>,
  ): string =>
    `${[share, day && `at ${day}`].filter(Boolean).join(', ')}: ${people.text} of people and ${agents.text} of agents so far. You can leave this page.`,
  done: (lines: string, people: Quantity<'pageviews'>, agents: Quantity<'fetches'>): string =>
    `${people.text} of people and ${agents.text} of agents from ${lines} lines.`,
  failed: 'It ended early:',
  skipped: (n: string) => `${n} lines were not stored: why`,
  reasons: {
    notPages: 'of people for anything but pages, or of other hostnames',
    data: 'of people below paths of data, such as /api/',
    known: 'that were stored before',
    broken: 'that are not of the log’s format',
  },
}
