import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const retention = {
  agents: 'Agents have names and no ids or visits, so a change of ids hides none of their returns.',
  sentence: (when: string, people: Quantity<'people'>, share: unknown, after: string): Parts => [
    when,
    ' ',
    people.shown,
    ' came for the first time; ',
    share,
    ` of them came back ${after}.`,
  ],
  least: (people: Quantity<'people'>, days: string, share: string): Parts => [
    ` Those of ${days}, ${people.text}, came back least: ${share}.`,
  ],
  most: (people: Quantity<'people'>, days: string, share: string): Parts => [
    ` Those of ${days}, ${people.text}, came back most: ${share}.`,
  ],
  tooEarly: (when: string, unit: 'day' | 'week' | 'month'): Parts => [
    when,
    ` no ${unit} has ended after a first visit, so it is too early to say who came back.`,
  ],
  saltChanged: (when: string, unit: 'day' | 'week' | 'month'): Parts => [
    when,
    ` people get a new id the next ${unit}, so who came back is not known.`,
  ],
  unknown: 'cannot be known: ids of people change in between',
  after: { day: 'the day after', week: 'the week after', month: 'the month after' },
  title: 'People who came back',
  aside: {
    day: 'by day of the first visit',
    week: 'by week of the first visit',
    month: 'by month of the first visit',
  },
  first: 'First visit',
  period: {
    day: (n: number) => `Day ${n}`,
    week: (n: number) => `Week ${n}`,
    month: (n: number) => `Month ${n}`,
  },
  asCount: 'As counts',
  asShare: 'As shares',
  foot: 'A visit counts on the day it began.',
  atLeast: 'at least',
  soFar: 'so far',
  fullBar: (share: string) => `A full bar would be ${share}.`,
  keyName: { known: 'Known.', atLeast: 'At least.', unknown: 'Cannot be known.', soFar: 'So far.' },
  keyText: {
    atLeast: 'Ids change within the week; only the days before are counted.',
    unknown: 'Ids have changed; no one is recognised after that.',
    soFar: 'Not over in this time. Blank: not begun.',
  },
  why: 'Why some cells are hatched',
  whyText: (changes: string, setting: unknown): Parts => [
    `A visitor id is made from a secret that is destroyed ${changes}, by UTC. A return after that looks like a first visit, so the number would be a false 0. Weeks and days are therefore counted from then on, and columns end where ids end. To recognise people for longer, change `,
    setting,
    '; it counts from the next change on and cannot be done for the past.',
  ],
  changes: {
    day: 'each day',
    week: 'each Monday',
    month: 'on the 1st of each month',
    never: 'never',
  },
  howLong: 'how long ids last',
  agentsTitle: 'Agents that came back',
  agentsAside: {
    day: 'days with at least one fetch',
    week: 'weeks with at least one fetch',
    month: 'months with at least one fetch',
  },
  agentsFoot: 'Filled: fetched. Hollow: did not. Hatched: not recorded. These are the agents that fetched most.',
  didNot: 'did not fetch',
}
