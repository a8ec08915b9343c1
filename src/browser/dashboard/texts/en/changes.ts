import { formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

/** The view What changed: contributions that add up, of visits and of reads. */
export const changes = {
  title: 'What changed',
  people: (n: Quantity<'visits'>, isMore: boolean, than: string): Parts => [
    'People came for ',
    n.shown,
    isMore ? ' more' : ' fewer',
    ` ${than}`,
  ],
  agents: (n: Quantity<'reads'>, isMore: boolean, than: string): Parts => [
    'Agents made ',
    n.shown,
    isMore ? ' more' : ' fewer',
    ` ${than}`,
  ],
  peopleSame: (than: string) => `People came for as many visits as ${than.replace('than ', '')}.`,
  agentsSame: (than: string) => `Agents made as many reads as ${than.replace('than ', '')}.`,
  than: (days: number | undefined, compare: string) =>
    compare === 'year'
      ? 'than a year before'
      : days === undefined
        ? 'than in the time before'
        : days === 1
          ? 'than in the day before'
          : `than in the ${days} days before`,
  points: (points: string, isMore: boolean, than: string) => `, ${points} ${isMore ? 'higher' : 'lower'} ${than}`,
  /** `n` is how many came more, or fewer; `name` is a link. */
  cause: {
    source: (n: string, isMore: boolean, name: unknown): Parts => [`; ${n} ${isMore ? '' : 'fewer '}came from `, name],
    direct: (n: string, isMore: boolean, name: unknown): Parts => [`; ${n} ${isMore ? '' : 'fewer '}came `, name],
    entry_page: (n: string, isMore: boolean, name: unknown): Parts => [
      `; ${n} ${isMore ? '' : 'fewer '}began at `,
      name,
    ],
    utm_campaign: (n: string, isMore: boolean, name: unknown): Parts => [
      `; ${n} ${isMore ? '' : 'fewer '}came by the campaign `,
      name,
    ],
    country: (n: string, isMore: boolean, name: unknown): Parts => [`; ${n} ${isMore ? '' : 'fewer '}came from `, name],
    section: (n: string, isMore: boolean, name: unknown): Parts => [`; ${n} ${isMore ? '' : 'fewer '}were of `, name],
    agent_id: (n: string, isMore: boolean, name: unknown): Parts => [
      '; ',
      name,
      ` made ${n} ${isMore ? 'more' : 'fewer'}`,
    ],
    pathname: (n: string, isMore: boolean, name: unknown): Parts => [`; ${n} ${isMore ? '' : 'fewer '}were of `, name],
  },
  nearlyAll: (page: unknown): Parts => [', nearly all of them at ', page],
  most: (page: unknown): Parts => [', most of them at ', page],
  /** The front page after the prepositions above. */
  frontPage: 'the front page',
  onDays: (days: string) => ` on ${days}`,
  and: 'and',
  spread: ['The change is spread out.'] as Parts,
  /** `by` is the kind of part, `had` what a large one had before. */
  spreadLargest: (by: string, name: unknown, size: string, had: string): Parts => [
    `The change is spread out; by ${by}, the largest part is `,
    name,
    ` with ${size}${had}.`,
  ],
  by: {
    source: 'source',
    entry_page: 'first page',
    utm_campaign: 'campaign',
    agent_id: 'agent',
    pathname: 'page',
  } as Record<string, string>,
  partOf: (n: string, all: string) => `${n} of ${all}`,
  had: (share: string) => `; it had ${share} of all before`,
  chance: 'That is within chance, so no cause is named.',
  unknown: 'Less than half of this time was recorded in both periods, so nothing is compared.',
  comparable: (time: unknown): Parts => ['A shorter time can be compared: ', time],
  comparedPart: (share: string) => `Compared are the hours that were recorded in both times: ${share} of them.`,
  fromTo: (before: string, now: string) => `${before} → ${now}`,
  when: 'When',
  whenAside: 'each bar compares with the same place in the time before; they add up to the change',
  measure: { human: 'Visits', agent: 'Reads' },
  moreOrFewer: 'more or fewer',
  bucket: 'Time',
  dimensions: 'By',
  tab: {
    pages: 'Pages',
    sections: 'Sections',
    sources: 'Sources and agents',
    countries: 'Countries',
    campaigns: 'Campaigns',
  },
  dimension: {
    entry_page: 'First page of the visit',
    pathname: 'Page that was read',
    section: 'Section',
    source: 'Source of the visit',
    agent_id: 'Agent that read',
    country: 'Country',
    utm_campaign: 'Campaign of the visit',
  } as Record<string, string>,
  none: {
    entry_page: 'No page',
    section: 'Not in a section',
    source: 'Direct',
    direct: 'directly',
    country: 'Unknown',
    utm_campaign: 'No campaign',
  } as Record<string, string>,
  noCampaigns: 'Agents follow no campaign: they send no tagged address that would tell.',
  noneFor: 'There is nothing of this here.',
  rose: 'Rose',
  fell: 'Fell',
  allOthers: 'All others',
  others: (n: number) => (n === 0 ? 'No other' : n === 1 ? '1 other' : `${formatNumber(n)} others`),
  together: 'Together',
  name: 'Name',
  change: 'Change',
  beforeNow: 'Before → now',
  adds: 'Each visit has one first page, one source, one country and one campaign or none; each read has one agent and one page. So the bars of a list add up to the change exactly, with the last row for all that is not named. People are not split: one person can come from two sources.',
  all: 'All that changed',
  notACause: 'It shows what came after, not that the note is the cause.',
}
