import type { Observation } from './observation.js'
import type { SiteSettings } from './site.js'

const OPT_OUT_COOKIE = /(?:^|;)\s*readership-opt-out=1\s*(?:;|$)/

/** Returns whether a `Cookie` header contains the first-party opt-out. Nothing else in it is read. */
export const hasOptOutCookie = (cookie: string | undefined): boolean =>
  cookie !== undefined && OPT_OUT_COOKIE.test(cookie)

/**
 * Returns whether a person's request must not be recorded. The opt-out is always honoured; Sec-GPC and DNT, which some
 * browsers send to every site, only if the site sets `respect_gpc`.
 */
export const isOptedOut = (
  { opted_out, headers }: { opted_out?: true; headers?: Observation['headers'] },
  site: Pick<SiteSettings, 'respect_gpc'>,
): boolean => opted_out === true || (site.respect_gpc && (headers?.['sec-gpc'] === '1' || headers?.dnt === '1'))
