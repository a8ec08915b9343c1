import { z } from 'zod'
import { ApiError } from '../errors.js'
import type { AuditContext } from '../manage/audit.js'
import type { Collection, SiteRecord, WithId } from '../manage/collection.js'
import { Funnel, FunnelChange, NewFunnel, normaliseFunnel } from '../manage/funnels.js'
import { Goal, GoalChange, NewGoal, normaliseGoal } from '../manage/goals.js'
import { NewSegment, normaliseSegment, type Segment as OneSegment, Segment, SegmentChange } from '../manage/segments.js'
import type { Site, Sites } from '../manage/sites.js'
import { regexPatterns } from '../query/conditions.js'
import type { Filter } from '../query/filters.js'
import { goalFilter, resolveGoals } from '../query/goals.js'
import { checkPatterns, type ReadDependencies } from '../query/read.js'
import { type Access, auditContext, canReachSite } from './auth.js'
import { validate } from './error-response.js'
import {
  type Call,
  Id,
  ifMatchVersion,
  jsonResponse,
  jsonWithEtag,
  parseBody,
  parseQuery,
  pathId,
  type Route,
  TotalMeta,
} from './route.js'

/** What is kept of a site to be asked about. */
export interface SiteRecords {
  readonly sites: Pick<Sites, 'get'>
  readonly goals: Collection<Goal>
  readonly funnels: Collection<Funnel>
  readonly segments: Collection<OneSegment>
  /** Where patterns are tried before they are kept. */
  readonly store: ReadDependencies['store']
}

const SiteQuery = z.object({ site: Id.describe('The site.') })

/** One kind of record: its shapes, and what makes a body of the first a record. */
export interface RecordKind<O extends SiteRecord, N> {
  readonly name: string
  readonly one: string
  readonly shape: z.ZodObject
  readonly made: z.ZodType<N>
  readonly changed: z.ZodObject
  readonly all: Collection<O>
  /** Who may ask for it, and who may write it; scopes of keys where absent. */
  readonly access?: { readonly read: Access; readonly write: Access }
  /** Throws `validation_error`. */
  finish(given: N): Promise<O>
  /** As the API shows it; as it is kept where absent. */
  shown?(record: WithId<O>): { readonly version: number }
  /** What a body of `changed` makes of it; what `finish` does of its parts together where absent. */
  become?(now: WithId<O>, change: Readonly<Record<string, unknown>>): Promise<O>
  /** What is told beside a record where it is made, and never again. */
  readonly once?: { readonly shape: z.ZodRawShape; tell(record: WithId<O>): Promise<object> }
}

/** `/api/goals`, `/api/funnels` and `/api/segments` (contract 7): list, get, create, change, delete. */
export function siteRecordRoutes({ sites, goals, funnels, segments, store }: SiteRecords): Route[] {
  const tried = (filters: readonly Filter[], field: string) => checkPatterns(regexPatterns(filters), store, field)
  return [
    ...recordRoutes(sites, {
      ...{ name: 'goals', one: 'goal', shape: Goal, made: NewGoal, changed: GoalChange, all: goals },
      async finish(given) {
        const goal = normaliseGoal(given)
        await tried([goalFilter(goal)], 'match')
        return goal
      },
    }),
    ...recordRoutes(sites, {
      ...{ name: 'funnels', one: 'funnel', shape: Funnel, made: NewFunnel, changed: FunnelChange, all: funnels },
      async finish(given) {
        const funnel = normaliseFunnel(given)
        for (const [i, step] of funnel.steps.entries()) await tried([goalFilter(step)], `steps[${i}].match`)
        return funnel
      },
    }),
    ...recordRoutes(sites, {
      ...{ name: 'segments', one: 'segment', shape: Segment, made: NewSegment, changed: SegmentChange, all: segments },
      async finish(given) {
        const segment = normaliseSegment(given)
        resolveGoals(segment.filters, await goals.list(segment.site), 'filters')
        await tried(segment.filters, 'filters')
        return segment
      },
    }),
  ]
}

