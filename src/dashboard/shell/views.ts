import type { ComponentType } from 'preact'
import { lazy } from './lazy.js'

/** One view of a site: its name in the address and its component, which is loaded on first use. */
export interface View {
  name: string
  /** The letter that `g` is followed by. */
  letter: string
  component: ComponentType
}

const view = (name: string, letter: string, load: () => Promise<{ default: ComponentType }>): View => ({
  name,
  letter,
  component: lazy(load),
})

export const OVERVIEW = view('overview', 'o', () => import('../views/overview/overview.js'))
export const LIVE = view('live', 'l', () => import('../views/live/live.js'))
export const SETTINGS = view('settings', ',', () => import('../views/settings/settings.js'))

/** The views of a site, in the order of the rail. */
export const SITE_VIEWS: readonly View[] = [
  view('pages', 'p', () => import('../views/pages/pages.js')),
  view('sources', 's', () => import('../views/sources/sources.js')),
  view('places', 'w', () => import('../views/places/places.js')),
  view('devices', 'd', () => import('../views/devices/devices.js')),
  view('events', 'e', () => import('../views/events/events.js')),
  view('goals', 'g', () => import('../views/goals/goals.js')),
  view('funnels', 'f', () => import('../views/funnels/funnels.js')),
  view('journeys', 'j', () => import('../views/journeys/journeys.js')),
  view('retention', 'r', () => import('../views/retention/retention.js')),
  view('sessions', 't', () => import('../views/sessions/sessions.js')),
  view('visitors', 'u', () => import('../views/visitors/visitors.js')),
  view('performance', 'm', () => import('../views/performance/performance.js')),
  view('errors', 'x', () => import('../views/errors/errors.js')),
]
export const AGENT_VIEWS: readonly View[] = [
  view('agents', 'a', () => import('../views/agents/agents.js')),
  view('coverage', 'c', () => import('../views/coverage/coverage.js')),
  view('citation-gap', 'q', () => import('../views/citation-gap/citation-gap.js')),
  view('policy', 'b', () => import('../views/policy/policy.js')),
  view('violations', 'v', () => import('../views/violations/violations.js')),
  view('decay', 'k', () => import('../views/decay/decay.js')),
  view('catalog', 'n', () => import('../views/catalog/catalog.js')),
]
