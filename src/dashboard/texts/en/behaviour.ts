import { plural } from '../../state/format.js'
import type { Parts } from '../index.js'

/** Texts of Live, Events, Goals, Funnels, Journeys, Retention, Performance and Errors. */
export const behaviour = {
  live: {
    count: {
      human: (n: number, shown: string) => plural(n, { one: `${shown} person`, other: `${shown} people` }),
      agent: (n: number, shown: string) => plural(n, { one: `${shown} agent`, other: `${shown} agents` }),
    },
    sentence: (readers: readonly unknown[], page: unknown): Parts => [
      'In the last 5 minutes ',
      readers[0],
      ...(readers.length === 2 ? [' and ', readers[1]] : []),
      ' read this site',
      ...(page === undefined ? ['.'] : ['; most are on ', page, '.']),
    ],
    now: { human: 'People now', agent: 'Agents now' },
    window: 'in the last 5 minutes',
    readsIn: (reads: string | undefined) =>
      reads === undefined ? 'in the last 5 minutes' : `in the last 5 minutes; ${reads} reads in 30`,
    minutes: 'Last 30 minutes',
    bars: { human: 'people, up', agent: 'agent reads, down' },
    bar: { human: (n: string) => `people: ${n}`, agent: (n: string) => `agent reads: ${n}` },
    nowMark: 'now',
    open: 'Open pages',
    page: 'Page',
    quiet: 'No page was read in the last 5 minutes.',
    feed: 'As it happens',
    since: (rows: string, time: string) => `${rows} since ${time}`,
    connection: {
      connecting: 'Connecting …',
      open: 'Connected',
      lost: 'Connection lost; trying again …',
      refused: 'Not connected',
    },
    paused: (n: string) => `Paused, ${n} waiting`,
    pause: 'Pause',
    resume: 'Go on',
    space: 'space',
    missed: (n: string) => `${n} rows were left out because they came faster than this page could take them.`,
    leftOut: (filters: string) =>
      `The feed shows single rows, so it cannot follow this filter: ${filters}. The numbers above do.`,
    waiting: 'Nothing yet. The next read appears here within a second.',
    time: 'Time',
    reader: 'Reader',
    identity: 'Identity or source',
    status: 'Status',
    took: 'Took',
    person: 'A person',
    agent: 'An agent',
    from: (source: string) => `from ${source}`,
    verified: 'verified',
    spoofed: 'spoofed',
    disallowed: (line: number | undefined) => (line === undefined ? 'disallowed' : `disallowed by line ${line}`),
    breach: (line: number | undefined) => (line === undefined ? 'breach' : `breach of line ${line}`),
  },
  events: {
    kind: {
      custom: 'Event',
      outbound: 'Outbound link',
      file_download: 'Download',
      form: 'Form',
    } as Record<string, string>,
    agents: 'Agents click nothing and send no forms; they fetch.',
  },
}
