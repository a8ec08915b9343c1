import type { Texts } from '../shape.js'

export const gap: Texts['gap'] = {
  assistants: 'Assistenten und KI-Suche',
  sentence: (when, who, reads, visits) => [`${when}: `, reads.shown, ` durch ${who}; sie brachten `, visits.shown, '.'],
  onlyPeople: (when, who, visits) => [`${when}: `, visits.shown, ` durch ${who}.`],
  onlyAgents: (when, who, reads) => [`${when}: `, reads.shown, ` durch ${who}.`],
  ratio: (ratio) => [' Lesezugriffe je KI-Besuch: ', ratio, '.'],
  median: (median) => [` Im Median der Seiten sind es ${median}.`],
  verdicts: 'Urteile',
  byPage: 'Nach Seite',
  arrivals: 'KI-Besuche',
  none: 'In dieser Zeit las kein Such- oder Assistenz-Agent eine Seite, und kein Besuch kam von einem. Trainings-Agenten zählen nicht.',
  meaning: (verdict, factor, above, below) =>
    ({
      gap: `Viel gelesen, wenig zitiert: über dem ${factor}-Fachen des Medians${above === undefined ? '' : ` (${above})`}, oder gar kein KI-Besuch.`,
      balanced: 'Dazwischen.',
      earning: `Viel zitiert für wenig Lesen: unter einem Drittel des Medians${below === undefined ? '' : ` (${below})`}.`,
      unfetched: 'KI-Besuche begannen hier, aber kein Agent las die Seite in dieser Zeit.',
      unseen: 'Menschen sahen sie an; kein Assistent las sie, und kein KI-Besuch begann hier.',
      blocked: 'robots.txt oder der Server hält Such- und Assistenz-Agenten fern.',
      twin: 'Die Markdown-Fassung einer Seite: Assistenten schicken Menschen zur Seite selbst.',
      insufficient: 'Unter 10 Lesezugriffen und unter 3 KI-Besuchen: zu wenig für ein Urteil.',
    })[verdict] ?? '',
}

export const decay: Texts['decay'] = {
  title: 'Verfall der Inhalte',
  against: 'diese Zeit gegen die davor',
  meanings: 'Was die Urteile bedeuten',
  adjusted: 'Ohne Trend der Website',
  people: 'Seitenaufrufe von Menschen',
  agents: 'Abrufe von Agenten',
  fromTo: (before, now) => `von ${before} auf ${now.text}`,
  sentence: (page, people, agents) => [page, ` verliert Menschen, ${people}, während Agenten weiterlesen, ${agents}.`],
  lost: (page, people, why) => [page, ` verlor am meisten, ${people}. ${why}`],
  why: {
    decaying: '',
    fading: 'Auch Agenten lasen sie weniger.',
    steady: 'Ohne den Trend der Website ist das weniger als ein Viertel.',
    blocked: 'Ein Agent, der sie vorher lesen konnte, kann es nicht mehr.',
    insufficient: 'Für ein Urteil ist das zu wenig: unter 28 Tagen, 50 Seitenaufrufen oder 10 Abrufen.',
  },
  sentenceNone: ['Keine Seite verlor Menschen, während Agenten weiterlasen.'],
  sentenceTooFew: [
    'Noch gibt es zu wenig zum Vergleichen: Urteile brauchen 28 Tage, 50 Seitenaufrufe und 10 Abrufe einer Seite in der Zeit davor.',
  ],
  sentenceEmpty: ['In dieser Zeit und der davor wurde nichts gelesen.'],
  meaning: {
    decaying:
      'Menschen gingen um ein Viertel oder mehr zurück, ohne den Trend der Website; Agenten um weniger als ein Zehntel.',
    fading: 'Beide gingen zurück.',
    steady: 'Alles andere.',
    blocked: 'Ein Agent, der sie vorher lesen konnte, kann es nicht mehr.',
    insufficient: 'Unter 28 Tagen, 50 Seitenaufrufen oder 10 Abrufen.',
  },
}
