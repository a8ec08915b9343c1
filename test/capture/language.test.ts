import t from 'tap'
import { parseLanguage } from '../../src/capture/language.js'

t.test('reads the first language of Accept-Language', async (t) => {
  const rows: [string | undefined, string | null, string][] = [
    ['de-DE,de;q=0.9,en;q=0.8', 'de-DE', 'the first'],
    ['en', 'en', 'alone'],
    ['EN-us;q=0.5', 'en-US', 'written as BCP 47 writes it'],
    ['zh-hant-tw', 'zh-Hant-TW', 'with a script'],
    ['es-419', 'es-419', 'with a region in digits'],
    ['de-DE-1996', 'de-DE', 'variants go'],
    ['*', null, 'a wildcard names none'],
    ['x'.repeat(9000), null, 'not a language'],
    ["de'; drop table events", null, 'not a language'],
    ['', null, 'none'],
    [undefined, null, 'none'],
  ]
  for (const [header, expected, why] of rows) t.equal(parseLanguage(header), expected, why)
})
