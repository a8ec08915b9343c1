import { z } from 'zod'
import { ApiError } from '../errors.js'
import type { Deed } from '../manage/audit.js'
import type { Collection, Owned, WithId } from '../manage/collection.js'
import { Funnel, FunnelChange, finishedFunnel, NewFunnel } from '../manage/funnels.js'
import { finishedGoal, Goal, GoalChange, NewGoal } from '../manage/goals.js'
import { finishedSegment, NewSegment, type Segment as OneSegment, Segment, SegmentChange } from '../manage/segments.js'
import type { Site, Sites } from '../manage/sites.js'
import type { Filter } from '../query/filters.js'
import { filterOf, resolve } from '../query/goals.js'
import { type Deps, readable } from '../query/read.js'
import { patternsOf } from '../query/where.js'
import { type Access, deedOf, reaches } from './auth.js'
import { check } from './error.js'
import { answer, bodyOf, type Call, Id, idOf, queryOf, type Route, Total, versioned, versionOf } from './route.js'

/** What is kept of a site to be asked about. */
export interface Managed {
  readonly sites: Pick<Sites, 'get'>
  readonly goals: Collection<Goal>
  readonly funnels: Collection<Funnel>
  readonly segments: Collection<OneSegment>
  /** Where patterns are tried before they are kept. */
  readonly store: Deps['store']
}

const OfSite = z.object({ site: Id.describe('The site.') })

/** One kind of record: its shapes, and what makes a body of the first a record. */
export interface Kind<O extends Owned, N> {
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
export function managedRoutes({ sites, goals, funnels, segments, store }: Managed): Route[] {
  const tried = (filters: readonly Filter[], field: string) => readable(patternsOf(filters), store, field)
  return [
    ...routesOf(sites, {
      ...{ name: 'goals', one: 'goal', shape: Goal, made: NewGoal, changed: GoalChange, all: goals },
      async finish(given) {
        const goal = finishedGoal(given)
        await tried([filterOf(goal)], 'match')
        return goal
      },
    }),
    ...routesOf(sites, {
      ...{ name: 'funnels', one: 'funnel', shape: Funnel, made: NewFunnel, changed: FunnelChange, all: funnels },
      async finish(given) {
        const funnel = finishedFunnel(given)
        for (const [i, step] of funnel.steps.entries()) await tried([filterOf(step)], `steps[${i}].match`)
        return funnel
      },
    }),
    ...routesOf(sites, {
      ...{ name: 'segments', one: 'segment', shape: Segment, made: NewSegment, changed: SegmentChange, all: segments },
      async finish(given) {
        const segment = finishedSegment(given)
        resolve(segment.filters, await goals.list(segment.site), 'filters')
        await tried(segment.filters, 'filters')
        return segment
      },
    }),
  ]
}

/** How the routes of a kind come to what they are about. */
export function reaching<O extends Owned>(
  sites: Pick<Sites, 'get'>,
  { one, all }: Pick<Kind<O, unknown>, 'one' | 'all'>,
) {
  const reached = async (call: Call, id: number): Promise<Site | undefined> => {
    const site = await sites.get(id)
    return site !== undefined && reaches(call, site) ? site : undefined
  }
  /** The record of the path; what lies out of reach is not there (spec 5.3). */
  const own = async (call: Call): Promise<{ record: WithId<O>; site: Site; deed: Deed }> => {
    const record = await all.get(idOf(call))
    const site = await reached(call, record.site)
    if (site) return { record, site, deed: deedOf(call, site.org) }
    throw new ApiError('not_found', `There is no such ${one}.`)
  }
  const required = async (call: Call, id: number): Promise<Deed> => {
    const site = await reached(call, id)
    if (site) return deedOf(call, site.org)
    throw new ApiError('not_found', 'There is no such site.', 'site')
  }
  return { own, required }
}

/** List, get, create, change and delete of one kind of record. */
export function routesOf<O extends Owned, N>(sites: Pick<Sites, 'get'>, kind: Kind<O, N>): Route[] {
  const { name, one, shape, made, changed, all, finish, once } = kind
  const { read, write } = kind.access ?? { read: 'manage:read', write: 'manage:write' }
  const { shown = (record) => record } = kind
  const { become = (now, change) => finish(check(made, merged(given(now, changed), change))) } = kind
  const { own, required } = reaching(sites, kind)
  const path = `/api/${name}`
  return [
    {
      ...{ method: 'get', path, access: read, tag: name },
      summary: `The ${name} of a site`,
      query: OfSite,
      data: z.array(shape),
      meta: Total,
      run: async (call) => {
        const { site } = queryOf(call, OfSite)
        await required(call, site)
        const found = await all.list(site)
        return answer(found.map(shown), { total: found.length })
      },
    },
    {
      ...{ method: 'post', path, access: write, tag: name },
      summary: `Make a ${one}`,
      body: made,
      data: once ? shape.extend(once.shape) : shape,
      status: 201,
      conflicts: true,
      run: async (call) => {
        const given = await bodyOf(call, made)
        const { site } = check(OfSite, given)
        const deed = await required(call, site)
        const record = await all.create(await finish(given), deed)
        return versioned({ ...shown(record), ...(await once?.tell(record)) }, 201)
      },
    },
    {
      ...{ method: 'get', path: `${path}/{id}`, access: read, tag: name },
      summary: `One ${one}`,
      data: shape,
      run: async (call) => versioned(shown((await own(call)).record)),
    },
    {
      ...{ method: 'patch', path: `${path}/{id}`, access: write, tag: name },
      summary: `Change a ${one}, in part`,
      body: changed,
      data: shape,
      conflicts: true,
      run: async (call) => {
        const { record, deed } = await own(call)
        const change = await bodyOf(call, changed)
        const into = (now: WithId<O>) => become(now, change)
        return versioned(shown(await all.change(record.id, into, deed, versionOf(call))))
      },
    },
    {
      ...{ method: 'delete', path: `${path}/{id}`, access: write, tag: name },
      summary: `Delete a ${one}, for good`,
      status: 204,
      run: async (call) => {
        const { record, deed } = await own(call)
        await all.delete(record.id, deed, versionOf(call))
        return new Response(null, { status: 204 })
      },
    },
  ]
}

/** A body with what is changed of it; null takes away. */
export function merged(record: object, change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...record, ...change }).filter(([, value]) => value !== null))
}

/** Of a record what somebody gave. */
const given = (now: Owned, { shape }: z.ZodObject): object =>
  Object.fromEntries(Object.entries(now).filter(([name]) => name === 'site' || Object.hasOwn(shape, name)))
