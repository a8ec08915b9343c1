import { ApiError } from '../../errors.js'
import { findReport } from '../../export/report-names.js'
import { SHARE_SCOPES, type ShareScope } from '../../manage/shares.js'

/** What is there for machines (spec 4.5) is one scope. */
const AGENT_PATHS: readonly string[] = ['agents', 'citation-gap', 'policy', 'content']
/** What reads can be asked, and nothing of the site. */
const DIMENSIONS_PATH = '/api/stats/dimensions'
const EXPORT_PATHS: readonly string[] = ['/api/stats/export.csv', '/api/stats/export.pdf']

/** The scope that a path is of; undefined: none has it. */
function scopeOf(path: string): ShareScope | undefined {
  const [, api, area = '', word = ''] = path.split('/')
  if (api !== 'api') return undefined
  if (area === 'stats') return SHARE_SCOPES.find((scope) => scope === word && scope !== 'agents')
  return AGENT_PATHS.includes(area) ? 'agents' : undefined
}

/**
 * Whether a share with these scopes opens what is asked for (spec 5.5 rule 3): the reads it names, and those as files.
 * Throws `validation_error` for a report that is none.
 */
export function scopesAllow(scopes: readonly ShareScope[], { pathname, searchParams }: URL): boolean {
  const has = (path: string) => scopes.some((scope) => scope === scopeOf(path))
  if (pathname === DIMENSIONS_PATH) return true
  if (!EXPORT_PATHS.includes(pathname)) return has(pathname)
  const reports = searchParams.getAll('report')
  return (reports.length === 0 ? ['overview'] : reports).every((name) => has(findReport(name).read.path))
}

/**
 * Throws `forbidden` for a dimension that would tell people apart: by whom the site says they are never, by what events
 * carry only where events are shown.
 */
export function assertDimension(scopes: readonly ShareScope[], dimension: string, field: string): void {
  if (dimension === 'identified_id') throw new ApiError('forbidden', 'A link does not tell who somebody is.', field)
  if (dimension.startsWith('prop:') && !scopes.includes('events'))
    throw new ApiError('forbidden', 'This link does not show what events carry.', field)
}
