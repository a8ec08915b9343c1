import { counted, formatNumber } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const catalog: Texts['catalog'] = {
  sentence: (when, agents, operators, verifiable, seen) => [
    `readership kennt ${agents.text} von ${counted(operators, 'Betreiber', 'Betreibern')}, davon prüfbar: ${formatNumber(verifiable)}. ${when} hier gesehen: `,
    seen,
    '.',
  ],
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
