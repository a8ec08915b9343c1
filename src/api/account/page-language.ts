/** The languages of the pages and mails that people see without the dashboard. */
export type Language = 'en' | 'de'

const isLanguage = (text: string | null | undefined): text is Language => text === 'en' || text === 'de'

/** Returns the language of the query's `lang`, which a page's own link sets, or else the browser's first that exists here. */
export function languageOf({ url, headers }: Pick<Request, 'url' | 'headers'>): Language {
  const chosen = new URL(url).searchParams.get('lang')
  if (isLanguage(chosen)) return chosen
  const ranked = (headers.get('accept-language') ?? '').split(',').map((part) => {
    const [tag = '', ...parameters] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    const weight = parameters.find((one) => one.startsWith('q='))?.slice(2)
    return { primary: tag.split('-')[0], weight: weight === undefined ? 1 : Number(weight) || 0 }
  })
  // Sorting keeps the order of equal weights.
  const known = ranked.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
  return known.map(({ primary }) => primary).find(isLanguage) ?? 'en'
}
