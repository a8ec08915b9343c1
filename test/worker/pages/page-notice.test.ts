import t from 'tap'
import { findNotice, type PageNotice } from '../../../src/worker/pages/page-notice.js'

t.test('finds what a page says in place of its content', async (t) => {
  const rows: [title: string | null, first: string | null, length: number, PageNotice | null, string][] = [
    ['Page not found', 'Sorry', 40, 'not_found', 'an English title'],
    ['Shop', '404', 40, 'not_found', 'the number as heading'],
    ['Error 404 - Shop', null, 40, 'not_found', 'an error and its number'],
    ['Shop', 'The page could not be found.', 300, 'not_found', 'a sentence'],
    ['Shop', "This product isn't available", 300, null, 'a product that is sold out is a page'],
    ['Seite nicht gefunden | Laden', 'Laden', 300, 'not_found', 'German'],
    ['Page introuvable', null, 12, 'not_found', 'French'],
    ['Página no encontrada', null, 12, 'not_found', 'Spanish'],
    ['ページが見つかりません', null, 12, 'not_found', 'Japanese'],
    ['Peugeot 404', 'The Peugeot 404 was built until 1975.', 900, null, 'a car'],
    ['How to build a 404 page', 'A guide', 1_501, null, 'a long page about such pages'],
    ['Lost and found', 'Lost and found', 90, null, 'another use of the word'],
    ['News', 'We value your privacy', 700, 'consent', 'a wall'],
    ['News', 'We value your privacy', 1_501, null, 'a banner above an article'],
    ['Zeitung', 'Mit Werbung weiterlesen', 700, 'consent', 'a German wall'],
    ['Privacy policy', 'Privacy policy', 800, null, 'a page about privacy'],
    ['Just a moment...', null, 0, 'challenge', 'a challenge'],
    ['Access denied', 'You have no permission', 80, 'challenge', 'a refusal with status 200'],
    [null, null, 0, null, 'nothing at all'],
    ['Oak tables', 'Oak tables', 12, null, 'a short page'],
  ]
  for (const [title, first_line, text_length, expected, why] of rows)
    t.equal(findNotice({ title, first_line, text_length }), expected, why)
})
