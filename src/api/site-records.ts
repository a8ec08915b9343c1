import { z } from 'zod'
import { checkPatterns } from '../analytics/query/check-patterns.js'
import { regexPatterns } from '../analytics/query/conditions.js'
import type { Filter } from '../analytics/query/filters.js'
import { goalFilter, resolveGoals } from '../analytics/query/goals.js'
import type { ReadDependencies } from '../analytics/query/prepare-read.js'
import { ApiError } from '../base/errors.js'
import type { AuditContext } from '../manage/audit.js'
import { type Collection, type SiteRecord, type WithId, withArticle } from '../manage/collection.js'
import { FunnelChange, FunnelRecord, NewFunnel, normaliseFunnel } from '../manage/funnels.js'
import { GoalChange, GoalRecord, NewGoal, normaliseGoal } from '../manage/goals.js'
import { NewSegment, normaliseSegment, Segment, SegmentChange } from '../manage/segments.js'
import type { ManagedSite, Sites } from '../manage/sites.js'
import { type Access, auditContext, canReachSite } from './auth.js'
import { requireSite } from './org-access.js'
import {
  type Call,
  ifMatchVersion,
  jsonWithEtag,
  parseBody,
  parseQuery,
  pathId,
  type Route,
  routeMaker,
  SiteQuery,
  TotalMeta,
} from './route.js'
import { validate } from './validation.js'

/** The records of a site that reads use, and the store that checks their patterns. */
export interface SiteRecords {
  readonly sites: Pick<Sites, 'get'>
  readonly goals: Collection<GoalRecord>
  readonly funnels: Collection<FunnelRecord>
  readonly segments: Collection<Segment>
  readonly store: ReadDependencies['store']
}

/** One kind of record that belongs to a site: its shapes, its collection, and how a body becomes a record. */
interface RecordKind<O extends SiteRecord, N> {
  readonly shape: z.ZodObject
  readonly newShape: z.ZodType<N>
  readonly changeShape: z.ZodObject
  readonly records: Collection<O>
  /** The access levels; `manage:read` and `manage:write` if absent. */
  readonly access?: { readonly read: Access; readonly write: Access }
  /** Further parameters of the list, and the records that they select; if absent, the list has all records of the site. */
  readonly list?: {
    readonly query: z.ZodObject
    select(all: readonly WithId<O>[], call: Call, site: ManagedSite): WithId<O>[]
  }
  /** Makes the record to store; throws `validation_error`. */
  normalise(body: N, call: Call): Promise<O>
  /** The record as the API shows it; as stored if absent. */
  present?(record: WithId<O>): { readonly version: number } | Promise<{ readonly version: number }>
  /** Applies a body of `changeShape`; if absent, `normalise` gets the record's fields with the changed ones. */
  applyChange?(current: WithId<O>, change: Readonly<Record<string, unknown>>, call: Call): Promise<O>
  /** Fields that only the response to the creation contains. */
  readonly shownOnce?: { readonly shape: z.ZodRawShape; read(record: WithId<O>): Promise<object> }
}

/** `/api/goals`, `/api/funnels` and `/api/segments`. */
export function siteRecordRoutes({ sites, goals, funnels, segments, store }: SiteRecords): Route[] {
  const tryPatterns = (filters: readonly Filter[], field: string) => checkPatterns(regexPatterns(filters), store, field)
  return [
    ...recordRoutes(sites, {
      shape: GoalRecord,
      newShape: NewGoal,
      changeShape: GoalChange,
      records: goals,
      async normalise(body) {
        const goal = normaliseGoal(body)
        await tryPatterns([goalFilter(goal)], 'match')
        return goal
      },
    }),
    ...recordRoutes(sites, {
      shape: FunnelRecord,
      newShape: NewFunnel,
      changeShape: FunnelChange,
      records: funnels,
      async normalise(body) {
        const funnel = normaliseFunnel(body)
        for (const [i, step] of funnel.steps.entries()) await tryPatterns([goalFilter(step)], `steps[${i}].match`)
        return funnel
      },
    }),
    ...recordRoutes(sites, {
      shape: Segment,
      newShape: NewSegment,
      changeShape: SegmentChange,
      records: segments,
      async normalise(body) {
        const segment = normaliseSegment(body)
        resolveGoals(segment.filters, await goals.list(segment.site), 'filters')
        await tryPatterns(segment.filters, 'filters')
        return segment
      },
    }),
  ]
}

