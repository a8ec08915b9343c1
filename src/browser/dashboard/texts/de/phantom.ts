import { counted } from '../../state/format.js'
import type { phantom as English } from '../en/phantom.js'

export const phantom: typeof English = {
  title: 'Adressen, die es nicht gibt',
  byLost: (n) => `${n}, nach verlorenen Lesern`,
  none: 'Niemand hat in dieser Zeit nach einer Seite gefragt, die es nicht gibt.',
  sentence: (n) => [`Menschen und Assistenten fragten nach ${counted(n, 'Adresse', 'Adressen')}, die es nicht gibt. `],
  mostLost: (readers, path) => ['Die meisten gingen bei ', path, ': ', readers],
  mostAsked: (path) => ['Am meisten fragten Assistenten nach ', path],
  // A short name of a month has a full stop of its own.
  since: (day) => `, es fehlt seit ${day}${day.endsWith('.') ? '' : '.'}`,
  address: 'Adresse, und wer danach fragte',
  byWhom: (human, agent) => ['von Menschen ', human, ' ', agent, ' von Assistenten'],
  both: (people, agents) => `${people} von Menschen, ${agents} von Assistenten`,
  lost: 'Verlorene Leser',
  sinceHead: 'Seit',
  back: 'ist zurück',
  nearest: 'Nächste lebende Seite',
  noneNear: 'Keine lebende Seite ist nah.',
  reason: {
    same_name: 'gleicher Name bis auf das Ende',
    moved: 'gleicher Name anderswo',
    spelling: 'ein oder zwei Buchstaben anders',
    words: 'fast dieselben Wörter',
    parent: 'ihre Elternseite',
  },
  inSitemap: ', in der Sitemap',
  redirect: 'Umleiten',
  choose: 'Wählen…',
  undo: 'Zurück',
  undone: 'Die Umleitung ist entfernt.',
  redirects: (to) => `Leitet nach ${to.slice(0, 100)} um, solange der Ursprung 404 oder 410 antwortet.`,
  chooseTitle: (path) => `${path} umleiten`,
  targetHint: 'Ein Pfad der Site oder eine ganze URL.',
  foot: 'Ein Leser ist verloren, wenn die fehlende Seite die letzte des Besuchs ist.',
  compared: (before, after, days) =>
    `Verlorene Leser: ${before} ${days === 1 ? 'am Tag' : `in den ${days} Tagen`} vor der Weiterleitung, ${after} seitdem`,
  redirectsTitle: 'Umleitungen',
  redirectsIntro: 'Eine Umleitung wirkt nur, solange der Ursprung 404 oder 410 antwortet.',
  from: 'Von',
  to: 'Nach',
  status: 'Status',
}
