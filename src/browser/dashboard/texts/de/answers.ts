import type { LaterTexts } from '../shape.js'

export const answers: LaterTexts['answers'] = {
  sentence: (when, fetches) => [
    `${when}: `,
    fetches.shown,
    ' von Seiten, mit denen Assistenten Menschen antworteten. ',
  ],
  followed: (followed, minutes, delay) => [
    'Auf ',
    followed.shown,
    ` folgte innerhalb von ${minutes === 1 ? 'einer Minute' : `${minutes} Minuten`} ein Leser vom selben Betreiber`,
    delay === undefined ? '. ' : `, im Median nach ${delay}. `,
  ],
  notFollowed: (rest) => ['Auf ', rest.shown, ' folgte kein Leser, der zu sehen war.'],
  none: 'In dieser Zeit rief kein Assistent eine Seite ab, um einem Menschen zu antworten.',
  byPage: 'Nach Seite',
  byOperator: 'Nach Betreiber',
  axis: (human, agent) => ['ein Leser folgte ', human, ' ', agent, ' live abgerufen'],
  both: (followed, fetches) => `${followed}-mal folgte ein Leser, ${fetches}-mal live abgerufen`,
  share: 'Gefolgt',
  ofAll: (n, all) => `${n} von ${all}`,
  delay: 'Median dazwischen',
  few: (seconds) => `zu wenige: ${seconds} s`,
  noReader: 'kein Leser folgte',
  goals: 'Ziele',
  unseen: 'Kein Leser gesehen',
  howSoon: 'Wie bald ein Leser folgte',
  arrivals: 'Ankünfte',
  keyFollowed: 'gefolgt',
  fetched: 'live abgerufen',
  keyChance: 'durch Zufall',
  fetch: 'Abruf',
  minutes: (n) => `${n} min`,
  median: (delay) => `Median ${delay}`,
  chance: (chance, arrivals) => `durch Zufall zu erwarten: ${chance} von ${arrivals}`,
  chanceUnknown: 'durch Zufall: unbekannt, der Tag davor wurde nicht aufgezeichnet',
  chart: (arrivals, first, chance) =>
    `Ankünfte nach einem Live-Abruf: ${arrivals}, davon im ersten Fünftel der Zeit: ${first}${chance === undefined ? '' : `; durch Zufall zu erwarten: ${chance}`}.`,
  carefulTitle: 'Gefolgt heißt nicht verursacht',
  careful: (time) =>
    `Eine Ankunft zählt zum letzten Live-Abruf ihres Betreibers höchstens ${time} davor: derselben Seite, sonst einer anderen. Durch Zufall: was folgt, wenn alle Ankünfte um einen Tag verschoben werden. Apps senden keinen Referrer; die Leser sind daher eine Untergrenze, die Abrufe ohne Leser eine Obergrenze.`,
}