/** Finds the record that a path names. A record of a site that the caller cannot reach is `not_found`. */
export const createRecordAccess =
  <O extends SiteRecord>(sites: Pick<Sites, 'get'>, records: Collection<O>) =>
  async (call: Call): Promise<{ record: WithId<O>; site: ManagedSite; context: AuditContext }> => {
    const record = await records.get(pathId(call))
    const site = await sites.get(record.site)
    if (site && canReachSite(call, site)) return { record, site, context: auditContext(call, site.org) }
    throw new ApiError('not_found', `There is no such ${records.label}.`)
  }

/** The routes that list, create, get, change and delete one kind of record. */
export function recordRoutes<O extends SiteRecord, N>(sites: Pick<Sites, 'get'>, kind: RecordKind<O, N>): Route[] {
  const { shape, newShape, changeShape, records, normalise, shownOnce } = kind
  const { table: name, label } = records
  const { read, write } = kind.access ?? { read: 'manage:read', write: 'manage:write' }
  const {
    list = { query: SiteQuery, select: (all) => [...all] },
    present = (record) => record,
    applyChange = (current, change, call) =>
      normalise(validate(newShape, mergeChange(changeableFields(current, changeShape), change)), call),
  } = kind
  const recordOfPath = createRecordAccess(sites, records)
  const path = `/api/${name}`
  const route = routeMaker(name)
  return [
    route('get', path, read, {
      summary: `List the ${name} of a site`,
      query: list.query,
      data: z.array(shape),
      meta: TotalMeta,
      run: async (call) => {
        const site = await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')
        return Promise.all(list.select(await records.list(site.id), call, site).map(present))
      },
    }),
    route('post', path, write, {
      summary: `Create ${withArticle(label)}`,
      body: newShape,
      data: shownOnce ? shape.extend(shownOnce.shape) : shape,
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const body = await parseBody(call, newShape)
        const site = await requireSite(call, sites, validate(SiteQuery, body).site, 'site')
        const record = await records.create(await normalise(body, call), auditContext(call, site.org))
        return jsonWithEtag({ ...(await present(record)), ...(await shownOnce?.read(record)) }, 201)
      },
    }),
    route('get', `${path}/{id}`, read, {
      summary: `Get ${withArticle(label)}`,
      data: shape,
      run: async (call) => jsonWithEtag(await present((await recordOfPath(call)).record)),
    }),
    route('patch', `${path}/{id}`, write, {
      summary: `Change fields of ${withArticle(label)}`,
      body: changeShape,
      data: shape,
      mayConflict: true,
      run: async (call) => {
        const { record, context } = await recordOfPath(call)
        const change = await parseBody(call, changeShape)
        const update = (current: WithId<O>) => applyChange(current, change, call)
        return jsonWithEtag(await present(await records.change(record.id, update, context, ifMatchVersion(call))))
      },
    }),
    route('delete', `${path}/{id}`, write, {
      summary: `Delete ${withArticle(label)}; cannot be undone`,
      status: 204,
      mayConflict: true,
      run: async (call) => {
        const { record, context } = await recordOfPath(call)
        await records.delete(record.id, context, ifMatchVersion(call))
      },
    }),
  ]
}

/** Merges a change into a record's fields; null removes a field. */
export function mergeChange(record: object, change: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...record, ...change }).filter(([, value]) => value !== null))
}

/** Returns the fields of a record that a client may set, and its site. */
export const changeableFields = (record: SiteRecord, { shape }: z.ZodObject): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name === 'site' || Object.hasOwn(shape, name)))
