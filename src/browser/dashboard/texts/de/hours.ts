import type { Texts } from '../shape.js'

export const hours: Texts['hours'] = {
  most: {
    human: (who, when) => [who, ' kommen am meisten am ', when],
    agent: (who, when) => [who, ' lesen am meisten am ', when],
  },
  who: { human: 'Menschen', agent: 'Agenten' },
  weekend: {
    fewer: (share) => `; samstags und sonntags ${share} weniger als an anderen Tagen. `,
    more: (share) => `; samstags und sonntags ${share} mehr als an anderen Tagen. `,
    same: '; samstags und sonntags etwa so viel wie an anderen Tagen. ',
    unknown: '. ',
  },
  nothing: {
    human: 'In den ganz aufgezeichneten Stunden begann kein Besuch. ',
    agent: 'In den ganz aufgezeichneten Stunden las kein Agent eine Seite. ',
  },
  neverRecorded:
    'Keine Stunde dieser Zeit wurde von der ersten bis zur letzten Minute aufgezeichnet; deshalb gibt es keinen Durchschnitt.',
  aside: { human: 'Besuche in einer mittleren Stunde', agent: 'Lesezugriffe in einer mittleren Stunde' },
  grid: { human: 'Besuche nach Wochentag und Stunde', agent: 'Lesezugriffe nach Wochentag und Stunde' },
  weekday: 'Wochentag',
  perDay: 'am Tag',
  perDayLong: 'An einem mittleren Tag',
  hour: (weekday, from, to) => `${weekday}, ${from} bis ${to}`,
  average: (average) => `im Durchschnitt ${average}`,
  from: (n, count) =>
    count === 1 ? `${n.text} in der einzigen solchen Stunde` : `${n.text} in ${count} solchen Stunden`,
  unrecorded: 'in dieser Zeit nie ganz aufgezeichnet',
  busiest: 'stärkste Stunde',
  foot: (zone) =>
    `Zeiten in ${zone}. Ein Durchschnitt gilt für die Stunden dieser Zeit, die von der ersten bis zur letzten Minute aufgezeichnet wurden. Eine Stunde, die Uhren zweimal zeigen, sind zwei. Pfeiltasten bewegen sich im Raster.`,
}
