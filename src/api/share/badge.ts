import { html } from 'hono/html'
import { z } from 'zod'
import { type ReadDependencies, runRead } from '../../analytics/query/prepare-read.js'
import overview from '../../analytics/reads/stats/overview.js'
import { ApiError } from '../../base/errors.js'
import { SHARE_SCOPES, type ShareScope } from '../../manage/shares.js'
import { type Route, routeMaker } from '../route.js'
import type { ShareAccess, ShareGrant } from './access.js'

/** How long a badge is cached, here and by its readers. */
const LIFETIME_S = 900
/** The width of a letter at 11 px; `textLength` fits the text to the sum. */
const LETTER_PX = 6.1

const Counts = z.object({ visitors: z.int().optional(), agents: z.int().optional() })

interface BadgeDeps {
  access: Pick<ShareAccess, 'look' | 'authenticate'>
  /** Returns the reads as a share link's reader has them. */
  readsOf(share: ShareGrant): ReadDependencies
  now(): Date
}

/** GET /api/share/{slug}/badge.svg: an image that says how many people and agents read the site this month. */
export function badgeRoute({ access, readsOf, now }: BadgeDeps): Route {
  const cache = new Map<string, { until: number; badge: Promise<string> }>()
  const notFound = () => new ApiError('not_found', 'This link does not exist, or has no badge.')
  const draw = async (slug: string): Promise<string> => {
    const grant = await access.authenticate(slug)
    const text = await describeReaders(grant, readsOf(grant))
    if (text === undefined) throw notFound()
    return String(drawBadge(text))
  }
  return routeMaker('shares')('get', '/api/share/{slug}/badge.svg', 'public', {
    summary: 'Image for other sites: how many people and agents read the site this month, at most 15 minutes old',
    pathParameter: z.string().describe('The slug of the link.'),
    contentType: 'image/svg+xml',
    isImageForAnySite: true,
    otherResponses: { 404: 'This link does not exist, or has no badge.' },
    async run({ params: { slug = '' } }) {
      const { share } = await access.look(slug)
      if (!share.badge || share.password) throw notFound()
      // A change of the link, such as other filters, makes another image.
      const key = `${share.id} ${share.version}`
      const time = now().getTime()
      for (const [other, { until }] of cache) if (until <= time) cache.delete(other)
      const cached = cache.get(key) ?? { until: time + LIFETIME_S * 1_000, badge: draw(slug) }
      cache.set(key, cached)
      const badge = await cached.badge.catch((error: unknown) => {
        cache.delete(key)
        throw error
      })
      return new Response(badge, {
        headers: { 'content-type': 'image/svg+xml; charset=utf-8', 'cache-control': `public, max-age=${LIFETIME_S}` },
      })
    },
  })
}

/** The audiences that the badge of a link with these scopes counts. */
export const badgeAudiences = (scopes: readonly ShareScope[]): readonly ('human' | 'agent')[] => {
  if (scopes.includes('overview')) return ['human', 'agent']
  return scopes.includes('agents') ? ['agent'] : []
}

/** The sentence of the badge, as far as the link's scopes and filters let it say anything; otherwise undefined. */
async function describeReaders(grant: ShareGrant, deps: ReadDependencies): Promise<string | undefined> {
  const count = async (audience: 'human' | 'agent') => {
    try {
      const query = new URLSearchParams({ site: String(grant.site), range: 'mtd', audience })
      return Counts.parse((await runRead(overview, query, deps)).data)
    } catch (error) {
      // A filter of the link names a dimension that this audience does not have.
      if (error instanceof ApiError && error.code === 'validation_error') return {}
      throw error
    }
  }
  const counted = badgeAudiences(SHARE_SCOPES.filter((scope) => grant.includes(scope)))
  const { visitors } = counted.includes('human') ? await count('human') : {}
  const { agents } = counted.includes('agent') ? await count('agent') : {}
  const parts = [
    ...(visitors === undefined ? [] : [formatCount(visitors, 'person', 'people')]),
    ...(agents === undefined ? [] : [formatCount(agents, 'agent', 'agents')]),
  ]
  return parts.length === 0 ? undefined : `read by ${parts.join(' and ')} this month`
}

const formatCount = (n: number, one: string, many: string): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`

function drawBadge(text: string) {
  const length = Math.round(text.length * LETTER_PX)
  const width = length + 20
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="24" viewBox="0 0 ${width} 24" role="img" aria-labelledby="t"><title id="t">${text}</title>
<style>@media(prefers-color-scheme:dark){rect{fill:#17181b;stroke:#2c2e33}text{fill:#ecebe6}}</style>
<rect x=".5" y=".5" width="${width - 1}" height="23" rx="4" fill="#fffefb" stroke="#e3e1da"/>
<text x="10" y="16" textLength="${length}" fill="#1c1d20" font-family="ui-sans-serif,system-ui,sans-serif" font-size="11">${text}</text></svg>
`
}
