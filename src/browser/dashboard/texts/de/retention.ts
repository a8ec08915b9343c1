import type { Texts } from '../shape.js'

export const retention: Texts['retention'] = {
  agents:
    'Agenten haben Namen, keine Kennungen und keine Besuche; ein Wechsel der Kennungen verdeckt nichts von ihnen.',
  sentence: (when, people, share, after) => [
    `${when}: zum ersten Mal da `,
    people.shown,
    ', davon ',
    share,
    ` ${after} wieder.`,
  ],
  least: (people, days, share) => [` Am seltensten kamen die vom ${days} wieder (${people.text}): ${share}.`],
  most: (people, days, share) => [` Am häufigsten kamen die vom ${days} wieder (${people.text}): ${share}.`],
  tooEarly: (when, unit) => [
    when,
    ` ist nach einem ersten Besuch noch ${{ day: 'kein Tag', week: 'keine Woche', month: 'kein Monat' }[unit]} vergangen; für Wiederkehrer ist es zu früh.`,
  ],
  saltChanged: (when, unit) => [
    when,
    ` bekommen Menschen ${{ day: 'am nächsten Tag', week: 'in der nächsten Woche', month: 'im nächsten Monat' }[unit]} eine neue Kennung: Wer wiederkam, ist nicht bekannt.`,
  ],
  unknown: 'nicht zu wissen: Die Kennungen der Menschen wechseln dazwischen',
  after: { day: 'am Tag danach', week: 'in der Woche danach', month: 'im Monat danach' },
  title: 'Menschen, die wiederkamen',
  aside: {
    day: 'nach dem Tag des ersten Besuchs',
    week: 'nach der Woche des ersten Besuchs',
    month: 'nach dem Monat des ersten Besuchs',
  },
  first: 'Erster Besuch',
  period: {
    day: (n) => `Tag ${n}`,
    week: (n) => `Woche ${n}`,
    month: (n) => `Monat ${n}`,
  },
  asCount: 'Als Anzahl',
  asShare: 'Als Anteil',
  foot: 'Ein Besuch zählt an dem Tag, an dem er begann.',
  atLeast: 'mindestens',
  soFar: 'bisher',
  fullBar: (share) => `Ein voller Balken wäre ${share}.`,
  keyName: { known: 'Bekannt.', atLeast: 'Mindestens.', unknown: 'Nicht zu wissen.', soFar: 'Bisher.' },
  keyText: {
    atLeast: 'Die Kennungen wechseln in der Woche; nur die Tage davor zählen.',
    unknown: 'Die Kennungen haben gewechselt; danach wird niemand wiedererkannt.',
    soFar: 'In dieser Zeit noch nicht vorbei. Leer: noch nicht begonnen.',
  },
  why: 'Warum manche Felder schraffiert sind',
  whyText: (changes, setting) => [
    `Eine Kennung entsteht aus einem Geheimnis, das ${changes} nach UTC vernichtet wird. Wer danach wiederkommt, sieht wie ein erster Besuch aus; die Zahl wäre eine falsche 0. Wochen und Tage zählen deshalb von da an, und Spalten enden, wo Kennungen enden. Um Menschen länger wiederzuerkennen, ändern Sie, `,
    setting,
    '; das gilt ab dem nächsten Wechsel und nicht für die Vergangenheit.',
  ],
  changes: {
    day: 'jeden Tag',
    week: 'jeden Montag',
    month: 'am 1. jedes Monats',
    never: 'nie',
  },
  howLong: 'wie lange Kennungen gelten',
  agentsTitle: 'Agenten, die wiederkamen',
  agentsAside: {
    day: 'Tage mit mindestens einem Abruf',
    week: 'Wochen mit mindestens einem Abruf',
    month: 'Monate mit mindestens einem Abruf',
  },
  agentsFoot:
    'Gefüllt: hat abgerufen. Hohl: nicht. Schraffiert: nicht erfasst. Dies sind die Agenten, die am meisten abriefen.',
  didNot: 'kein Abruf',
}