/** How the routes of a kind come to what they are about. */
export function createRecordAccess<O extends SiteRecord>(
  sites: Pick<Sites, 'get'>,
  { one, all }: Pick<RecordKind<O, unknown>, 'one' | 'all'>,
) {
  const reached = async (call: Call, id: number): Promise<Site | undefined> => {
    const site = await sites.get(id)
    return site !== undefined && canReachSite(call, site) ? site : undefined
  }
  /** The record of the path; what lies out of reach is not there (spec 5.3). */
  const own = async (call: Call): Promise<{ record: WithId<O>; site: Site; deed: AuditContext }> => {
    const record = await all.get(pathId(call))
    const site = await reached(call, record.site)
    if (site) return { record, site, deed: auditContext(call, site.org) }
    throw new ApiError('not_found', `There is no such ${one}.`)
  }
  const required = async (call: Call, id: number): Promise<AuditContext> => {
    const site = await reached(call, id)
    if (site) return auditContext(call, site.org)
    throw new ApiError('not_found', 'There is no such site.', 'site')
  }
  return { own, required }
}

/** List, get, create, change and delete of one kind of record. */
export function recordRoutes<O extends SiteRecord, N>(sites: Pick<Sites, 'get'>, kind: RecordKind<O, N>): Route[] {
  const { name, one, shape, made, changed, all, finish, once } = kind
  const { read, write } = kind.access ?? { read: 'manage:read', write: 'manage:write' }
  const { shown = (record) => record } = kind
  const { become = (now, change) => finish(validate(made, mergeChange(writableFields(now, changed), change))) } = kind
  const { own, required } = createRecordAccess(sites, kind)
  const path = `/api/${name}`
  return [
    {
      ...{ method: 'get', path, access: read, tag: name },
      summary: `The ${name} of a site`,
      query: SiteQuery,
      data: z.array(shape),
      meta: TotalMeta,
      run: async (call) => {
        const { site } = parseQuery(call, SiteQuery)
        await required(call, site)
        const found = await all.list(site)
        return jsonResponse(found.map(shown), { total: found.length })
      },
    },
    {
      ...{ method: 'post', path, access: write, tag: name },
      summary: `Make a ${one}`,
      body: made,
      data: once ? shape.extend(once.shape) : shape,
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const given = await parseBody(call, made)
        const { site } = validate(SiteQuery, given)
        const deed = await required(call, site)
        const record = await all.create(await finish(given), deed)
        return jsonWithEtag({ ...shown(record), ...(await once?.tell(record)) }, 201)
      },
    },
    {
      ...{ method: 'get', path: `${path}/{id}`, access: read, tag: name },
      summary: `One ${one}`,
      data: shape,
      run: async (call) => jsonWithEtag(shown((await own(call)).record)),
    },
    {
      ...{ method: 'patch', path: `${path}/{id}`, access: write, tag: name },
      summary: `Change a ${one}, in part`,
      body: changed,
      data: shape,
      mayConflict: true,
      run: async (call) => {
        const { record, deed } = await own(call)
        const change = await parseBody(call, changed)
        const into = (now: WithId<O>) => become(now, change)
        return jsonWithEtag(shown(await all.change(record.id, into, deed, ifMatchVersion(call))))
      },
    },
    {
      ...{ method: 'delete', path: `${path}/{id}`, access: write, tag: name },
      summary: `Delete a ${one}, for good`,
      status: 204,
      run: async (call) => {
        const { record, deed } = await own(call)
        await all.delete(record.id, deed, ifMatchVersion(call))
        return new Response(null, { status: 204 })
      },
    },
  ]
}

/** A body with what is changed of it; null takes away. */
export function mergeChange(record: object, change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...record, ...change }).filter(([, value]) => value !== null))
}

/** Of a record what somebody gave. */
const writableFields = (now: SiteRecord, { shape }: z.ZodObject): object =>
  Object.fromEntries(Object.entries(now).filter(([name]) => name === 'site' || Object.hasOwn(shape, name)))
