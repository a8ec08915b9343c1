import { formatNumber, plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

const countPeople = (n: number): string => plural(n, { one: 'ein Mensch', other: `${formatNumber(n)} Menschen` })

/** Texts of Live, Events, Goals, Funnels, Journeys, Retention, Performance and Errors. */
export const behaviour: Texts['behaviour'] = {
  live: {
    count: {
      human: (n, shown) => plural(n, { one: `${shown} Mensch`, other: `${shown} Menschen` }),
      agent: (n, shown) => plural(n, { one: `${shown} Agent`, other: `${shown} Agenten` }),
    },
    sentence: (readers, page) => [
      'In den letzten 5 Minuten lasen ',
      readers[0],
      ...(readers.length === 2 ? [' und ', readers[1]] : []),
      ' diese Website',
      ...(page === undefined ? ['.'] : ['; die meisten lesen ', page, '.']),
    ],
    now: { human: 'Menschen jetzt', agent: 'Agenten jetzt' },
    window: 'in den letzten 5 Minuten',
    readsIn: (reads) =>
      reads === undefined ? 'in den letzten 5 Minuten' : `in den letzten 5 Minuten; ${reads} Abrufe in 30`,
    minutes: 'Letzte 30 Minuten',
    bars: { human: 'Menschen, nach oben', agent: 'Abrufe von Agenten, nach unten' },
    bar: { human: (n) => `Menschen: ${n}`, agent: (n) => `Abrufe von Agenten: ${n}` },
    nowMark: 'jetzt',
    open: 'Offene Seiten',
    quiet: 'In den letzten 5 Minuten wurde keine Seite gelesen.',
    feed: 'Was gerade geschieht',
    since: (rows, time) => `${rows} seit ${time}`,
    connection: {
      connecting: 'Verbindet …',
      open: 'Verbunden',
      lost: 'Verbindung verloren; neuer Versuch …',
      refused: 'Nicht verbunden',
    },
    paused: (n) => `Angehalten, ${n} warten`,
    pause: 'Anhalten',
    resume: 'Weiter',
    space: 'Leertaste',
    missed: (n) => `${n} Zeilen fehlen, weil sie schneller kamen, als diese Seite sie annehmen konnte.`,
    leftOut: (filters) =>
      `Hier stehen einzelne Zeilen, deshalb gilt dieser Filter hier nicht: ${filters}. Für die Zahlen darüber gilt er.`,
    waiting: 'Noch nichts. Der nächste Abruf erscheint hier innerhalb einer Sekunde.',
    time: 'Zeit',
    reader: 'Wer',
    identity: 'Identität oder Quelle',
    took: 'Dauer',
    person: 'Ein Mensch',
    agent: 'Ein Agent',
    from: (source) => `von ${source}`,
    spoofed: 'gefälscht',
    disallowed: (line) => (line === undefined ? 'verboten' : `verboten in Zeile ${line}`),
    breach: (line) => (line === undefined ? 'Regelbruch' : `Bricht Zeile ${line}`),
  },
  events: {
    kind: {
      custom: 'Ereignis',
      outbound: 'Ausgehender Link',
      file_download: 'Download',
      form: 'Formular',
    },
    kinds: {
      outbound: 'Ausgehende Links',
      file_download: 'Downloads',
      form: 'Formulare',
    },
    none: {
      outbound: 'In dieser Zeit klickte niemand auf einen Link zu einer anderen Website.',
      file_download: 'In dieser Zeit wurde keine Datei heruntergeladen.',
      form: 'In dieser Zeit wurde kein Formular gesendet.',
    },
    agents: 'Agenten klicken nicht und senden keine Formulare; sie rufen ab.',
    sentence: (when, n, shown, first, firstShown) =>
      !n
        ? [when, ' taten Menschen nichts außer lesen.']
        : [
            when,
            ` taten Menschen ${plural(n, { one: 'einmal', other: `${shown}-mal` })} etwas außer lesen`,
            ...(first ? ['; am häufigsten ', first, `, ${firstShown}-mal.`] : ['.']),
          ],
    one: (when, people, nPeople, times, n) => [
      when,
      plural(nPeople, {
        one: ` tat dies ${people} Mensch, zusammen `,
        other: ` taten dies ${people} Menschen, zusammen `,
      }),
      `${plural(n, { one: 'einmal', other: `${times}-mal` })}.`,
    ],
    chart: 'Ereignisse im Zeitverlauf',
    all: 'Alle Ereignisse',
    empty:
      'In dieser Zeit gab es kein Ereignis. Klicks auf ausgehende Links, Downloads und Formulare zählt das Skript von selbst. Für andere rufen Sie readership.track(\u2018Signup\u2019) auf oder schreiben data-readership-event="Signup" an ein Element.',
    name: 'Ereignis',
    kindHead: 'Art',
    properties: 'Eigenschaften',
    noProperties: 'Dieses Ereignis hat keine Eigenschaften. Geben Sie sie readership.track als zweites Argument mit.',
    allValues: 'Alle Werte',
    allProperties: 'Alle Eigenschaften',
  },
  goals: {
    agents:
      'Agenten haben keine Ziele: Sie lesen Seiten und gehen. Wie oft ihr Lesen Menschen bringt, sagt die Zitatlücke.',
    sentence: (when, n, best, people, rate) =>
      n === 0
        ? [
            'Noch kein Ziel. Ein Ziel zählt, was Menschen tun sollen: eine Seite lesen, sich anmelden, etwas herunterladen.',
          ]
        : best
          ? [
              when,
              ` ${plural(people, { one: 'erreichte', other: 'erreichten' })} ${countPeople(people)} das Ziel `,
              best,
              ...(rate ? [`, ${rate} von allen.`] : ['.']),
            ]
          : [when, ' wurde kein Ziel erreicht.'],
    empty:
      'Ziele zählen eine Seite, ein Ereignis, einen Klick, einen Download, ein Formular, eine Lesetiefe oder die Dauer eines Besuchs.',
    foot: 'Die Quote ist der Anteil aller Besucher, die das Ziel erreichten. Beträge in verschiedenen Währungen werden nie addiert.',
    create: 'Neues Ziel',
    edit: 'Ziel ändern',
    counts: 'Zählt',
    change: 'Veränderung',
    conversions: 'Erreicht',
    rate: 'Quote',
    revenue: 'Umsatz',
    type: 'Was Menschen tun',
    types: {
      page: 'Eine Seite ansehen',
      event: 'Ein Ereignis auslösen',
      outbound: 'Einem ausgehenden Link folgen',
      file_download: 'Eine Datei herunterladen',
      form: 'Ein Formular senden',
      scroll: 'Nach unten blättern',
      duration: 'Auf der Website bleiben',
    },
    nouns: { page: 'Seite', event: 'Ereignis', outbound: 'Link', file_download: 'Download', form: 'Formular' },
    values: {
      page: 'Pfad der Seite',
      event: 'Name des Ereignisses',
      outbound: 'Adresse des Links',
      file_download: 'Adresse der Datei',
      form: 'Name des Formulars',
      scroll: 'Tiefe',
      duration: 'Dauer',
    },
    hint: {
      matches: 'Ein regulärer Ausdruck (RE2), etwa ^/blog/\\d+$',
      matches_wildcard: '* steht für einen Teil eines Pfades, ** für beliebig viele Teile: /blog/**',
    },
    any: 'beliebig',
    scroll: 'Mindestens dieser Teil der Seite, in Prozent',
    duration: 'Mindestens so lange, in Sekunden',
    somePages: 'Nur auf manchen Seiten',
    everyPage: 'Auf jeder Seite',
    onPages: 'Auf Seiten, deren Pfad',
    properties: 'Eigenschaften, die alle zutreffen müssen',
    propertyKey: 'Eigenschaft',
    addProperty: 'Eigenschaft hinzufügen',
    addRevenue: 'Umsatz zählen',
    amount: 'Eigenschaft mit dem Betrag',
    revenueHint:
      'Der Betrag kommt aus dieser Eigenschaft des Ereignisses. Nennt das Ereignis eine Währung, so gilt sie.',
    remove: 'Entfernen',
    longerThan: (time) => `Ein Besuch von mindestens ${time}`,
    deeperThan: (depth) => `Bis ${depth} oder weiter gelesen`,
    deleteTitle: 'Ziel löschen?',
    deleteText: (name) =>
      `„${name.slice(0, 200)}“ wird entfernt. Was Menschen taten, bleibt gespeichert; ein neues Ziel zählt es wieder.`,
  },
  funnels: {
    agents:
      'Agenten folgen keinen Schritten: Jeder Abruf steht für sich. Welche Seiten sie lasen, steht unter Abdeckung.',
    sentence: (when, people, rate, worst, lost) => [
      when,
      `: Begonnen haben ${people}`,
      ...(rate === undefined ? ['.'] : [`; ${rate} kamen ans Ende.`]),
      ...(worst ? [' Die meisten gingen verloren vor ', worst, `: ${lost}.`] : []),
    ],
    counted: {
      session: (n) => plural(n, { one: 'ein Besuch', other: `${formatNumber(n)} Besuche` }),
      visitor: countPeople,
    },
    title: 'Trichter',
    empty:
      'Ein Trichter zeigt, wo Menschen auf dem Weg zu einem Ziel gehen. Er braucht zwei Schritte, etwa eine Seite und ein Ereignis.',
    create: 'Neuer Trichter',
    edit: 'Trichter ändern',
    per: { session: 'Je Besuch', visitor: 'Je Mensch' },
    foot: (n, per) =>
      `Von ${n} ${per === 'session' ? 'Besuchen' : 'Menschen'} in dieser Zeit. Jeder Schritt kommt nach dem vorigen; andere Seiten dürfen dazwischen liegen.`,
    dropped: (share) => `${share} gingen`,
    showWho: 'erreichten diesen Schritt; auflisten',
    listed: {
      reached: (step) => `Haben Schritt ${step} erreicht`,
      dropped: (step) => `Vor Schritt ${step} verloren`,
    },
    listedNone: 'Niemand.',
    step: (n) => `Schritt ${n}`,
    earlier: 'Nach oben',
    later: 'Nach unten',
    label: 'Name des Schritts',
    labelHint: 'Ohne Namen heißt er wie seine Bedingung.',
    addStep: 'Schritt hinzufügen',
    window: 'Längste Zeit vom ersten bis zum letzten Schritt, in Minuten',
    windowHint: 'Leer: beliebig lange.',
    deleteTitle: 'Trichter löschen?',
    deleteText: (name) => `„${name.slice(0, 200)}“ wird entfernt. Was Menschen taten, bleibt gespeichert.`,
  },
  journeys: {
    agents: 'Agenten nehmen keine Wege: Jeder Abruf steht für sich. Was sie wann lasen, steht unter Abdeckung.',
    sentence: (when, visits, pages, n) => [
      when,
      ` lassen sich ${visits} Besuche verfolgen`,
      ...(Array.isArray(pages) ? ['; die meisten lasen erst ', pages[0], ', dann ', pages[1], `: ${n} davon.`] : ['.']),
    ],
    title: 'Wege der Besuche',
    emptyFrom: 'In dieser Zeit nahm kein Besuch diesen Weg. Wählen Sie eine andere Seite oder eine längere Zeit.',
    steps: 'Schritte',
    fields: { from: 'Erste Seite', to: 'Letzte Seite' },
    kinds: { page: 'Seite', other: 'Andere Seiten', exit: 'Gegangen' },
    step: 'Schritt',
    to: 'Nach',
    share: 'Anteil',
    visits: (n) => `${n} Besuche`,
    hint: 'Ein Klick filtert, mit Umschalt beginnt der Weg hier',
    foot: 'Seltenere Seiten eines Schritts stehen zusammen als „Andere Seiten“. Eine Seite, die auf sich selbst folgt, zählt einmal.',
  },
  performance: {
    agents:
      'Agenten zeichnen nichts, also gibt es für sie keine Messwerte. Wie schnell sie bedient wurden, steht bei jedem Agenten.',
    nothing: (when) => [when, ' meldete kein Browser, wie schnell eine Seite war.'],
    sentence: (when, lcp, rating, good, all) => [
      when,
      ' zeigten drei von vier Aufrufen ihren Hauptinhalt binnen ',
      lcp,
      ` (${rating}). `,
      `${good} von ${all} Messwerten sind gut.`,
    ],
    vitals: 'Web Vitals',
    aside: 'es zählt das 75. Perzentil',
    empty: 'Browser melden Messwerte über das Skript.',
    install: 'Fügen Sie es unter „Einbauen“ hinzu.',
    foot: 'Jede Skala hat die Bereiche gut, verbesserungswürdig und schlecht nach Googles Grenzen. Die Raute ist p75, die Kreise sind p50 und p95.',
    names: {
      lcp: 'Hauptinhalt gezeigt',
      inp: 'Reaktion auf Eingaben',
      cls: 'Bewegung der Seite',
      fcp: 'Erster Inhalt gezeigt',
      ttfb: 'Erstes Byte',
    },
    notMeasured: 'In dieser Zeit nicht gemessen.',
    ratings: { good: 'gut', 'needs-improvement': 'verbesserungswürdig', poor: 'schlecht' },
    scale: (values) => `Auf einer Skala mit drei Bereichen: ${values}`,
    samples: (n) => `${n} Aufrufe`,
    samplesHead: 'Aufrufe',
    by: {
      pathname: 'Nach Seite',
      country: 'Nach Land',
      browser: 'Nach Browser',
      device_type: 'Nach Gerät',
    },
    dimensions: { pathname: 'Seite', country: 'Land', browser: 'Browser', device_type: 'Gerät' },
    legend: '● gut, ◐ verbesserungswürdig, ○ schlecht',
  },
  errors: {
    agents:
      'Agenten führen kein Skript aus und melden also keine Fehler. Antworten mit einem Fehlerstatus stehen bei jedem Agenten.',
    sentence: (when, n, shown, first, people) =>
      n === 0
        ? [when, ' schlug kein Skript fehl.']
        : [
            when,
            ` trafen Menschen auf ${plural(n, { one: 'einen Fehler', other: `${shown} verschiedene Fehler` })} in Skripten`,
            ...(first
              ? [
                  '; am häufigsten „',
                  first,
                  `“, den ${countPeople(people)} ${plural(people, { one: 'sah', other: 'sahen' })}.`,
                ]
              : ['.']),
          ],
    empty:
      'In dieser Zeit gab es keinen Fehler. Das Skript meldet unbehandelte Fehler Ihrer Seiten; jede Art steht hier einmal.',
    message: 'Meldung',
    noMessage: '(keine Meldung)',
    type: 'Typ',
    trend: 'Verlauf',
    trendOf: (n, when) => `${n}-mal, ${when}`,
    detail: 'Dieser Fehler',
    gone: 'Dieser Fehler trat in dieser Zeit nicht auf. Wählen Sie eine längere Zeit.',
    figures: { count: 'Anzahl', visitors: 'Menschen', sessions: 'Besuche' },
    frame: 'Oberste Stelle',
    noFrame: 'Der Browser sandte keine Aufrufliste.',
    mostOn: 'Meist auf',
  },
  retention: {
    agents: 'Agenten haben keine Besuche, von denen sie wiederkommen: Sie rufen ab, wann sie wollen.',
    sentence: (when, people, share, after) => [
      `${when}: zum ersten Mal da `,
      people,
      `, davon ${share} ${after} wieder.`,
    ],
    tooEarly: (when, unit) => [
      when,
      ` ist nach einem ersten Besuch noch ${{ day: 'kein Tag', week: 'keine Woche', month: 'kein Monat' }[unit]} vergangen; für Wiederkehrer ist es zu früh.`,
    ],
    saltChanged: (when, unit) => [
      when,
      ` bekommen Besucher ${{ day: 'am nächsten Tag', week: 'in der nächsten Woche', month: 'im nächsten Monat' }[unit]} eine neue Kennung: Wer wiederkam, ist nicht bekannt.`,
    ],
    unknown: 'unbekannt: Die Kennungen der Besucher wechseln dazwischen',
    after: { day: 'am Tag danach', week: 'in der Woche danach', month: 'im Monat danach' },
    title: 'Menschen, die wiederkamen',
    aside: {
      day: 'nach dem Tag ihres ersten Besuchs',
      week: 'nach der Woche ihres ersten Besuchs',
      month: 'nach dem Monat ihres ersten Besuchs',
    },
    first: { day: 'Erster Besuch', week: 'Erster Besuch, Woche vom', month: 'Erster Besuch' },
    period: {
      day: (n) => `Tag ${n}`,
      week: (n) => `Woche ${n}`,
      month: (n) => `Monat ${n}`,
    },
    asCount: 'Als Anzahl',
    asShare: 'Als Anteil',
    foot: 'Ein Zeitraum, der noch läuft, ist leer. Ein Besuch zählt an dem Tag, an dem er begann.',
  },
}
