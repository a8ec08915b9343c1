import type { Texts } from '../shape.js'

export const coverage: Texts['coverage'] = {
  urls: (n) => `${n} URLs`,
  order: 'Reihenfolge',
  mostRead: 'Meistgelesen',
  longestUnread: 'Am längsten ungelesen',
  sentence: (urls, page, ago) => [
    'Menschen oder Agenten lasen ',
    urls,
    ', oder eine Sitemap führt sie auf. Am längsten ungelesen von Agenten ist ',
    page,
    `: zuletzt ${ago}.`,
  ],
  sentenceNever: (urls, page) => [
    'Menschen oder Agenten lasen ',
    urls,
    ', oder eine Sitemap führt sie auf. Kein Agent las je ',
    page,
    '.',
  ],
  sentenceNone: 'In dieser Zeit wurde keine URL gelesen, und keine Sitemap ist bekannt.',
  people: 'Aufrufe',
  first: 'Zuerst',
  age: 'Alter der Kopie',
  never: 'nie gelesen',
  status: 'Status',
  robots: 'Zuletzt',
  robotsHint: 'Ob robots.txt dem Agenten, der zuletzt las, das erlaubte',
  allowed: 'erlaubt',
  disallowed: 'verboten',
  listed: { yes: 'ja', no: 'nein' },
  sitemap: 'Sitemap',
}
