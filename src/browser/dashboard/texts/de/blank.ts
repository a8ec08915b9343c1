import { counted } from '../../state/format.js'
import type { blank as English } from '../en/blank.js'

export const blank: typeof English = {
  title: 'Leer für Maschinen',
  byReaders: (n) => `${n}, nach betroffenen Besuchen; zuletzt, was nur »nicht gefunden« sagt`,
  none: 'Keine Seite mit einem Problem ist bekannt: Jede geprüfte Seite hat ihren Text ohne Skripte, denselben für Menschen und Agenten, und weist keinen Agenten ab, wo Menschen sie bekommen.',
  sentence: (pages) => [
    pages.shown,
    ': ohne Text oder mit einem anderen für Programme, für Agenten geschlossen oder mit Status 200 »nicht gefunden«. ',
  ],
  mostAtStake: (visits, path, problems) => [
    'Eine Suchmaschine oder ein Assistent brachte ',
    visits.shown,
    ' zu ',
    path,
    `: ${problems}.`,
  ],
  page: 'Seite, und was fehlt',
  served: 'Wie ausgeliefert',
  living: 'Im Browser',
  readers: 'Betroffene Besuche',
  notSampled: 'keine Antwort geprüft',
  notDescribed: 'von keinem Browser beschrieben',
  noText: 'kein Text',
  toAgents: 'Agenten bekommen',
  language: (tag) => `Sprache ${tag}`,
  canonical: (address) => `kanonisch ${address}`,
  amount: (characters, headings, links) =>
    `${counted(characters, 'Zeichen', 'Zeichen')}, ${counted(headings, 'Überschrift', 'Überschriften')}, ${counted(links, 'Link', 'Links')}`,
  problem: {
    empty_shell: 'leer ohne Skripte',
    written_by_scripts: 'größtenteils von Skripten geschrieben',
    not_found: '„nicht gefunden“ mit Status 200',
    consent: 'fragt zuerst nach Zustimmung',
    challenge: 'verlangt zuerst einen Nachweis',
    other_text: 'Agenten bekommen einen anderen Text',
    agents_refused: 'weist nur Agenten ab',
  },
  refusedUnsampled: 'weist Agenten ab, zeigt sich Menschen, die angemeldet sein können',
  foot: 'Betroffen sind Besuche in dieser Zeit, die nach einer Suchmaschine oder einem Assistenten auf der Seite begannen. Leerzeichen zählen nicht als Zeichen.',
}
