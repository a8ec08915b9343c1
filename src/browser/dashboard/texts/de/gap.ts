import { plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const gap: Texts['gap'] = {
  assistants: 'Assistenten und KI-Suche',
  pages: (n, shown) => plural(n, { one: `${shown} Seite`, other: `${shown} Seiten` }),
  sentence: (when, who, reads, people) => [`${when}: ${who} lasen `, reads, ' und schickten ', people, '.'],
  onlyPeople: (when, who, people) => [`${when}: ${who} schickten `, people, '.'],
  onlyAgents: (when, who, reads) => [`${when}: ${who} lasen `, reads, '.'],
  ratio: (ratio) => [' Das sind ', ratio, ' gelesene Seiten je Mensch.'],
  median: (median) => [` Im Median der Seiten sind es ${median}.`],
  verdicts: 'Urteile',
  byPage: 'Nach Seite',
  arrivals: 'Ankünfte',
  none: 'In dieser Zeit las kein Such- oder Assistenz-Agent eine Seite, und keiner schickte jemanden. Trainings-Agenten zählen nicht.',
  meaning: (verdict, factor, above, below) =>
    ({
      gap: `Viel gelesen, wenig zitiert: über dem ${factor}-Fachen des Medians${above === undefined ? '' : ` (${above})`}, oder gar keine Ankunft.`,
      balanced: 'Dazwischen.',
      earning: `Viel zitiert für wenig Lesen: unter einem Drittel des Medians${below === undefined ? '' : ` (${below})`}.`,
      unfetched: 'Menschen kamen an, aber kein Agent las die Seite in dieser Zeit.',
      unseen: 'Menschen lasen sie; kein Assistent las sie oder schickte jemanden.',
      blocked: 'robots.txt oder der Server hält Such- und Assistenz-Agenten fern.',
      insufficient: 'Unter 10 Abrufen und unter 3 Ankünften: zu wenig für ein Urteil.',
    })[verdict] ?? '',
}

export const decay: Texts['decay'] = {
  title: 'Verfall der Inhalte',
  against: 'diese Zeit gegen die davor',
  meanings: 'Was die Urteile bedeuten',
  adjusted: 'Ohne Trend der Website',
  people: 'Aufrufe von Menschen',
  agents: 'Abrufe von Agenten',
  fromTo: (before, now) => `von ${before} auf ${now}`,
  sentence: (page, people, agents) => [
    page,
    ` verliert Menschen, ${people} Aufrufe, während Agenten weiterlesen, ${agents} Abrufe.`,
  ],
  sentenceNone: ['Keine Seite verlor Menschen, während Agenten weiterlasen.'],
  sentenceTooFew: [
    'Noch gibt es zu wenig zum Vergleichen: Urteile brauchen 28 Tage, 50 Aufrufe und 10 Abrufe einer Seite in der Zeit davor.',
  ],
  sentenceEmpty: ['In dieser Zeit und der davor wurde nichts gelesen.'],
  meaning: {
    decaying:
      'Menschen gingen um ein Viertel oder mehr zurück, ohne den Trend der Website; Agenten um weniger als ein Zehntel.',
    fading: 'Beide gingen zurück.',
    steady: 'Alles andere.',
    blocked: 'Agenten können sie nicht mehr lesen.',
    insufficient: 'Unter 28 Tagen, 50 Aufrufen oder 10 Abrufen.',
  },
}
