import { formatNumber } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const changes: Texts['changes'] = {
  title: 'Was sich änderte',
  people: (n, isMore, than) => ['Menschen kamen auf ', n.shown, isMore ? ' mehr' : ' weniger', ` ${than}`],
  agents: (n, isMore, than) => ['Agenten kamen auf ', n.shown, isMore ? ' mehr' : ' weniger', ` ${than}`],
  peopleSame: (than) => `Menschen kamen so oft zu Besuch wie ${than.replace('als ', '')}.`,
  agentsSame: (than) => `Agenten lasen so oft wie ${than.replace('als ', '')}.`,
  than: (days, compare) =>
    compare === 'year'
      ? 'als ein Jahr davor'
      : days === undefined
        ? 'als in der Zeit davor'
        : days === 1
          ? 'als am Tag davor'
          : `als in den ${days} Tagen davor`,
  points: (points, isMore, than) => `, ${points} ${isMore ? 'mehr' : 'weniger'} ${than}`,
  cause: {
    source: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}kamen von `, name],
    direct: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}kamen `, name],
    entry_page: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}begannen auf `, name],
    utm_campaign: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}kamen durch die Kampagne `, name],
    country: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}kamen aus dem Land `, name],
    section: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}galten `, name],
    agent_id: (n, isMore, name) => ['; ', name, ` las ${n}-mal ${isMore ? 'mehr' : 'weniger'}`],
    pathname: (n, isMore, name) => [`; ${n} ${isMore ? '' : 'weniger '}galten `, name],
  },
  nearlyAll: (page) => [', fast alle auf ', page],
  most: (page) => [', die meisten auf ', page],
  frontPage: 'der Startseite',
  onDays: (days) => ` am ${days}`,
  and: 'und',
  spread: {
    human: 'Die Änderung ist verteilt: keine Seite, keine Quelle und kein Land sticht heraus.',
    agent: 'Die Änderung ist verteilt: kein Agent, keine Seite und kein Land sticht heraus.',
  },
  chance: 'Das kann Zufall sein, deshalb wird keine Ursache genannt.',
  unknown: 'Weniger als die Hälfte dieser Zeit wurde in beiden Zeiträumen erfasst; deshalb wird nichts verglichen.',
  comparable: (time) => ['Eine kürzere Zeit lässt sich vergleichen: ', time],
  comparedPart: (share) => `Verglichen werden die Stunden, die in beiden Zeiten aufgezeichnet wurden: ${share} davon.`,
  fromTo: (before, now) => `${before} → ${now}`,
  when: 'Wann',
  whenAside: 'jeder Balken vergleicht mit derselben Stelle der Zeit davor; zusammen ergeben sie die Änderung',
  measure: { human: 'Besuche', agent: 'Lesezugriffe' },
  moreOrFewer: 'mehr oder weniger',
  bucket: 'Zeit',
  dimensions: 'Nach',
  tab: {
    pages: 'Seiten',
    sections: 'Bereiche',
    sources: 'Quellen und Agenten',
    countries: 'Länder',
    campaigns: 'Kampagnen',
  },
  dimension: {
    entry_page: 'Erste Seite des Besuchs',
    pathname: 'Gelesene Seite',
    section: 'Bereich',
    source: 'Quelle des Besuchs',
    agent_id: 'Agent, der las',
    country: 'Land',
    utm_campaign: 'Kampagne des Besuchs',
  },
  none: {
    entry_page: 'Keine Seite',
    section: 'In keinem Bereich',
    source: 'Direkt',
    direct: 'direkt',
    country: 'Unbekannt',
    utm_campaign: 'Keine Kampagne',
  },
  noCampaigns: 'Agenten folgen keiner Kampagne: Sie senden keine markierte Adresse, die es sagen würde.',
  noneFor: 'Davon gibt es hier nichts.',
  rose: 'Gestiegen',
  fell: 'Gefallen',
  allOthers: 'Alle anderen',
  others: (n) => (n === 0 ? 'Kein anderer Wert' : n === 1 ? '1 anderer Wert' : `${formatNumber(n)} andere Werte`),
  together: 'Zusammen',
  name: 'Name',
  change: 'Änderung',
  beforeNow: 'Davor → jetzt',
  adds: 'Jeder Besuch hat eine erste Seite, eine Quelle, ein Land und eine Kampagne oder keine; jeder Lesezugriff hat einen Agenten und eine Seite. Deshalb ergeben die Balken einer Liste genau die Änderung, mit der letzten Zeile für alles, was nicht genannt ist. Menschen werden nicht aufgeteilt: Ein Mensch kann aus zwei Quellen kommen.',
  all: 'Alles, was sich änderte',
  notACause: 'Es zeigt, was danach kam, nicht dass die Notiz die Ursache ist.',
}
