import { counted, formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const catalog = {
  sentence: (when: string, agents: Quantity<'agents'>, operators: number, verifiable: number, seen: unknown): Parts => [
    `readership knows ${agents.text} of ${counted(operators, 'operator', 'operators')}; ${formatNumber(verifiable)} of them can be verified. ${when} `,
    seen,
    ' of them read this site.',
  ],
  seen: 'Seen',
  unseen: 'Not seen',
  notSeen: 'not seen',
  search: 'Search by name, operator or token',
  none: (text: string) =>
    text === '' ? 'No agent of the catalogue was seen in this time.' : `No agent is called “${text}”.`,
  obeys: 'Obeys robots.txt',
  respects: { yes: 'it says so', no: 'it says not', unknown: 'no statement' },
  verification: 'Can be checked by',
  ranges: 'Published ranges',
  stale: 'missing or old',
}
