import { counted, formatNumber, plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const agents: Texts['agents'] = {
  leftOut: 'Agenten sind ausgeblendet.',
  showBoth: 'Beide zeigen',
  areVerified: (n, share) => `${formatNumber(n)} bestätigt (${share})`,
  areSpoofed: (n) => `${formatNumber(n)} unter fremdem Namen`,
  unchecked: (n) => `${formatNumber(n)} nicht prüfbar`,
  sentence: (fetches, checked, verified, spoofed, unchecked) => [
    `${fetches.text}, davon ${unchecked}; von ${checked} geprüften `,
    verified,
    ' und ',
    spoofed,
    '.',
  ],
  sentenceUnchecked: (fetches, unchecked) => [`${fetches.text}, davon ${unchecked}.`],
  sentenceNone: (when) => [when, ' hat kein Agent diese Website gelesen.'],
  sentencePeople: (when, visits) => [when, ' gab es ', visits.shown, '.'],
  purposes: (shares) => [
    ' Anteile: ',
    ...shares.flatMap(({ name, share }, i) => [i === 0 ? `${name} ` : `, ${name} `, share]),
    '.',
  ],
  seen: (n) => `${formatNumber(n)} gesehen`,
  other: 'Andere',
  all: 'Alle',
  agent: 'Agent',
  purpose: 'Zweck',
  operator: 'Betreiber',
  ownScale: (window) => `${window}, je eigener Maßstab`,
  barsOf: (name) => `Abrufe von ${name} im Lauf der Zeit`,
  verified: 'bestätigt',
  identityHead: 'Identität, von geprüften',
  cannotVerify: 'nicht prüfbar',
  notChecked: 'noch nicht geprüft',
  spoofed: (n) => `${formatNumber(n)} gefälscht`,
  nothingForbidden: 'nichts Verbotenes',
  lastRead: 'Zuletzt',
  none: 'Kein Agent hat diese Website in dieser Zeit gelesen. Wählen Sie eine längere Zeit, oder lesen Sie die Website wie einer: curl -A "GPTBot/1.3" und ihre Adresse.',
  byOperator: 'Nach Betreiber',
  byPurpose: 'Nach Zweck',
  severityCount: (severity, n) =>
    severity === 'breach'
      ? counted(n, 'Regelbruch', 'Regelbrüche')
      : `${formatNumber(n)} ${{ grace: 'in Frist', unbound: 'ungebunden', unclear: 'unklar', unverified: 'unbestätigt' }[severity] ?? severity}`,
  verifiedBy: (share, ways) =>
    ways.length === 0
      ? `${share} der geprüften bestätigt`
      : `${share} der geprüften bestätigt durch ${ways.join(' oder ')}`,
  ways: { ranges: 'veröffentlichte Adressen', rdns: 'Reverse-DNS', web_bot_auth: 'Signatur' },
  docs: 'Dokumentation des Betreibers',
  history: 'Kannte er die Regeln?',
  notSeen: (name) => `${name} hat diese Website in dieser Zeit nicht gelesen. Wählen Sie eine längere Zeit.`,
  forbidden: (n) => (n === 0 ? 'kein verbotener Abruf' : counted(n, 'verbotener Abruf', 'verbotene Abrufe')),
  leadNone: (when, name) => [when, ` hat ${name} diese Website nicht gelesen.`],
  leadPlain: (when, name, fetches, forbidden) => [
    when,
    ` machte ${name} ${fetches.text}`,
    ...(forbidden === undefined ? [] : [', darunter ', forbidden]),
    '.',
  ],
  leadChanged: (delay, day, forbidden) => [
    'Die neue robots.txt las er ',
    delay,
    ' nach der Änderung vom ',
    day,
    ...(forbidden === undefined ? [] : ['; seitdem: ', forbidden]),
    '.',
  ],
  leadUnread: (name, day, fetches, forbidden, isSince) => [
    `${name} machte ${fetches.text} und hat die robots.txt vom ${day} nicht gelesen`,
    ...(forbidden === undefined ? [] : [isSince ? '. Seitdem darunter: ' : '. Darunter: ', forbidden]),
    '.',
  ],
  leadRead: (name, last, fetches, forbidden) => [
    `${name} machte ${fetches.text} und las robots.txt zuletzt ${last}`,
    ...(forbidden === undefined ? [] : ['. Darunter: ', forbidden]),
    '.',
  ],
  underItsName: (forbidden, isSince) =>
    ` Unter seinem Namen kam ${isSince ? 'seitdem ' : ''}von anderen, die sich nicht bestätigen ließen: ${forbidden}.`,
  lanes: (name) => `Wann ${name} robots.txt, Seiten und verbotene Seiten las`,
  inForce: 'Gültige robots.txt',
  readRobots: 'robots.txt gelesen',
  pageReads: {
    minute: 'Lesezugriffe je Minute',
    hour: 'Lesezugriffe je Stunde',
    day: 'Lesezugriffe am Tag',
    week: 'Lesezugriffe je Woche',
    month: 'Lesezugriffe im Monat',
  },
  disallowedFetches: 'Verbotene Abrufe',
  version: (day, rules) => `${day}, ${counted(rules, 'Regel', 'Regeln')}`,
  standing: {
    served: 'vorhanden',
    unavailable: 'keine Datei: alles war erlaubt',
    unreachable: 'nicht abrufbar',
  },
  readLater: (delay) => `neue Fassung gelesen, ${delay} später`,
  whatItRead: 'Was er abrief',
  allPages: (pages) => (pages.n === 1 ? 'Die Seite' : `Alle ${pages.text}`),
  whatItIgnored: 'Was er missachtete',
  atTheTime: 'robots.txt zur Zeit des Abrufs',
  ignoredNone: 'Er rief nichts ab, was robots.txt zu dieser Zeit verbot.',
  path: 'Pfad',
  decidingLine: 'Entscheidende Zeile',
  class: 'Einstufung',
  last: 'Zuletzt',
  noRule: 'keine Regel trifft zu',
  everything: 'alles ist verboten',
  itsOperator: 'sein Betreiber',
  severityOf: (severity, operator) =>
    ({
      breach: `Bestätigt, und ${operator} sagt, dass dieser Agent robots.txt befolgt.`,
      unbound: `${operator} sagt, dass dieser Agent robots.txt nicht befolgt.`,
      unclear: `${operator} sagt nicht, ob dieser Agent robots.txt befolgt.`,
      unverified: `Diese Abrufe ließen sich nicht bestätigen; ${operator} wird nichts vorgeworfen.`,
      grace: 'Innerhalb eines Tages nach der Regel; so lange darf ein Agent eine Kopie behalten.',
    })[severity] ?? '',
  spoofedLeftOut: (n) =>
    plural(n, {
      one: 'Ein gefälschter Abruf ist nicht von diesem Agenten; er zählt als unbestätigt.',
      other: `${formatNumber(n)} gefälschte Abrufe sind nicht von diesem Agenten; sie zählen als unbestätigt.`,
    }),
  aiVisits: (operator) => `KI-Besuche von ${operator}`,
  aiVisitsNone: (operator) =>
    `In dieser Zeit kam niemand von einem Assistenten von ${operator}. Apps senden keinen Referrer.`,
  readsPerVisit: (operator, reads, ratio) =>
    `Such- und Assistenz-Agenten von ${operator}: ${reads.text}, je KI-Besuch ${ratio}. Trainings-Agenten zählen nicht.`,
}
