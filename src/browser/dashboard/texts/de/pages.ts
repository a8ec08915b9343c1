import { plural } from '../../state/format.js'
import type { Parts } from '../rich-text.js'

export const pages = {
  list: {
    both: (when: string, people: unknown, agents: unknown): Parts => [
      when,
      ' lasen Menschen ',
      people,
      ' und Agenten ',
      agents,
      '.',
    ],
    human: (when: string, pages: unknown): Parts => [when, ' lasen Menschen ', pages, '.'],
    agent: (when: string, pages: unknown): Parts => [when, ' lasen Agenten ', pages, '.'],
    none: (when: string): Parts => [when, ' wurde keine Seite gelesen.'],
    most: { human: ' Menschen lasen am meisten: ', agent: ' Agenten lasen am meisten: ' },
    disallowed: (pages: unknown): Parts => [' Auf ', pages, ' lasen Agenten, was robots.txt ihnen untersagt.'],
  },
  sortedBy: { human: 'Nach Besuchern geordnet', agent: 'Nach Lesevorgängen geordnet' },
  pageReads: 'Gelesen',
  lastRead: 'Zuletzt gelesen',
  robots: 'robots.txt',
  never: 'nicht gelesen',
  empty:
    'In dieser Zeit wurde keine Seite gelesen. Wählen Sie eine längere Zeit, oder öffnen Sie die Website über readership.',
  emptyFiltered:
    'Keine Seite passt in dieser Zeit zu diesen Filtern. Entfernen Sie einen Filter, oder wählen Sie eine längere Zeit.',
  noScript: 'Verweildauer und Scrolltiefe brauchen das Skript. Fügen Sie es unter „Einbauen“ hinzu.',
  openPage: 'Seite öffnen',
  whileDisallowed: (n: number, shown: string) =>
    plural(n, { one: 'einmal trotz Verbot gelesen', other: `${shown}-mal trotz Verbot gelesen` }),
  notInLlms: 'Nicht in llms.txt',
  one: {
    readBy: (when: string, agents: unknown, times: unknown): Parts => [
      when,
      ' wurde diese Seite von Agenten ',
      times,
      ' gelesen (',
      agents,
      ')',
    ],
    noAgent: (when: string): Parts => [when, ' las kein Agent diese Seite'],
    notAllowed: (some: unknown, n: number, times: string): Parts => [
      '; ',
      some,
      plural(n, { one: ' durfte', other: ' durften' }),
      ' es nicht, ',
      times,
      '.',
    ],
    allAllowed: '; robots.txt erlaubte es jedem von ihnen.',
    end: '.',
    ofThem: (n: number, shown: string) => plural(n, { one: 'einer von ihnen', other: `${shown} von ihnen` }),
    cameBack: (times: string, people: unknown): Parts => [
      ` Assistenten und KI-Suche lasen sie ${times} und schickten `,
      people,
      '.',
    ],
    noneCameBack: (times: string): Parts => [
      ` Assistenten und KI-Suche lasen sie ${times}; niemand kam von dort zurück.`,
    ],
    notReadByAssistants: (people: unknown): Parts => [
      ' Assistenten und KI-Suche lasen sie nicht, schickten aber ',
      people,
      '.',
    ],
    peopleRead: (when: string, people: unknown, times: string): Parts => [
      when,
      ` wurde diese Seite ${times} gelesen, von `,
      people,
    ],
    began: (n: number, shown: string) =>
      plural(n, { one: '; ein Besuch begann hier.', other: `; ${shown} Besuche begannen hier.` }),
    nobody: (when: string): Parts => [when, ' las niemand diese Seite.'],
  },
  needsScript: 'braucht das Skript',
  notYet: 'nicht in dieser Zeit',
  chart: 'Leserschaft dieser Seite im Verlauf',
  gap: {
    reads: 'von Assistenten und KI-Suche gelesen',
    arrivals: 'Menschen, die ein KI-Assistent hierher schickte',
    ratio: (n: string) => `${n}-mal gelesen je Ankunft.`,
    noArrival: 'Niemand kam von einem Assistenten.',
    noReads: 'Kein Assistent und keine KI-Suche las diese Seite.',
    median: (n: string) => `Der Median der Website ist ${n}`,
    noMedian: 'Zu wenige Seiten der Website wurden für einen Median oft genug gelesen.',
    means: {
      gap: ': Diese Seite wird viel gelesen und wenig zitiert.',
      earning: ': Diese Seite wird oft zitiert, gemessen daran, wie oft sie gelesen wird.',
      balanced: ': Diese Seite wird etwa so oft zitiert wie andere.',
    } as Record<string, string>,
    blocked: 'robots.txt untersagt sie jedem Agenten, der sie zitieren könnte.',
    insufficient: 'Zu selten gelesen für ein Urteil.',
    scale: (ratio: string, zone: string, median: string) =>
      `${ratio}-mal gelesen je Ankunft: ${zone}. Der Median ist ${median}.`,
    medianMark: (n: string) => `Median ${n}`,
    foot: 'Ohne Agenten, die fürs Training lesen. Ankünfte sind eine Untergrenze: Apps senden keinen Referrer.',
  },
  may: {
    title: 'Dürfen Agenten sie lesen?',
    since: (when: string) => `robots.txt vom ${when}`,
    unknown: 'unbekannt',
    noRule: 'keine Regel passt',
    severity: 'Art',
    none: 'Kein Agent las diese Seite in dieser Zeit. Die Ansicht „Regeln“ sagt, welche es dürfen.',
    standing: {
      served: '',
      unavailable: 'Die Website hat keine robots.txt, also darf jeder Agent jede Seite lesen.',
      unreachable: 'robots.txt ist nicht abrufbar, also müssen Agenten jede Seite als untersagt ansehen.',
    } as Record<string, string>,
    unfetched: (known: string, disallowed: string) =>
      `${known} weitere bekannte Agenten lasen sie nicht; untersagt ist sie davon ${disallowed}.`,
    now: '„Darf lesen“ gilt heute. „Trotz Verbot“ zählt nach der robots.txt, die beim Abruf galt.',
  },
  versions: {
    title: 'Fassungen der Regeln',
    inForce: 'in Kraft',
    none: 'Noch wurde keine robots.txt und keine llms.txt abgerufen. readership fragt innerhalb einer Stunde danach.',
    changes: (when: string) => `Änderungen vom ${when}`,
    all: 'Der ganze Text dieser ersten Fassung',
  },
  cameFrom: 'Woher ihre Leserinnen und Leser kamen',
  noSources: 'Niemand las diese Seite in dieser Zeit.',
  decayNone: 'Niemand las diese Seite in dieser Zeit oder in der davor.',
}
