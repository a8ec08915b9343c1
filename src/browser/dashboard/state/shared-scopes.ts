import { signal } from '@preact/signals'
import type { DataOf } from '../client/index.js'

/** A right that a share link may give. */
export type Scope = DataOf<'/api/shares'>[number]['scopes'][number]

/** The name of the share link through which the page is read, and the reads that it opens; undefined until it is unlocked. */
export const share = signal<{ name: string; scopes: readonly string[] } | undefined>(undefined)

/** The areas of the API that the scope `agents` opens. */
const AGENT_AREAS = new Set(['agents', 'answers', 'citation-gap', 'editions', 'blank-pages', 'policy', 'content'])

/**
 * Whether the reader may ask a path of the API: through a share link only the reads of its scopes. The service decides;
 * this only spares requests that it would refuse.
 */
export function isReadable(path: string): boolean {
  if (share.value === undefined) return true
  const [, , area = '', name = ''] = path.split('/')
  const scope = area === 'stats' ? name : AGENT_AREAS.has(area) ? 'agents' : undefined
  return scope !== undefined && (scope === 'dimensions' || share.value.scopes.includes(scope))
}

/** The scope of a share link that opens each view; no share link opens the others. */
export const VIEW_SCOPES: Readonly<Record<string, Scope>> = {
  ...{ overview: 'overview', changes: 'changes', live: 'realtime', pages: 'pages', sources: 'sources' },
  ...{ places: 'locations', devices: 'devices', events: 'events', goals: 'goals', funnels: 'funnel' },
  ...{ journeys: 'journeys', hours: 'hours', retention: 'retention', performance: 'performance', errors: 'errors' },
  ...{
    agents: 'agents',
    coverage: 'agents',
    'citation-gap': 'agents',
    answers: 'agents',
    policy: 'agents',
    violations: 'agents',
  },
  ...{ decay: 'agents', catalog: 'agents', formats: 'agents', editions: 'agents', 'blank-pages': 'agents' },
}

/** Whether the reader may open a view: through a share link only those of its scopes. */
export function isOpenView(name: string): boolean {
  const scope = VIEW_SCOPES[name]
  return share.value === undefined || (scope !== undefined && share.value.scopes.includes(scope))
}

/** Whether the reader may open a path, such as `share/SLUG/pages`. */
export const isOpenPath = ([, , name = 'overview']: readonly string[]): boolean => isOpenView(name)
