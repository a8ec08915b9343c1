import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

/** The view Weekday and hour: averages of the hours that were recorded whole. */
export const hours = {
  /** `when` is drawn; the number is the average of that hour. */
  most: {
    human: (who: unknown, when: unknown): Parts => [who, ' come most on ', when],
    agent: (who: unknown, when: unknown): Parts => [who, ' read most on ', when],
  },
  who: { human: 'People', agent: 'Agents' },
  weekend: {
    fewer: (share: string) => `; on Saturday and Sunday ${share} less than on other days. `,
    more: (share: string) => `; on Saturday and Sunday ${share} more than on other days. `,
    same: '; on Saturday and Sunday about as much as on other days. ',
    unknown: '. ',
  },
  nothing: {
    human: 'No visit began in the hours that were recorded whole. ',
    agent: 'No agent read a page in the hours that were recorded whole. ',
  },
  neverRecorded: 'No hour of this time was recorded from its first minute to its last, so there is no average.',
  aside: { human: 'visits in an average hour', agent: 'reads in an average hour' },
  grid: { human: 'Visits by weekday and hour', agent: 'Reads by weekday and hour' },
  weekday: 'Weekday',
  perDay: 'a day',
  perDayLong: 'On an average day',
  hour: (weekday: string, from: string, to: string) => `${weekday}, ${from} to ${to}`,
  average: (average: string) => `${average} on average`,
  from: (n: Quantity<'visits'> | Quantity<'reads'>, hours: number) =>
    hours === 1 ? `${n.text} in the one such hour` : `${n.text} in ${hours} such hours`,
  unrecorded: 'never recorded whole in this time',
  busiest: 'busiest hour',
  foot: (zone: string) =>
    `Times in ${zone}. An average is over the hours of this time that were recorded from their first minute to their last. An hour that clocks show twice is two hours. Arrow keys move in a grid.`,
}
