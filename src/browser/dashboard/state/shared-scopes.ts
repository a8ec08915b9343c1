import { signal } from '@preact/signals'

/** The name of the share link through which the page is read, and the reads that it opens; undefined until it is unlocked. */
export const share = signal<{ name: string; scopes: readonly string[] } | undefined>(undefined)

/** The areas of the API that the scope `agents` opens. */
const AGENT_AREAS = new Set(['agents', 'citation-gap', 'policy', 'content'])

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
