import { formatNumber } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const coverage: Texts['coverage'] = {
  order: 'Reihenfolge',
  mostRead: 'Meistgelesen',
  longestUnread: 'Am längsten ungelesen',
  sentence: (pages, page, ago) => [
    'Agenten lasen alle von ',
    pages.shown,
    ', die gelesen wurden oder in einer Sitemap stehen; am längsten ungelesen ist ',
    page,
    `: zuletzt ${ago}.`,
  ],
  sentenceNever: (pages, unread, isPart, page) => [
    'Von ',
    pages.shown,
    ', die gelesen wurden oder in einer Sitemap stehen, lasen Agenten ',
    ...(unread === 1 ? [] : [`${isPart ? 'mindestens ' : ''}${formatNumber(unread)} nie, darunter `]),
    page,
    ...(unread === 1 ? [' nie.'] : ['.']),
  ],
  most: (agent, n, all) => [' Am meisten rief ', agent, ` ab: ${formatNumber(n)}-mal; insgesamt: ${all.text}.`],
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
