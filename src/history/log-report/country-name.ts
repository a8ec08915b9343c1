const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })
/** Returns the English name of a country's code; `unknown` stays. */
export const countryName = (code: string): string => (/^[A-Z]{2}$/.test(code) ? (REGIONS.of(code) ?? code) : code)
