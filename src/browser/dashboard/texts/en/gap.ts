import { plural } from '../../state/format.js'
import type { Parts } from '../rich-text.js'

export const gap = {
  assistants: 'assistants and AI search',
  pages: (n: number, shown: string) => plural(n, { one: `${shown} page`, other: `${shown} pages` }),
  sentence: (when: string, who: string, reads: unknown, people: unknown): Parts => [
    `${when}, ${who} read `,
    reads,
    ' and sent ',
    people,
    '.',
  ],
  onlyPeople: (when: string, who: string, people: unknown): Parts => [`${when}, ${who} sent `, people, '.'],
  onlyAgents: (when: string, who: string, reads: unknown): Parts => [`${when}, ${who} read `, reads, '.'],
  ratio: (ratio: unknown): Parts => [' That is ', ratio, ' reads for each person.'],
  median: (median: string): Parts => [` The median page has ${median}.`],
  verdicts: 'Verdicts',
  byPage: 'By page',
  arrivals: 'Arrivals',
  none: 'No search or assistant agent read a page in this time, and none sent a person. Training agents are left out.',
  meaning: (verdict: string, factor: string, above: string | undefined, below: string | undefined): string =>
    ({
      gap: `Read a lot and cited little: over ${factor} times the median of reads per arrival${above === undefined ? '' : ` (${above})`}, or no arrival at all.`,
      balanced: 'Between the two.',
      earning: `Cited a lot for few reads: under a third of the median${below === undefined ? '' : ` (${below})`}.`,
      unfetched: 'People arrived, but no agent read it in this time.',
      unseen: 'People read it; no assistant read it or sent anybody.',
      blocked: 'robots.txt or the server keeps search and assistant agents out.',
      insufficient: 'Under 10 reads and under 3 arrivals: too few to say.',
    })[verdict] ?? '',
}

export const decay = {
  title: 'Content decay',
  against: 'this time against the one before',
  meanings: 'What the verdicts mean',
  adjusted: 'Without site trend',
  people: 'People’s pageviews',
  agents: 'Agents’ fetches',
  fromTo: (before: string, now: string) => `from ${before} to ${now}`,
  sentence: (page: unknown, people: string, agents: string): Parts => [
    page,
    ` loses people, ${people} pageviews, while agents go on reading it, ${agents} fetches.`,
  ],
  sentenceNone: ['No page lost people while agents went on reading it.'] as Parts,
  sentenceTooFew: [
    'There is too little to compare yet: verdicts need 28 days, 50 pageviews and 10 fetches of a page in the time before.',
  ] as Parts,
  sentenceEmpty: ['Nothing was read in this time or the one before.'] as Parts,
  meaning: {
    decaying: 'People fell by a quarter or more, the site’s own trend taken out; agents fell by less than a tenth.',
    fading: 'Both fell.',
    steady: 'Anything else.',
    blocked: 'Agents can no longer read it.',
    insufficient: 'Under 28 days, 50 pageviews or 10 fetches.',
  },
}
