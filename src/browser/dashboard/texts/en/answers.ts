import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const answers = {
  sentence: (when: string, fetches: Quantity<'fetches'>): Parts => [
    `${when}, assistants made `,
    fetches.shown,
    ' of pages to answer people. ',
  ],
  followed: (
    same: Quantity<'fetches'>,
    other: Quantity<'fetches'>,
    minutes: number,
    delay: string | undefined,
  ): Parts => [
    same.shown,
    ` ${same.n === 1 ? 'was' : 'were'} followed within ${minutes === 1 ? 'a minute' : `${minutes} minutes`} by a reader from the same operator at the same page, `,
    other.shown,
    ` by one at another page only${delay === undefined ? '' : `, in the median after ${delay}`}. `,
  ],
  byChance: (same: Quantity<'fetches'>, other: Quantity<'fetches'>): Parts => [
    `By chance alone it would be ${same.text} and ${other.text}. `,
  ],
  notFollowed: (rest: Quantity<'fetches'>): Parts => ['After ', rest.shown, ' no reader was seen.'],
  none: 'No assistant fetched a page to answer a person in this time.',
  byPage: 'By page',
  byOperator: 'By operator',
  axis: (human: unknown, agent: unknown): Parts => ['a reader at the same page ', human, ' ', agent, ' fetched live'],
  both: (followed: string, fetches: string) =>
    `${followed} followed by a reader at the same page, ${fetches} fetched live`,
  samePage: 'Reader at the same page',
  otherPage: 'At another only',
  ofAll: (n: string, all: string) => `${n} of ${all}`,
  delay: 'Median between',
  few: (seconds: string) => `too few: ${seconds} s`,
  noReader: 'no reader followed',
  goals: 'Goals',
  unseen: 'No reader seen',
  cited: 'Cited by Bing',
  clicked: 'Clicks at Google',
  named: 'Numbers',
  notInFile: 'not in the file',
  howSoon: 'How soon a reader followed',
  arrivals: 'arrivals',
  keyFollowed: 'followed',
  fetched: 'fetched live',
  keyChance: 'by chance',
  fetch: 'fetch',
  minutes: (n: string) => `${n} min`,
  median: (delay: string) => `median ${delay}`,
  chance: (chance: string, arrivals: string) => `arrivals: ${arrivals}, expected by chance: ${chance}`,
  chanceUnknown: 'by chance: not known, the day before was not recorded',
  chart: (arrivals: string, first: string, chance: string | undefined) =>
    `Arrivals after a live fetch: ${arrivals}, in the first fifth of the time: ${first}${chance === undefined ? '' : `; expected by chance: ${chance}`}.`,
  carefulTitle: 'Followed by, not caused by',
  careful: (time: string) =>
    `An arrival is given to the latest live fetch of its operator at most ${time} before it: of the same page, else of another. By chance: what follows if all arrivals are moved by one day. Native apps send no referrer, so the readers are a lower bound, and the fetches without a reader an upper bound.`,
}
