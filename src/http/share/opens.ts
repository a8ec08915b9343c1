import { ApiError } from '../../errors.js'
import { reportOf } from '../../export/report.js'
import { SHARED, type Shared } from '../../manage/shares.js'

/** What is there for machines (spec 4.5) is one scope. */
const AGENTS: readonly string[] = ['agents', 'citation-gap', 'policy', 'content']
/** What reads can be asked, and nothing of the site. */
const DIMENSIONS = '/api/stats/dimensions'
const EXPORTS: readonly string[] = ['/api/stats/export.csv', '/api/stats/export.pdf']

/** The scope that a path is of; undefined: none has it. */
function scopeOf(path: string): Shared | undefined {
  const [, api, area = '', word = ''] = path.split('/')
  if (api !== 'api') return undefined
  if (area === 'stats') return SHARED.find((scope) => scope === word && scope !== 'agents')
  return AGENTS.includes(area) ? 'agents' : undefined
}

/**
 * Whether a share with these scopes opens what is asked for (spec 5.5 rule 3): the reads it names, and those as files.
 * Throws `validation_error` for a report that is none.
 */
export function opens(scopes: readonly Shared[], { pathname, searchParams }: URL): boolean {
  const has = (path: string) => scopes.some((scope) => scope === scopeOf(path))
  if (pathname === DIMENSIONS) return true
  if (!EXPORTS.includes(pathname)) return has(pathname)
  const reports = searchParams.getAll('report')
  return (reports.length === 0 ? ['overview'] : reports).every((name) => has(reportOf(name).read.path))
}

/**
 * Throws `forbidden` for a dimension that would tell people apart: by whom the site says they are never, by what events
 * carry only where events are shown.
 */
export function mayAskBy(scopes: readonly Shared[], dimension: string, field: string): void {
  if (dimension === 'identified_id') throw new ApiError('forbidden', 'A link does not tell who somebody is.', field)
  if (dimension.startsWith('prop:') && !scopes.includes('events'))
    throw new ApiError('forbidden', 'This link does not show what events carry.', field)
}
