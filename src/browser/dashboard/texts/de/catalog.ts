import type { Texts } from '../shape.js'

export const catalog: Texts['catalog'] = {
  sentence: (when, agents, operators, verifiable, seen) => [
    `readership kennt ${agents} Agenten von ${operators} Betreibern; ${verifiable} davon lassen sich prüfen. ${when} lasen `,
    seen,
    ' davon diese Website.',
  ],
  shown: (n) => `${n} Agenten`,
  seen: 'Gesehen',
  unseen: 'Nicht gesehen',
  notSeen: 'nicht gesehen',
  search: 'Name, Betreiber oder Kürzel suchen',
  none: (text) =>
    text === '' ? 'In dieser Zeit wurde kein Agent des Katalogs gesehen.' : `Kein Agent heißt „${text}“.`,
  obeys: 'Befolgt robots.txt',
  respects: { yes: 'nach eigener Angabe', no: 'nach eigener Angabe nicht', unknown: 'keine Angabe' },
  verification: 'Prüfbar durch',
  ranges: 'Veröffentlichte Adressen',
  stale: 'fehlt oder veraltet',
}
