import { counted, formatNumber } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const robots: Texts['robots'] = {
  sentence: (disallowed, llms, sitemap) => [
    `In dieser Zeit hätte der Text über den heutigen hinaus ${disallowed} untersagt; er verbirgt ${counted(llms, 'Link', 'Links')} der llms.txt und ${sitemap} der Sitemap vor Agenten, die er nicht nennt.`,
  ],
  editorLabel: (lines, differing) =>
    `robots.txt, ${counted(lines, 'Zeile', 'Zeilen')}; ${formatNumber(differing)} davon lesen Parser verschieden, siehe die Liste daneben`,
  show: { text: 'Text', diff: 'Änderungen' },
  startFrom: 'Beginnen mit',
  choose: 'auswählen …',
  preset: {
    search_not_training: 'Suche ja, Training nein',
    assistants_only: 'Nur Assistenten',
    nothing: 'Nichts',
    everything: 'Alles',
  },
  presentText: 'Der heutige Text',
  legend:
    'Links: Ein Balken steht an einer neuen Zeile, ? an einer Zeile, die Parser verschieden lesen. Rechts: die Abrufe, über die die Zeile entschieden hätte.',
  newlyDisallowed: 'Neu untersagt',
  nothingAllowed: 'nichts neu erlaubt',
  newlyAllowed: (text) => `${text} neu erlaubt`,
  nothingDisallowed: 'Der Text untersagt keinen Abruf dieser Zeit, der heute erlaubt ist.',
  after: 'Nach der letzten Regel',
  readOn: (n) => `las weiter, ${formatNumber(n)}-mal`,
  unclear: (n) => `${formatNumber(n)} unklar`,
  neverRead: 'las robots.txt nie',
  obeyed: 'hielt sich daran',
  obeyedAfter: (time) => `hielt sich daran, las sie nach ${time}`,
  noSearchEngine: 'Suchmaschinen: kein Abruf neu untersagt.',
  limit: {
    query: (text) => `${text} ohne aufgezeichnete Query, auf die ein Muster des Textes zutreffen könnte.`,
    spoofed: (text) => `${text} unter falschem Namen: nicht mitgezählt.`,
    no_policy: (text) => `${text} von Hostnamen ohne bekannte robots.txt: nicht mitgezählt.`,
  },
  hidden: 'Verborgen',
  hiddenFrom: 'vor Agenten, die er nicht nennt',
  hidesNothing: 'Er verbirgt vor ihnen keinen Link der llms.txt und keine Seite der Sitemap.',
  hiddenInAll: (llms, sitemap) => `Zusammen ${counted(llms, 'Link', 'Links')} der llms.txt und ${sitemap} der Sitemap.`,
  hiddenFromNamed: (agents, total, llms, sitemap) =>
    `Vor ${agents.slice(0, 3).join(', ')}${total > 3 ? ` und ${formatNumber(total - Math.min(3, agents.length))} weiteren` : ''} verbirgt er ${counted(llms, 'Link', 'Links')} und ${sitemap}.`,
  differing: 'Zeilen, die Parser verschieden lesen',
  noneDiffers: 'Alle Parser lesen jede Zeile gleich.',
  difference: {
    too_long: () => 'Der Text ist länger als die 500 KiB, die Agenten lesen.',
    byte_order_mark: () =>
      'Der Text beginnt mit einer Byte-Reihenfolge-Markierung. Manche Parser halten sie für einen Teil der ersten Zeile.',
    long_line: () => 'Google liest 16.663 Bytes einer Zeile und nichts nach einem NUL.',
    no_record: () => 'Ohne Doppelpunkt ist die Zeile keine Angabe. Agenten übergehen sie.',
    misspelt: (meant) => `Google liest sie als ${meant}; nach RFC 9309 übergehen Agenten sie.`,
    unknown_key: () => 'Agenten übergehen diese Angabe.',
    preferences: () => 'Wünsche. Ein Agent, der die Angabe nicht kennt, übergeht sie; nichts setzt sie durch.',
    crawl_delay: () => 'Bing wartet so lange. Google übergeht die Angabe, RFC 9309 kennt sie nicht.',
    licence: () =>
      'RSL 1.0, für die ganze Datei, wo immer sie steht. Ein Agent, der die Angabe nicht kennt, übergeht sie.',
    pattern: () =>
      'Google, Bing und RFC 9309 lesen ein Muster. Parser des Entwurfs von 1994 halten * und $ für Zeichen eines Pfads.',
    token_only: (agent) =>
      `Ein Name, kein Crawler: ${agent} sendet keine Anfragen. Andere Agenten des Betreibers lesen weiter.`,
    agent_name: (name) =>
      name === ''
        ? 'Google liest hier keinen Namen.'
        : `RFC 9309 kennt in Namen nur Buchstaben, - und _; Google liest „${name}“.`,
  },
  bandTitle: (n) => `Dieser Text würde ${counted(n, 'Suchmaschine', 'Suchmaschinen')} neu aussperren.`,
  byUs: 'readership liefert die robots.txt dieser Website aus.',
  byServer:
    'Ihr Server liefert seine eigene robots.txt aus. Veröffentlichen Sie Ihre hier, oder kopieren Sie sie dorthin.',
  publish: 'Veröffentlichen',
  published: 'Veröffentlicht.',
  handBack: 'Wieder meinem Server überlassen',
  handedBack: 'Ihr Server liefert seine robots.txt wieder aus.',
  versions: 'Fassungen',
  served: 'ausgeliefert',
  rollBack: 'Zurückkehren',
  rolledBack: 'Zurückgekehrt.',
}
