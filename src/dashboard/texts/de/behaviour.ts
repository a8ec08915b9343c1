import { plural } from '../../state/format.js'
import type { Parts } from '../index.js'

export const behaviour = {
  live: {
    count: {
      human: (n: number, shown: string) => plural(n, { one: `${shown} Mensch`, other: `${shown} Menschen` }),
      agent: (n: number, shown: string) => plural(n, { one: `${shown} Agent`, other: `${shown} Agenten` }),
    },
    sentence: (readers: readonly unknown[], page: unknown): Parts => [
      'In den letzten 5 Minuten lasen ',
      readers[0],
      ...(readers.length === 2 ? [' und ', readers[1]] : []),
      ' diese Website',
      ...(page === undefined ? ['.'] : ['; die meisten sind auf ', page, '.']),
    ],
    now: { human: 'Menschen jetzt', agent: 'Agenten jetzt' },
    window: 'in den letzten 5 Minuten',
    readsIn: (reads: string | undefined) =>
      reads === undefined ? 'in den letzten 5 Minuten' : `in den letzten 5 Minuten; ${reads} Abrufe in 30`,
    minutes: 'Letzte 30 Minuten',
    bars: { human: 'Menschen, nach oben', agent: 'Abrufe von Agenten, nach unten' },
    bar: { human: (n: string) => `Menschen: ${n}`, agent: (n: string) => `Abrufe von Agenten: ${n}` },
    nowMark: 'jetzt',
    open: 'Offene Seiten',
    page: 'Seite',
    quiet: 'In den letzten 5 Minuten wurde keine Seite gelesen.',
    feed: 'Was gerade geschieht',
    since: (rows: string, time: string) => `${rows} seit ${time}`,
    connection: {
      connecting: 'Verbindet …',
      open: 'Verbunden',
      lost: 'Verbindung verloren; neuer Versuch …',
      refused: 'Nicht verbunden',
    },
    paused: (n: string) => `Angehalten, ${n} warten`,
    pause: 'Anhalten',
    resume: 'Weiter',
    space: 'Leertaste',
    missed: (n: string) => `${n} Zeilen fehlen, weil sie schneller kamen, als diese Seite sie annehmen konnte.`,
    leftOut: (filters: string) =>
      `Hier stehen einzelne Zeilen, deshalb gilt dieser Filter hier nicht: ${filters}. Für die Zahlen darüber gilt er.`,
    waiting: 'Noch nichts. Der nächste Abruf erscheint hier innerhalb einer Sekunde.',
    time: 'Zeit',
    reader: 'Wer',
    identity: 'Identität oder Quelle',
    status: 'Status',
    took: 'Dauer',
    person: 'Ein Mensch',
    agent: 'Ein Agent',
    from: (source: string) => `von ${source}`,
    verified: 'bestätigt',
    spoofed: 'gefälscht',
    disallowed: (line: number | undefined) => (line === undefined ? 'verboten' : `verboten in Zeile ${line}`),
    breach: (line: number | undefined) => (line === undefined ? 'Verstoß' : `Verstoß gegen Zeile ${line}`),
  },
  events: {
    kind: {
      custom: 'Ereignis',
      outbound: 'Ausgehender Link',
      file_download: 'Download',
      form: 'Formular',
    } as Record<string, string>,
    agents: 'Agenten klicken nicht und senden keine Formulare; sie rufen ab.',
  },
}
