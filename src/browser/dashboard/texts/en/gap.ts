import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const gap = {
  assistants: 'assistants and AI search',
  sentence: (when: string, who: string, reads: Quantity<'reads'>, visits: Quantity<'aiVisits'>): Parts => [
    `${when}, ${who} made `,
    reads.shown,
    ' and brought ',
    visits.shown,
    '.',
  ],
  onlyPeople: (when: string, who: string, visits: Quantity<'aiVisits'>): Parts => [
    `${when}, ${who} brought `,
    visits.shown,
    '.',
  ],
  onlyAgents: (when: string, who: string, reads: Quantity<'reads'>): Parts => [
    `${when}, ${who} made `,
    reads.shown,
    '.',
  ],
  ratio: (ratio: unknown): Parts => [' Reads for each AI visit: ', ratio, '.'],
  median: (median: string): Parts => [` The median page has ${median}.`],
  verdicts: 'Verdicts',
  byPage: 'By page',
  arrivals: 'AI visits',
  none: 'No search or assistant agent read a page in this time, and no visit came from one. Training agents are left out.',
  meaning: (verdict: string, factor: string, above: string | undefined, below: string | undefined): string =>
    ({
      gap: `Read a lot and cited little: over ${factor} times the median of reads per AI visit${above === undefined ? '' : ` (${above})`}, or no AI visit at all.`,
      balanced: 'Between the two.',
      earning: `Cited a lot for few reads: under a third of the median${below === undefined ? '' : ` (${below})`}.`,
      unfetched: 'AI visits began here, but no agent read it in this time.',
      unseen: 'People viewed it; no assistant read it, and no AI visit began here.',
      blocked: 'robots.txt or the server keeps search and assistant agents out.',
      twin: 'The Markdown form of a page: assistants send people to the page.',
      insufficient: 'Under 10 reads and under 3 AI visits: too few to say.',
    })[verdict] ?? '',
}

export const decay = {
  title: 'Content decay',
  against: 'this time against the one before',
  meanings: 'What the verdicts mean',
  adjusted: 'Without site trend',
  people: 'People’s pageviews',
  agents: 'Agents’ fetches',
  fromTo: (before: string, now: Quantity<'pageviews' | 'fetches'>) => `from ${before} to ${now.text}`,
  sentence: (page: unknown, people: string, agents: string): Parts => [
    page,
    ` loses people, ${people}, while agents go on reading it, ${agents}.`,
  ],
  lost: (page: unknown, people: string, why: string): Parts => [page, ` lost most, ${people}. ${why}`],
  /** After the page that lost most. */
  why: {
    decaying: '',
    fading: 'Agents read it less too.',
    steady: 'Without the site’s own trend, that is less than a quarter.',
    blocked: 'An agent that could read it before no longer can.',
    insufficient: 'That is too little for a verdict: under 28 days, 50 pageviews or 10 fetches.',
  },
  sentenceNone: ['No page lost people while agents went on reading it.'] as Parts,
  sentenceTooFew: [
    'There is too little to compare yet: verdicts need 28 days, 50 pageviews and 10 fetches of a page in the time before.',
  ] as Parts,
  sentenceEmpty: ['Nothing was read in this time or the one before.'] as Parts,
  meaning: {
    decaying: 'People fell by a quarter or more, the site’s own trend taken out; agents fell by less than a tenth.',
    fading: 'Both fell.',
    steady: 'Anything else.',
    blocked: 'An agent that could read it before no longer can.',
    insufficient: 'Under 28 days, 50 pageviews or 10 fetches.',
  },
}
