import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { presentAuthor } from '../manage/author.js'
import { SiteId } from '../manage/fields.js'
import type { RobotsTexts } from '../manage/robots-texts.js'
import type { Sites } from '../manage/sites.js'
import type { Users } from '../manage/users.js'
import { auditContext } from './auth.js'
import { requireSite } from './org-access.js'
import type { RehearseText } from './rehearsal/text.js'
import { MAX_TEXT_BODY_BYTES } from './rehearsal/text-shape.js'
import { type Call, parseBody, parseQuery, type Route, routeMaker, SiteQuery } from './route.js'

/** Agents read 500 KiB. */
const MAX_TEXT_BYTES = 500 * 1024
/** Characters of the texts in one answer. The newest version always has its text. */
const MAX_ANSWER_CHARS = 1 << 20

const Published = z
  .strictObject({
    site: SiteId,
    text: z
      .string()
      .refine((text) => Buffer.byteLength(text) <= MAX_TEXT_BYTES, 'Agents read at most 500 KiB of robots.txt.')
      .optional()
      .describe('A new version.'),
    version: z.int().positive().optional().describe('Instead of `text`: a version that is served again.'),
    disallow_search_engines: z
      .boolean()
      .default(false)
      .describe('The owner knows that the text newly disallows search engines, and wants it.'),
  })
  .refine(({ text, version }) => (text === undefined) !== (version === undefined), {
    error: 'Either `text` or `version` is required.',
    path: ['text'],
  })
const Versions = z.object({
  is_managed: z.boolean().describe('Whether readership serves robots.txt in place of the origin.'),
  versions: z.array(
    z.object({
      id: z.int(),
      is_served: z.boolean(),
      created_at: z.iso.datetime(),
      created_by: z.string(),
      text: z.string().optional().describe('Absent beyond 1 MiB in one answer.'),
    }),
  ),
})

interface RobotsTextDeps {
  readonly sites: Pick<Sites, 'get'>
  readonly users: Pick<Users, 'get'>
  readonly robotsTexts: RobotsTexts
  readonly rehearseText: RehearseText
}

/** `/api/robots-texts`: the robots.txt that readership serves for a site, with its versions. */
export function robotsTextRoutes({ sites, users, robotsTexts, rehearseText }: RobotsTextDeps): Route[] {
  const route = routeMaker('policy')
  const present = async (site: number): Promise<z.output<typeof Versions>> => {
    const served = await robotsTexts.servedId(site)
    let left = MAX_ANSWER_CHARS
    const versions = []
    for (const { id, text, created_at, created_by } of await robotsTexts.list(site)) {
      left -= text.length
      versions.push({
        id,
        is_served: id === served,
        created_at: created_at.toISOString(),
        created_by: await presentAuthor(created_by, users),
        ...((left >= 0 || versions.length === 0) && { text }),
      })
    }
    return { is_managed: served !== undefined, versions }
  }
  /** Refuses a text that takes a site out of search by accident. */
  const checkSearchEngines = async (site: number, text: string, call: Call): Promise<void> => {
    const { data } = await rehearseText({ site, text, range: '30d' }, call)
    if (data.search_engines.length === 0) return
    const names = data.search_engines.slice(0, 5).map(({ name }) => name)
    throw new ApiError(
      'validation_error',
      `This text newly disallows search engines: ${names.join(', ')}. Set disallow_search_engines if you want that.`,
      'disallow_search_engines',
    )
  }
  return [
    route('get', '/api/robots-texts', 'manage:read', {
      summary: 'List the versions of the robots.txt that readership serves, or served, for a site',
      query: SiteQuery,
      data: Versions,
      run: async (call) => present((await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')).id),
    }),
    route('post', '/api/robots-texts', 'admin', {
      summary: 'Publish a robots.txt, or an earlier version of it: readership serves it in place of the origin',
      body: Published,
      maxBodyBytes: MAX_TEXT_BODY_BYTES,
      data: Versions,
      status: 201,
      run: async (call) => {
        const { site, text, version, disallow_search_engines } = await parseBody(call, Published)
        const { id, org } = await requireSite(call, sites, site, 'site')
        const audit = auditContext(call, org)
        const tried = text ?? (await robotsTexts.textOf(id, version ?? 0))
        if (!disallow_search_engines) await checkSearchEngines(id, tried, call)
        if (version !== undefined) await robotsTexts.rollBack(id, version, audit)
        else await robotsTexts.publish(id, tried, audit)
        return present(id)
      },
    }),
    route('delete', '/api/robots-texts', 'admin', {
      summary: 'Let the origin serve its robots.txt again; the versions are kept',
      query: SiteQuery,
      status: 204,
      run: async (call) => {
        const { id, org } = await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')
        await robotsTexts.switchOff(id, auditContext(call, org))
      },
    }),
  ]
}
