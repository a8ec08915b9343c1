import type { Texts } from '../shape.js'

export const coverage: Texts['coverage'] = {
  order: 'Reihenfolge',
  mostRead: 'Meistgelesen',
  longestUnread: 'Am längsten ungelesen',
  sentence: (pages, page, ago) => [
    'Menschen oder Agenten lasen ',
    pages.shown,
    ', oder eine Sitemap führt sie auf. Am längsten ungelesen von Agenten ist ',
    page,
    `: zuletzt ${ago}.`,
  ],
  sentenceNever: (pages, page) => [
    'Menschen oder Agenten lasen ',
    pages.shown,
    ', oder eine Sitemap führt sie auf. Kein Agent las je ',
    page,
    '.',
  ],
  sentenceNone: 'In dieser Zeit wurde keine Seite gelesen, und keine Sitemap ist bekannt.',
  people: 'Seitenaufrufe',
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
