import { counted } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const places: Texts['places'] = {
  countries: (n) => counted(n, 'Land', 'Ländern'),
  people: (countries, most, share) => ['kamen Menschen aus ', countries, ', die meisten aus: ', most, ` (${share})`],
  agents: (countries, most, share) => ['riefen Agenten aus ', countries, ' ab, am meisten aus: ', most, ` (${share})`],
  and: '; ',
  none: (when) => [when, ' wurde von keinem bekannten Ort aus gelesen.'],
  map: { human: 'Menschen nach Land', agent: 'Abrufe nach Land' },
  mapLabel: (title) => `Karte: ${title}. Die Tabelle darunter enthält dieselben Zahlen.`,
  legend: (from, to) => (from === to ? from : `${from} bis ${to}`),
  noReaders: 'keine',
  mapFoot:
    'Jede Karte hat ihren eigenen Maßstab. Länder, die für die Karte zu klein sind, stehen in der Tabelle. Ein Klick filtert.',
  mapFootOne: 'Länder, die für die Karte zu klein sind, stehen in der Tabelle. Ein Klick filtert.',
  countriesTitle: 'Länder',
  regions: 'Regionen',
  region: 'Region',
  cities: 'Städte',
  city: 'Stadt',
  noRegions:
    'Keine Zeile hat eine Region: Die mitgelieferten Daten kennen Länder. Nennen Sie mit --geoip eine Datei mit Regionen und Städten.',
  noCities:
    'Keine Zeile hat eine Stadt. Nennen Sie mit --geoip eine Datei mit Regionen und Städten; frühere Zeilen bleiben ohne.',
  agentsByCountry: 'Agenten werden nur nach Land verortet: Ihre Adressen sind die von Rechenzentren.',
  empty: 'In dieser Zeit las niemand von einem bekannten Ort aus. Wählen Sie eine längere Zeit.',
}
