import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { withoutWww } from '../capture/site.js'
import { canonicalPath } from '../rules/redirect.js'
import { ActiveRedirect } from '../rules/rule-set.js'
import type { Records } from '../storage/store.js'
import { AuthorColumn } from './author.js'
import { createCollection, type WithId } from './collection.js'
import { recordFields, SiteId } from './fields.js'
import type { Dependent } from './table-cache.js'

/** As long as the paths that rows keep. */
const MAX_CHARACTERS = 2_000
const Status = ActiveRedirect.shape.status.describe('301 and 308 are permanent; 307 and 308 keep the method.')

/** Text without control characters, and without half a surrogate pair, which no URL can have. */
const plain = (what: string) =>
  z
    .string()
    .min(1, `${what} is required.`)
    .max(MAX_CHARACTERS, `${what} has at most ${MAX_CHARACTERS} characters.`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, `${what} must not contain control characters.`)

const From = plain('A path')
  .regex(/^\/[^?#]*$/, '`from` is a path that begins with a slash, without a query.')
  .describe('The whole path of the missing page, without a query.')
  .meta({ example: '/tides/today' })
const To = plain('A target')
  .describe('A path of the site, or a whole http(s) URL; its query replaces that of the request.')
  .meta({ example: '/tides' })
const shape = { from: From, to: To, status: Status }

/** A redirect as the API shows it. */
export const RedirectView = z.object({
  ...recordFields,
  ...shape,
  created_at: z.iso.datetime(),
  created_by: z.string().describe('An e-mail address, the prefix of an API key, `operator`, or `deleted account`.'),
})
export const NewRedirect = z.strictObject({ site: SiteId, ...shape, status: Status.default(301) })
export const RedirectChange = z.strictObject(shape).partial()

const StoredRedirect = z.object({
  ...recordFields,
  name: z.string(),
  target: z.string(),
  status: Status,
  created_at: z.date(),
  created_by: AuthorColumn,
})
/** A redirect as it is stored: `name` is the path. */
export type Redirect = Omit<z.infer<typeof StoredRedirect>, 'id' | 'version'>

/** The redirects of all sites; `dependents` are invalidated after each write. */
export const createRedirects = (records: Records, ...dependents: readonly Dependent[]) =>
  createCollection<Redirect>(
    records,
    {
      table: 'redirects',
      label: 'redirect',
      nameField: 'from',
      maxPerSite: 1_000,
      stored: StoredRedirect,
      columns: ['target', 'status', 'created_at', 'created_by'],
    },
    ...dependents,
  )

export const toActive = ({ name, target, status }: Redirect): ActiveRedirect => ({ from: name, to: target, status })

/** Base of a path's URL: a name that no site has. */
const NO_HOST = 'http://readership.invalid'

/**
 * Returns path and target as they are stored. Throws `validation_error` with the field: for a target that a browser reads
 * as another host, and for one that leads back to the path, by itself or through the site's other redirects.
 */
export function normaliseRedirect(
  { from, to }: { from: string; to: string },
  { others, domains }: { others: readonly WithId<Redirect>[]; domains: readonly string[] },
): { name: string; target: string } {
  const name = canonicalPath(from)
  const target = readTarget(to)
  const next = new Map(others.map((other) => [other.name, other.target]))
  next.set(name, target)
  const seen = new Set<string>()
  for (let at: string | undefined = name; at !== undefined && !seen.has(at); ) {
    seen.add(at)
    const step: string | undefined = next.get(at)
    at = step === undefined ? undefined : pathOnSite(step, domains)
    if (at === name) throw new ApiError('validation_error', loopMessage(seen.size > 1), 'to')
  }
  return { name, target }
}

const loopMessage = (isThroughOthers: boolean): string =>
  isThroughOthers ? 'Other redirects lead from this target back to the path.' : 'A page cannot be redirected to itself.'

function readTarget(to: string): string {
  const refuse = () =>
    new ApiError('validation_error', '`to` is a path that begins with one slash, or a whole http(s) URL.', 'to')
  const isPath = to.startsWith('/')
  if (!isPath && !/^https?:\/\/[^/\\]/i.test(to)) throw refuse()
  if (!URL.canParse(to, NO_HOST)) throw refuse()
  const url = new URL(to, NO_HOST)
  if (url.username !== '' || url.password !== '') throw refuse()
  if (!isPath) return url.href
  if (url.origin !== NO_HOST || url.pathname.startsWith('//')) throw refuse()
  return url.href.slice(NO_HOST.length)
}

/** Returns the path of a target on the site; undefined for one elsewhere. A site without domains has every hostname. */
function pathOnSite(target: string, domains: readonly string[]): string | undefined {
  const url = new URL(target, NO_HOST)
  const isOwn =
    target.startsWith('/') ||
    domains.length === 0 ||
    domains.some((domain) => withoutWww(domain) === withoutWww(url.hostname))
  return isOwn ? canonicalPath(url.pathname) : undefined
}
