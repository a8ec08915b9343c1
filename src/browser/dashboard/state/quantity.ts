import type { ComponentChildren } from 'preact'
import { t } from '../texts/index.js'
import type { Quantity, Unit } from '../texts/quantity.js'

/** The unit of each field of a read that sentences tell; `total` is that of `meta`. Templates ask for a unit by its type. */
const UNITS = {
  '/api/stats/overview visitors': 'people',
  '/api/stats/overview pageviews': 'pageviews',
  '/api/stats/overview agents': 'agents',
  '/api/stats/overview fetches': 'fetches',
  '/api/stats/overview events': 'events',
  '/api/stats/realtime people': 'people',
  '/api/stats/realtime agents': 'agents',
  '/api/stats/timeseries fetches': 'fetches',
  '/api/stats/pages visitors': 'people',
  '/api/stats/pages pageviews': 'pageviews',
  '/api/stats/pages entries': 'visits',
  '/api/stats/pages agents': 'agents',
  '/api/stats/pages fetches': 'fetches',
  '/api/stats/pages total': 'pages',
  '/api/stats/sources sessions': 'visits',
  '/api/stats/sources visitors': 'people',
  '/api/stats/changes sessions': 'visits',
  '/api/stats/changes pageviews': 'reads',
  '/api/stats/sessions total': 'visits',
  '/api/stats/sessions pageviews': 'pageviews',
  '/api/stats/sessions events': 'events',
  '/api/stats/visitors total': 'people',
  '/api/stats/visitors sessions': 'visits',
  '/api/stats/visitors pageviews': 'pageviews',
  '/api/stats/events visitors': 'people',
  '/api/stats/events events': 'events',
  '/api/stats/errors visitors': 'people',
  '/api/stats/errors total': 'errors',
  '/api/stats/goals visitors': 'people',
  '/api/stats/funnel sessions': 'visits',
  '/api/stats/funnel visitors': 'people',
  '/api/stats/journeys sessions': 'visits',
  '/api/stats/journeys/steps sessions': 'visits',
  '/api/stats/retention size': 'people',
  '/api/stats/performance samples': 'pageviews',
  '/api/citation-gap fetches': 'reads',
  '/api/citation-gap arrivals': 'aiVisits',
  '/api/citation-gap total': 'pages',
  '/api/agents/overview fetches': 'fetches',
  '/api/agents/overview verified_fetches': 'fetches',
  '/api/agents/overview spoofed': 'fetches',
  '/api/agents/breakdown fetches': 'fetches',
  '/api/agents/catalog agents': 'agents',
  '/api/agents/coverage total': 'pages',
  '/api/content/decay people': 'pageviews',
  '/api/content/decay agents': 'fetches',
  '/api/imports human': 'pageviews',
  '/api/imports agent': 'fetches',
  '/api/policy agents': 'agents',
  '/api/policy/versions readers': 'agents',
  '/api/policy/violations/agents fetches': 'fetches',
  '/api/policy/violations/agents agents': 'agents',
  '/api/policy/violations/rules fetches': 'fetches',
  '/api/policy/violations/rules agents': 'agents',
} as const satisfies Record<string, Unit>

type Field = keyof typeof UNITS

/** A number of a field with the word of its unit; `draw` puts an element around the text. */
export function quantity<F extends Field>(
  field: F,
  n: number,
  draw: (text: string) => ComponentChildren = (text) => text,
): Quantity<(typeof UNITS)[F]> {
  const unit = UNITS[field]
  const text = t().units[unit](n)
  return { unit, n, text, shown: draw(text) }
}
