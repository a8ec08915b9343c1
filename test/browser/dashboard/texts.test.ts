import t from 'tap'
import {
  argumentsWith,
  LANGUAGES,
  listTemplates,
  loadDashboardTexts,
  render,
  textAt,
} from '../../fixtures/dashboard-texts.js'

const { formatMoney, inLanguage } = await loadDashboardTexts()
const templates = listTemplates()
const counted = templates.filter(({ path }) => !path.startsWith('units.'))

/** The one word of each unit, for one and for several. */
const WORDS = {
  en: {
    people: ['person', 'people'],
    visits: ['visit', 'visits'],
    pageviews: ['pageview', 'pageviews'],
    reads: ['read', 'reads'],
    fetches: ['fetch', 'fetches'],
    pages: ['page', 'pages'],
    aiVisits: ['AI visit', 'AI visits'],
    agents: ['agent', 'agents'],
    events: ['event', 'events'],
    errors: ['error', 'errors'],
  },
  de: {
    people: ['Mensch', 'Menschen'],
    visits: ['Besuch', 'Besuche'],
    pageviews: ['Seitenaufruf', 'Seitenaufrufe'],
    reads: ['Lesezugriff', 'Lesezugriffe'],
    fetches: ['Abruf', 'Abrufe'],
    pages: ['Seite', 'Seiten'],
    aiVisits: ['KI-Besuch', 'KI-Besuche'],
    agents: ['Agent', 'Agenten'],
    events: ['Ereignis', 'Ereignisse'],
    errors: ['Fehler', 'Fehler'],
  },
} as const
/** Words that were once written for the same units. */
const OTHER_WORDS = {
  en: ['views', 'sessions', 'visitors', 'arrivals', 'URLs'],
  de: ['Besucher', 'Aufrufe', 'Ankünfte'],
}
/** Words that are the same for one and for several. */
const INVARIABLE = ['Fehler', 'Zeichen', 'of', 'in', 'while', 'von', 'seit', 'since', 'px']
/** "1 von 1 bekannten Agenten": the dative of one is that of several. */
const DATIVE = ['policy.sentence']

t.test('the sources have the templates', async (t) => {
  t.ok(counted.length > 150, `${counted.length} templates`)
  for (const path of ['overview.both', 'behaviour.goals.sentence', 'pages.one.began', 'parts.points'])
    t.ok(
      counted.some((each) => each.path === path),
      path,
    )
})

for (const name of LANGUAGES) {
  t.test(`each unit has one word: ${name}`, async (t) => {
    const texts = inLanguage(name)
    for (const [unit, [one, several]] of Object.entries(WORDS[name])) {
      const template = textAt(texts, `units.${unit}`)
      t.same(
        [0, 1, 2].map((n) => render(template, [n])),
        [`0 ${several}`, `1 ${one}`, `2 ${several}`],
        unit,
      )
    }
  })

  t.test(`no template names a unit after a number; the number brings its word: ${name}`, async (t) => {
    const texts = inLanguage(name)
    const words = Object.values(WORDS[name])
      .flat()
      .filter((word) => word !== 'read')
      .concat(OTHER_WORDS[name])
    const named = new RegExp(`(?:7|»|‹text›) (?:${words.join('|')})(?![\\p{L}-])`, 'u')
    for (const template of counted) {
      const found = argumentsWith(template, 7, (unit) => `«${unit}»`)
        .map((args) => render(textAt(texts, template.path), args))
        .find((text) => named.test(text))
      if (found !== undefined) t.fail(`${template.path}: ${found}`)
    }
  })

  t.test(`no text has a number with the word of another number: ${name}`, async (t) => {
    const texts = inLanguage(name)
    const count = (unit: string, n: number) => render(textAt(texts, `units.${unit}`), [n])
    for (const template of templates) {
      const [zero, one, two] = [0, 1, 2].map((n) =>
        argumentsWith(template, n, count).map((args) => render(textAt(texts, template.path), args)),
      )
      for (const text of [zero, one, two].flat()) {
        if (/undefined|NaN|\[object| {2}|\s[.,;]/u.test(text ?? '')) t.fail(`${template.path}: ${text}`)
      }
      one?.forEach((text, i) => {
        const wrong = wordsAfter(text, '1')
          .filter((word) => wordsAfter(two?.[i] ?? '', '2').includes(word))
          .filter(isPlural(name))
        if (wrong.length > 0 && !DATIVE.includes(template.path)) t.fail(`${template.path}: ${text}`)
      })
    }
  })
}

/** The two words after a number. */
const wordsAfter = (text: string, number: string): string[] =>
  [...text.matchAll(new RegExp(`(?<![\\d.,])${number} ([\\p{L}-]+)(?: ([\\p{L}-]+))?`, 'gu'))]
    .flatMap(([, first, second]) => [first, second])
    .filter((word) => word !== undefined)

/** Whether a word that stands after 1 and after 2 is one for several. */
const isPlural = (name: 'en' | 'de') => (word: string) =>
  !INVARIABLE.includes(word) &&
  (name === 'en' ? /s$|^people$|^were$|^are$/.test(word) : /^\p{Lu}|^sind$|^waren$/u.test(word))

t.test('amounts of money', async (t) => {
  const AMOUNTS: readonly [amount: number, currency: string, en: string, de: string, why: string][] = [
    [5, 'EUR', '€5.00', '5,00 €', 'cents'],
    [0, 'EUR', '€0.00', '0,00 €', 'nothing'],
    [0.1, 'EUR', '€0.10', '0,10 €', 'ten cents'],
    [0.0084, 'EUR', '€0.0084', '0,0084 €', 'less than a cent'],
    [0.0012345, 'EUR', '€0.0012', '0,0012 €', 'two digits'],
    [0.0996, 'EUR', '€0.10', '0,10 €', 'rounded'],
    [0.000001, 'EUR', '€0.000001', '0,000001 €', 'the smallest amount'],
    [3.46, 'JPY', '¥3.5', '3,5 ¥', 'a currency without smaller coins'],
    [1_234.4, 'JPY', '¥1,234', '1.234 ¥', 'more than ten of its coins'],
  ]
  for (const language of LANGUAGES) {
    inLanguage(language)
    for (const [amount, currency, en, de, why] of AMOUNTS)
      t.equal(formatMoney(amount, currency).replace('\u00a0', ' '), { en, de }[language], `${language}: ${why}`)
  }
})
