import type { Parts } from '../rich-text.js'

export const catalog = {
  sentence: (when: string, agents: string, operators: string, verifiable: string, seen: unknown): Parts => [
    `readership knows ${agents} agents of ${operators} operators; ${verifiable} of them can be verified. ${when} `,
    seen,
    ' of them read this site.',
  ],
  shown: (n: string) => `${n} agents`,
  seen: 'Seen',
  unseen: 'Not seen',
  notSeen: 'not seen',
  search: 'Search by name, operator or token',
  none: (text: string) =>
    text === '' ? 'No agent of the catalogue was seen in this time.' : `No agent is called “${text}”.`,
  obeys: 'Obeys robots.txt',
  respects: { yes: 'it says so', no: 'it says not', unknown: 'no statement' },
  verification: 'Verified by',
  ranges: 'Published ranges',
  stale: 'missing or old',
}
