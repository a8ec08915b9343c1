import type { FunctionComponent } from 'preact'
import { type Audience, viewPath } from '../state/address.js'
import { isOpenView, type Scope, VIEW_SCOPES } from '../state/shared-scopes.js'
import actStyles from '../styles/act.css?url'
import { lazy } from './lazy.js'

/** One view of a site: its name in the address and its component, which is loaded on first use. */
export interface View {
  name: string
  /** The letter that `g` is followed by. */
  letter: string
  load(): Promise<unknown>
  component: FunctionComponent
  /** The only readership that the view is about; absent for both. */
  of?: Audience
  /** The scope of a share link that opens the view; absent for views that no share link opens. */
  scope?: Scope
}

const view = (
  name: string,
  letter: string,
  load: () => Promise<{ default: FunctionComponent }>,
  of?: Audience,
): View => ({
  name,
  letter,
  ...lazy(load),
  ...(VIEW_SCOPES[name] === undefined ? {} : { scope: VIEW_SCOPES[name] }),
  ...(of === undefined ? {} : { of }),
})

/** Adds `styles/act.css` once: the one sheet of all other views holds up the first drawing. */
let styled: Promise<unknown> | undefined
const loadStyles = (): Promise<unknown> =>
  (styled ??= new Promise((resolve) => {
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: actStyles })
    link.onload = link.onerror = resolve
    document.head.append(link)
  }))

/** A view that has `styles/act.css`, for rows of several lines. */
const roomyView = (name: string, letter: string, load: () => Promise<{ default: FunctionComponent }>): View =>
  view(name, letter, async () => {
    const [module] = await Promise.all([load(), loadStyles()])
    return module
  })

export const OVERVIEW = view('overview', 'o', () => import('../views/overview/overview.js'))
export const CHANGES = view('changes', 'h', () => import('../views/changes/changes.js'))
export const LIVE = view('live', 'l', () => import('../views/live/live.js'))
const SETTINGS = view('settings', ',', () => import('../views/settings/settings.js'))

/** The views of a site, in the order of the rail. */
export const SITE_VIEWS: readonly View[] = [
  view('pages', 'p', () => import('../views/pages/pages.js')),
  view('sources', 's', () => import('../views/sources/sources.js'), 'human'),
  view('places', 'w', () => import('../views/places/places.js')),
  view('devices', 'd', () => import('../views/devices/devices.js'), 'human'),
  view('events', 'e', () => import('../views/events/events.js'), 'human'),
  view('goals', 'g', () => import('../views/goals/goals.js'), 'human'),
  view('funnels', 'f', () => import('../views/funnels/funnels.js'), 'human'),
  view('journeys', 'j', () => import('../views/journeys/journeys.js')),
  view('hours', 'y', () => import('../views/hours/hours.js')),
  view('retention', 'r', () => import('../views/retention/retention.js')),
  view('sessions', 't', () => import('../views/sessions/sessions.js'), 'human'),
  view('visitors', 'u', () => import('../views/visitors/visitors.js'), 'human'),
  view('performance', 'm', () => import('../views/performance/performance.js'), 'human'),
  view('errors', 'x', () => import('../views/errors/errors.js'), 'human'),
  view('suspected', '7', () => import('../views/suspected/suspected.js'), 'human'),
]
export const AGENT_VIEWS: readonly View[] = [
  view('agents', 'a', () => import('../views/agents/agents.js'), 'agent'),
  view('coverage', 'c', () => import('../views/coverage/coverage.js'), 'agent'),
  view('citation-gap', 'q', () => import('../views/citation-gap/citation-gap.js')),
  view('answers', '2', () => import('../views/answers/answers.js')),
  roomyView('editions', '4', () => import('../views/editions/editions.js')),
  view('formats', '5', () => import('../views/formats/formats.js'), 'agent'),
  roomyView('blank-pages', '8', () => import('../views/blank-pages/blank-pages.js')),
  view('policy', 'b', () => import('../views/policy/policy.js'), 'agent'),
  view('violations', 'v', () => import('../views/violations/violations.js'), 'agent'),
  view('decay', 'k', () => import('../views/decay/decay.js')),
  view('catalog', 'n', () => import('../views/catalog/catalog.js'), 'agent'),
]
/** The views that change what agents get, one a line, in the order of the rail and of their tabs. */
export const ACT_VIEWS: readonly View[] = [
  roomyView('rules', 'i', () => import('../views/rules/rules.js')),
  roomyView('robots', '1', () => import('../views/robots/robots.js')),
  roomyView('phantom-links', 'z', () => import('../views/phantom-links/phantom-links.js')),
  roomyView('bill', '3', () => import('../views/bill/bill.js')),
  roomyView('evidence', '6', () => import('../views/evidence/evidence.js')),
]

const VIEWS: readonly View[] = [OVERVIEW, CHANGES, LIVE, ...SITE_VIEWS, ...AGENT_VIEWS, ...ACT_VIEWS, SETTINGS]

/** Begins to load the view of an address, so that it is there when the session is known, and its questions go in one request. A failure shows when it is drawn. */
export async function preloadView(path: readonly string[]): Promise<void> {
  const [, , name = OVERVIEW.name] = path
  await VIEWS.find((each) => each.name === name)
    ?.load()
    .catch(() => {})
}

/** Scopes of the reads that a view shows beside its own. */
const FURTHER_SCOPES: Readonly<Record<string, readonly Scope[]>> = {
  overview: ['timeseries', 'changes', 'pages', 'sources', 'locations', 'devices', 'agents'],
  live: ['timeseries', 'agents'],
  pages: ['timeseries', 'breakdown', 'sources', 'agents'],
  sources: ['overview'],
  devices: ['breakdown', 'overview'],
  events: ['overview', 'timeseries'],
  journeys: ['breakdown'],
  agents: ['timeseries', 'sources'],
}

/** Returns a view by its name in the address; the overview has none. */
export const viewOf = (name: string = OVERVIEW.name): View | undefined => VIEWS.find((each) => each.name === name)

/** The scopes that a share link needs to show all of a view. */
export const scopesOf = ({ name, scope }: View): readonly Scope[] =>
  scope === undefined ? [] : [scope, ...(FURTHER_SCOPES[name] ?? [])]

/** Whether the reader may open a view: through a share link only those of its scopes. */
export const isOpenTo = ({ name }: View): boolean => isOpenView(name)

/** The views that the reader may open. */
export const openViews = (): readonly View[] => VIEWS.filter(isOpenTo)

/** Returns the path of a view of the present site. */
export const pathOf = ({ name }: View): string[] => viewPath(...(name === 'overview' ? [] : [name]))
