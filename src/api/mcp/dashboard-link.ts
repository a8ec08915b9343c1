import type { Query } from './api-client.js'

/** The view of the dashboard that shows a report, where its name is another. */
const VIEWS: Readonly<Record<string, string>> = {
  overview: '',
  timeseries: '',
  dimensions: '',
  breakdown: '',
  realtime: 'live',
  locations: 'places',
  'journeys/steps': 'journeys',
  'agents/overview': 'agents',
  'agents/breakdown': 'agents',
  'agents/timeseries': 'agents',
  'agents/coverage': 'coverage',
  'agents/formats': 'formats',
  'agents/llms-links': 'formats',
  'agents/catalog': 'catalog',
  'content/decay': 'decay',
  'policy/versions': 'policy',
  'policy/violations': 'violations',
  'policy/violations/agents': 'violations',
  'policy/violations/pages': 'violations',
  'policy/violations/rules': 'violations',
}

/** Returns the name of the view that shows a report: `pages`, `sessions/12`; the overview has none. */
function viewOfReport(report: string): string {
  const [first = ''] = report.split('/')
  if (first === 'funnel') return 'funnels'
  return VIEWS[report] ?? (first === 'sessions' ? report : first)
}

/** The parameters of a read that the dashboard's address has too. */
const SHARED = ['range', 'start', 'end', 'filters', 'segment', 'suspected'] as const

/** Returns the address of the dashboard with the same site, window, filters and audience; `base` ends with a slash. */
export function dashboardLink(
  base: string,
  { report, site, query }: { readonly report: string; readonly site: number; readonly query: Query },
): string {
  const shown = new URLSearchParams({ compare: String(query.compare ?? 'none') })
  if (query.audience === 'human' || query.audience === 'agent') shown.set('show', query.audience)
  for (const name of SHARED) if (query[name] !== undefined) shown.set(name, String(query[name]))
  return viewLink(base, site, viewOfReport(report), shown)
}

/** Returns the address of a view of a site; the overview has the name ''. */
export const viewLink = (base: string, site: number, view: string, query: URLSearchParams): string =>
  `${base}sites/${site}${view === '' ? '' : `/${view}`}?${query}`
