import { counted, formatNumber, plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const policy: Texts['policy'] = {
  sentence: (since, rules, groups, kept, agents, path) => [
    `Die robots.txt vom ${since} hat ${counted(rules, 'Regel', 'Regeln')} in ${counted(groups, 'Gruppe', 'Gruppen')}. `,
    `${formatNumber(kept)} von ${agents.text}, ${plural(agents.n, { one: 'den', other: 'die' })} robots.txt benennen kann, ${plural(kept, { one: 'darf', other: 'dürfen' })} `,
    path,
    ' nicht lesen.',
  ],
  sentenceNone: [
    'readership hat noch keine robots.txt geholt. Das geschieht binnen einer Sekunde nach der ersten Anfrage.',
  ],
  sentenceStanding: (standing) => [
    standing === 'unavailable'
      ? 'Es gibt keine robots.txt, also darf jeder Agent alles lesen.'
      : 'Die robots.txt ließ sich nicht holen; Crawler müssen annehmen, dass nichts erlaubt ist. Bis dahin wird nichts beurteilt.',
  ],
  hostname: 'Hostname',
  mayTitle: 'Darf dieser Agent diesen Pfad lesen?',
  mayFoot:
    'Nach der jetzt gültigen robots.txt. Abrufe des Pfads in der gewählten Zeit, beurteilt nach der robots.txt ihres Augenblicks.',
  agent: 'Agent: Name oder Kürzel',
  ask: 'Prüfen',
  may: 'Darf lesen',
  whileDisallowed: 'Trotz Verbot',
  answer: (agent, path, allowed) => (allowed ? `${agent} darf ${path} lesen.` : `${agent} darf ${path} nicht lesen.`),
  unknownAgent: (name) => `Kein Agent des Katalogs heißt „${name}“. Für ihn gälte die Gruppe *.`,
  group: (agents) => `Für ihn gilt die Gruppe ${agents}.`,
  reason: {
    rule: 'eine Regel entscheidet',
    no_rule: 'keine Regel trifft zu',
    no_group: 'keine Gruppe gilt',
    unavailable: 'keine robots.txt: alles ist erlaubt',
    unreachable: 'robots.txt nicht abrufbar',
    robots_txt: 'robots.txt selbst ist immer erlaubt',
  },
  decides: 'entscheidet',
  fetched: (at) => `geholt ${at}`,
  noneYet: 'Noch nichts geholt. Das geschieht binnen einer Sekunde nach der ersten Anfrage des Hostnamens.',
  standing: (standing, status, reason) =>
    standing === 'unavailable'
      ? `Der Server antwortet ${status}: Es gibt keine robots.txt, und alles ist erlaubt.`
      : `Sie ließ sich nicht holen${reason === undefined ? '' : `: ${reason}`}. Crawler müssen annehmen, dass nichts erlaubt ist.`,
  noGroups: 'Sie hat keine Gruppe, also ist alles erlaubt.',
  truncated: 'Nur die ersten 500 KiB werden gelesen, wie RFC 9309 es verlangt.',
  problems: 'Fehler',
  licenses: 'Lizenzen für die ganze Datei',
  sitemaps: 'Sitemaps',
  links: (n) => counted(n, 'Link', 'Links'),
  noLlms: 'Die Website hat noch keine llms.txt, oder sie ist noch nicht geholt.',
  llmsStanding: (standing, status) =>
    standing === 'unavailable'
      ? `Der Server antwortet ${status}: Es gibt keine llms.txt.`
      : 'Sie ließ sich nicht holen.',
  linkTitle: 'Link',
  section: 'Abschnitt',
  notes: 'Anmerkung',
  lastStatus: 'Letzter Status',
  offsite: 'fremde Website',
  firstLinks: (n) => (n === 1 ? 'Der erste Link.' : `Die ersten ${formatNumber(n)} Links.`),
  versions: 'Fassungen',
  versionsAside: 'was sich änderte und wer es gelesen hat',
  size: (rules, groups) => `${counted(rules, 'Regel', 'Regeln')} in ${counted(groups, 'Gruppe', 'Gruppen')}`,
  inForce: 'gültig',
  readBy: (agents) => `gelesen: ${agents.text}`,
  changes: 'Änderungen gegen die Fassung davor',
  atLine: (line) => `@@ Zeile ${line} @@`,
  tooLong: 'Die Texte sind zu lang, um sie hier zu vergleichen.',
  sameText: 'Der Text ist derselbe; Status oder Adresse haben sich geändert.',
  textLeftOut: 'Der Text fehlt hier, weil die Liste lang ist.',
  unreadVersion: 'Kein Agent hat diese Fassung gelesen.',
  later: (time) => `${time} später`,
}

export const violations: Texts['violations'] = {
  title: 'Missachtungen',
  sentence: (when, fetches, share, agents) => [
    `${when} ${plural(agents.n, { one: 'machte', other: 'machten' })} ${agents.text} `,
    fetches.shown,
    `, obwohl robots.txt es in dem Augenblick verbot: ${share} von allen.`,
  ],
  breaches: (breaches) => [' Darunter ', breaches, ' von bestätigten Agenten, deren Betreiber Gehorsam zusagt.'],
  noBreach: ' Nichts davon ist ein Regelbruch: Kein bestätigter Agent brach eine Zusage seines Betreibers.',
  sentenceNone: (when) => [`${when} rief kein Agent ab, was robots.txt verbietet.`],
  people: 'Für Menschen gilt robots.txt nicht.',
  by: 'Gruppiert',
  byAgent: 'Nach Agent und Regel',
  quotes:
    'Bei einem Namen in Anführungszeichen ist nicht bewiesen, dass es dieser Agent ist; sein Betreiber wird nicht beschuldigt.',
  rows: 'Jede Zeile ist ein Agent und die eine Zeile, die entschied: Zwei missachtete Regeln sind zwei Zeilen.',
  classes: 'Einstufungen',
  share: (share) => `${share} der Abrufe`,
  none: 'Kein Agent rief ab, was robots.txt in dem Augenblick verbot.',
  pages: 'Seiten',
}
