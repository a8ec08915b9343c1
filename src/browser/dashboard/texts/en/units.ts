import { counted } from '../../state/format.js'
import type { Unit } from '../quantity.js'

/** Numbers of the API with the one word that their unit has. */
export const units = {
  people: (n) => counted(n, 'person', 'people'),
  visits: (n) => counted(n, 'visit', 'visits'),
  pageviews: (n) => counted(n, 'pageview', 'pageviews'),
  reads: (n) => counted(n, 'read', 'reads'),
  fetches: (n) => counted(n, 'fetch', 'fetches'),
  pages: (n) => counted(n, 'page', 'pages'),
  aiVisits: (n) => counted(n, 'AI visit', 'AI visits'),
  agents: (n) => counted(n, 'agent', 'agents'),
  events: (n) => counted(n, 'event', 'events'),
  errors: (n) => counted(n, 'error', 'errors'),
} as const satisfies Record<Unit, (n: number) => string>
