import { plural } from '../../state/format.js'
import type { Parts } from '../rich-text.js'

export const sources = {
  sentence: (when: string, visits: unknown, best: unknown, share: string): Parts => [
    when,
    ' there were ',
    visits,
    '; the largest channel was ',
    best,
    ` with ${share}.`,
  ],
  assistants: (visits: unknown, first: unknown): Parts => [' AI assistants sent ', visits, ', first ', first, '.'],
  noAssistants: ' No AI assistant is known to have sent a person.',
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
  spam: (n: number, shown: string) =>
    plural(n, {
      one: 'One visitor came with a referrer of a known spam site. It counts as direct.',
      other: `${shown} visitors came with a referrer of a known spam site. They count as direct.`,
    }),
  spamShow: 'Show them',
}
