import { counted, formatNumber, plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

/** Texts of Live, Events, Goals, Funnels, Journeys, Performance and Errors. */
export const behaviour: Texts['behaviour'] = {
  live: {
    sentence: (readers, page) =>
      readers.length === 0
        ? ['Wer diese Website in den letzten 5 Minuten gelesen hat, ist nicht bekannt.']
        : [
            readers.length === 1 && readers[0]?.n === 1
              ? 'In den letzten 5 Minuten las '
              : 'In den letzten 5 Minuten lasen ',
            readers[0]?.shown,
            ...(readers.length === 2 ? [' und ', readers[1]?.shown] : []),
            ' diese Website',
            ...(page === undefined ? ['.'] : ['; die meisten lesen ', page, '.']),
          ],
    sentenceNone: ['In den letzten 5 Minuten wurde nichts gelesen.'],
    sentenceEmpty: ['Noch ist nichts erfasst; wer diese Website jetzt liest, ist nicht bekannt.'],
    notYet: 'noch nichts erfasst',
    now: { human: 'Menschen jetzt', agent: 'Agenten jetzt' },
    window: 'in den letzten 5 Minuten',
    fetchesIn: (fetches) =>
      fetches === undefined ? 'in den letzten 5 Minuten' : `in den letzten 5 Minuten; ${fetches.text} in 30`,
    minutes: 'Letzte 30 Minuten',
    bars: { human: 'Menschen, nach oben', agent: 'Abrufe, nach unten' },
    nowMark: 'jetzt',
    open: 'Offene Seiten',
    quiet: 'In den letzten 5 Minuten wurde keine Seite gelesen.',
    feed: 'Was gerade geschieht',
    since: (rows, time) => `${formatNumber(rows)} seit ${time}`,
    connection: {
      connecting: 'Verbindet …',
      open: 'Verbunden',
      lost: 'Verbindung verloren; neuer Versuch …',
      refused: 'Nicht verbunden',
    },
    paused: (n) => `Angehalten, ${counted(n, 'wartet', 'warten')}`,
    pause: 'Anhalten',
    resume: 'Weiter',
    space: 'Leertaste',
    missed: (n) => `${counted(n, 'Zeile fehlt', 'Zeilen fehlen')}, weil mehr kam, als diese Seite annehmen konnte.`,
    leftOut: (filters) =>
      `Hier stehen einzelne Zeilen, deshalb gilt dieser Filter hier nicht: ${filters}. Für die Zahlen darüber gilt er.`,
    withoutSuspected:
      'Verdächtige Besuche fehlen hier. Zeilen, die vor dem Verdacht gegen einen Besuch kamen, bleiben stehen.',
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
    sentence: (when, events, first, ofFirst) =>
      events.n === 0
        ? [when, ' sahen Menschen nur Seiten an und taten sonst nichts.']
        : [
            when,
            ` gab es ${events.text}`,
            ...(first ? ['; am häufigsten ', first, `, ${formatNumber(ofFirst)}-mal.`] : ['.']),
          ],
    one: (when, people, times) => [
      when,
      ` ${plural(people.n, { one: 'tat', other: 'taten' })} dies ${people.text}, zusammen `,
      `${plural(times, { one: 'einmal', other: `${formatNumber(times)}-mal` })}.`,
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
            'Noch kein Ziel. Ein Ziel zählt, was Menschen tun sollen: eine Seite ansehen, sich anmelden, etwas herunterladen.',
          ]
        : best
          ? [
              when,
              ` ${plural(people.n, { one: 'erreichte', other: 'erreichten' })} ${people.text} das Ziel `,
              best,
              ...(rate ? [`, ${rate} aller Menschen.`] : ['.']),
            ]
          : [when, ' wurde kein Ziel erreicht.'],
    empty:
      'Ziele zählen eine Seite, ein Ereignis, einen Klick, einen Download, ein Formular, eine Lesetiefe oder die Dauer eines Besuchs.',
    foot: 'Menschen sind die, die das Ziel mindestens einmal erreichten, und ihr Anteil an allen Menschen. Beträge in verschiedenen Währungen werden nie addiert.',
    create: 'Neues Ziel',
    edit: 'Ziel ändern',
    counts: 'Zählt',
    conversions: 'So oft erreicht',
    rate: 'Aller Menschen',
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
    sentence: (when, entered, rate, worst, lost) => [
      `${when}: ${entered.text} am Anfang`,
      ...(rate === undefined ? ['.'] : [`; ${rate} kamen ans Ende.`]),
      ...(worst ? [' Die meisten gingen verloren vor ', worst, `: ${lost}.`] : []),
    ],
    title: 'Trichter',
    empty:
      'Ein Trichter zeigt, wo Menschen auf dem Weg zu einem Ziel gehen. Er braucht zwei Schritte, etwa eine Seite und ein Ereignis.',
    create: 'Neuer Trichter',
    edit: 'Trichter ändern',
    per: { session: 'Je Besuch', visitor: 'Je Mensch' },
    foot: (all) =>
      `In dieser Zeit gab es ${all.text}. Jeder Schritt kommt nach dem vorigen; andere Seiten dürfen dazwischen liegen.`,
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
    title: 'Wege der Besuche',
    emptyFrom: 'In dieser Zeit nahm kein Besuch diesen Weg. Wählen Sie eine andere Seite oder eine längere Zeit.',
    steps: 'Schritte',
    fields: { from: 'Erste Seite', to: 'Letzte Seite' },
    kinds: { page: 'Seite', other: 'Andere Seiten', exit: 'Verließ die Website' },
    step: 'Schritt',
    to: 'Nach',
    share: 'Anteil',
    hint: 'Ein Klick filtert, mit Umschalt beginnt der Weg hier',
    foot: 'Seltenere Seiten eines Schritts stehen zusammen als „Andere Seiten“. Eine Seite, die auf sich selbst folgt, zählt einmal.',
  },
  steps: {
    viewed: (visits, page) => [visits.shown, ` ${plural(visits.n, { one: 'sah', other: 'sahen' })} `, page],
    went: (visits, way) => [visits.shown, ` ${plural(visits.n, { one: 'nahm', other: 'nahmen' })} diesen Weg: `, way],
    onward: (n, page, left) => [
      `; ${formatNumber(n)} ${plural(n, { one: 'ging', other: 'gingen' })} weiter zu `,
      page,
      `, ${formatNumber(left)} ${plural(left, { one: 'endete', other: 'endeten' })} dort. `,
    ],
    left: (n) => [`; ${formatNumber(n)} ${plural(n, { one: 'endete', other: 'endeten' })} dort. `],
    agents: (n, nothing) =>
      n === 0
        ? ['Agenten nahmen diese Schritte nicht.']
        : [
            `Agenten nahmen dieselben Schritte ${formatNumber(n)}-mal; `,
            `nach ${formatNumber(nothing)} davon lasen sie 30 Minuten lang nichts.`,
          ],
    title: 'Der Weg bisher',
    hint: 'eine Seite links kommt davor, eine rechts danach; jeder Schritt lässt sich entfernen',
    undo: 'Rückgängig',
    undoKey: 'Rücktaste',
    startFrom: 'Beginnen mit',
    cameBefore: 'Was davor kam',
    cameAfter: 'Was danach kam',
    takeOff: (path) => `${path} vom Weg nehmen`,
    putBefore: (path) => `Vor den Weg setzen: ${path}`,
    goOn: (path) => `Weiter zu: ${path}`,
    times: (n) => `${formatNumber(n)}-mal`,
    heads: {
      human: { before: 'Davor: zuvor gesehene Seite', after: 'Danach: als Nächstes gesehene Seite' },
      agent: {
        before: 'Davor: Seite, die derselbe Agent zuvor las',
        after: 'Danach: als Nächstes gelesene Seite',
      },
    },
    edges: {
      human: { before: 'Hier begann der Besuch', after: 'Verließ die Website' },
      agent: { before: 'Las davor nichts', after: 'Las danach nichts' },
    },
    others: (n) => counted(n, 'andere Seite', 'andere Seiten'),
    took: {
      human: (n) => plural(n, { one: 'Besuch nahm diese Schritte', other: 'Besuche nahmen diese Schritte' }),
      agent: () => 'mal nahm ein Agent diese Schritte',
    },
    none: {
      human: 'In dieser Zeit nahm kein Besuch diese Schritte. Nehmen Sie einen weg, oder wählen Sie eine längere Zeit.',
      agent: 'In dieser Zeit nahm kein Agent diese Schritte.',
    },
    whole: 'Ganze Besuche mit diesen Schritten',
    wholeAside: 'die häufigsten zuerst, bis zu acht Seiten',
    foot: 'Eine Seite, die auf sich selbst folgt, zählt einmal. Ein Besuch endet nach 30 Minuten ohne Seitenaufruf und zählt einmal. Die nächste Seite eines Agenten ist, was derselbe Agent binnen 30 Minuten aus demselben Netz und Land las; Leser eines Betreibers in einem Netz lassen sich nicht unterscheiden.',
  },
  performance: {
    agents:
      'Agenten zeichnen nichts, also gibt es für sie keine Messwerte. Wie schnell sie bedient wurden, steht bei jedem Agenten.',
    nothing: (when) => [when, ' meldete kein Browser, wie schnell eine Seite war.'],
    sentence: (when, lcp, rating, good, all) => [
      when,
      ' zeigten drei von vier Seitenaufrufen ihren Hauptinhalt binnen ',
      lcp,
      ` (${rating}). `,
      `Gute Messwerte: ${good} von ${all}.`,
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
    changeOf: (vital) => `${vital}-Veränderung`,
    samplesHead: 'Seitenaufrufe',
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
    sentence: (when, errors, first, people) =>
      errors.n === 0
        ? [when, ' schlug kein Skript fehl.']
        : [
            when,
            ` trafen Menschen auf ${errors.text} in Skripten`,
            ...(first
              ? [
                  '; am häufigsten „',
                  first,
                  `“, den ${people.text} ${plural(people.n, { one: 'sah', other: 'sahen' })}.`,
                ]
              : ['.']),
          ],
    empty:
      'In dieser Zeit gab es keinen Fehler. Das Skript meldet unbehandelte Fehler Ihrer Seiten; jede Art steht hier einmal.',
    message: 'Meldung',
    noMessage: '(keine Meldung)',
    type: 'Typ',
    trend: 'Verlauf',
    trendOf: (n, when) => `${formatNumber(n)}-mal, ${when}`,
    detail: 'Dieser Fehler',
    gone: 'Dieser Fehler trat in dieser Zeit nicht auf. Wählen Sie eine längere Zeit.',
    figures: { count: 'Anzahl', visitors: 'Menschen', sessions: 'Besuche' },
    frame: 'Oberste Stelle',
    noFrame: 'Der Browser sandte keine Aufrufliste.',
    mostOn: 'Meist auf',
  },
}
