import { z } from 'zod'
import { countSectionPages, fittingPages } from '../analytics/query/found-sections.js'
import type { ReadDependencies } from '../analytics/query/prepare-read.js'
import { SectionPattern } from '../analytics/query/section-pattern.js'
import type { Sites } from '../manage/sites.js'
import { requireSite } from './org-access.js'
import { parseQuery, pathId, type Route, routeMaker } from './route.js'

const SectionsQuery = z.object({
  pattern: SectionPattern.optional()
    .describe('A pattern that is not stored: the answer says which pages it fits.')
    .meta({ example: '/blog/2026/*' }),
})

const pages = z.int().describe('Pages that people or agents read in the last 90 days.')

const SiteSections = z.object({
  sections: z
    .array(
      z.object({
        pattern: z.string(),
        origin: z.enum(['written', 'found']).describe("By the site's owner, or in the site's paths."),
        pages,
      }),
    )
    .describe('In the order in which they are tried; the first that fits a page decides.'),
  outside: z.int().describe('Pages that no pattern fits.'),
  fits: z
    .object({
      pattern: z.string().describe('The pattern as it would be stored.'),
      pages,
      taken: z.int().describe('Pages of these that a written section takes before it, if it is added as the last.'),
      examples: z.array(z.string()).describe('The pages of these that were read most, at most five.'),
    })
    .optional()
    .describe('Present with `pattern`.'),
})

type SectionDeps = Required<Pick<ReadDependencies, 'foundSections'>> &
  Pick<ReadDependencies, 'store' | 'now'> & { sites: Pick<Sites, 'get'> }

/** The sections of a site as they are in effect, and what a further pattern would fit. */
export const sectionRoutes = ({ sites, store, now, foundSections }: SectionDeps): Route[] => [
  routeMaker('sites')('get', '/api/sites/{id}/sections', 'manage:read', {
    summary: 'List the sections of a site, written and found, and say which pages a pattern fits',
    query: SectionsQuery,
    data: SiteSections,
    run: async (call) => {
      const { pattern } = parseQuery(call, SectionsQuery)
      const { id, sections: written = [] } = await requireSite(call, sites, pathId(call))
      const at = now()
      const asked = { store, site: id, now: at }
      const { pages, outside } = await countSectionPages(asked, written, await foundSections(id, at))
      const fits = pattern === undefined ? undefined : await fittingPages(asked, written, pattern)
      return { sections: pages, outside, ...(fits ? { fits } : {}) }
    },
  }),
]
