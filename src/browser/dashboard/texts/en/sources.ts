import { plural } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const sources = {
  sentence: (when: string, visits: Quantity<'visits'>, best: unknown, share: string): Parts => [
    when,
    plural(visits.n, { one: ' there was ', other: ' there were ' }),
    visits.shown,
    '; the largest channel was ',
    best,
    ` with ${share}.`,
  ],
  assistants: (visits: Quantity<'visits'>, share: string, first: unknown): Parts => [
    ' AI assistants brought ',
    visits.shown,
    ` (${share}), first `,
    first,
    '.',
  ],
  noAssistants: ' No visit is known to have come from an AI assistant.',
  none: (when: string): Parts => [when, ' no person came.'],
  channels: 'Channels',
  channel: 'Channel',
  source: 'Source',
  campaigns: 'Campaigns',
  campaign: 'Campaign',
  assistantsTitle: 'AI assistants',
  sourcesNone: 'No person came in this time. Choose a longer time.',
  campaignsNone: 'No visit had a campaign. Add utm_source, utm_medium and utm_campaign to the links that you publish.',
  direct: 'Direct: no referrer was sent',
  agents: 'Agents send no referrer that says where they come from, so there is nothing to show for them here.',
  spam: (people: Quantity<'people'>) =>
    plural(people.n, {
      one: `${people.text} came with a referrer of a known spam site. The visit counts as direct.`,
      other: `${people.text} came with a referrer of a known spam site. Their visits count as direct.`,
    }),
  spamShow: 'Show them',
}
