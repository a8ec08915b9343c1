import { z } from 'zod'
import { ApiError } from '../errors.js'
import type { Peer } from './app.js'
import type { Access, Grant } from './auth.js'
import { validate } from './error-response.js'

/** One call of a route, after authorisation. */
export interface Call extends Grant {
  request: Request
  /** Whose address; empty through the control socket. */
  ip: string
  /** When it came. */
  at: Date
  query: URLSearchParams
  /** Words of the path, by name. */
  params: Readonly<Record<string, string>>
}

/** One line of the route table: all that routing, authorisation and the OpenAPI document need. */
export type Route = RouteDescription & (HandlerRoute | DirectRoute)

interface HandlerRoute {
  run(call: Call): Promise<Response>
}

/** What is no part of the service's own manners: its body, its headers and its failures are its own. */
interface DirectRoute {
  /** Asked before anything else is done, whatever the method; undefined: the method is none of this route's. */
  direct(request: Request, peer: Peer): Promise<Response> | undefined
}

interface RouteDescription {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** OpenAPI's form: `/api/keys/{id}`. */
  path: string
  access: Access
  tag: string
  summary: string
  /** What a word of the path is, where it is no `Id`. */
  pathParameter?: z.ZodType
  query?: z.ZodObject
  body?: z.ZodType
  /** What `data` is on success, and what `meta` is where there is any; absent for an answer that is not the envelope. */
  data?: z.ZodType
  meta?: z.ZodType
  /** Of the success; 200 when absent. */
  status?: 200 | 201 | 202 | 204
  /** What is there already may stand against it: 409. */
  mayConflict?: true
  /** It reads its body itself, and bounds it; any other has at most 64 KB. */
  readsOwnBody?: true
  /** Request headers with which pages of any origin may call it; absent: none may, but for `cors_origins`. */
  anyOriginHeaders?: readonly string[]
  /** Of the success, where it is not JSON. */
  contentType?: string
  /** All that it answers beside the success, by status, where that is not what follows from the rest. */
  otherResponses?: Readonly<Record<number, string>>
}

export const Id = z.coerce.number().int().positive().describe('Its id.')

/** The `meta` of a list that is whole. */
export const TotalMeta = z.object({ total: z.int().describe('Rows there are.') })

/** The `id` of the path. One that cannot be an id names nothing that is there. */
export function pathId(call: Call): number {
  const id = Id.safeParse(call.params.id)
  if (!id.success) throw new ApiError('not_found', 'There is nothing here.')
  return id.data
}

/**
 * The version that `If-Match` names, of a record as `ETag` had it; undefined where it asks for none. Throws
 * `bad_request` for what is no such name.
 */
export function ifMatchVersion({ request }: Pick<Call, 'request'>): number | undefined {
  const header = request.headers.get('if-match')
  if (header === null || header.trim() === '*') return undefined
  const version = /^\s*"(\d{1,9})"\s*$/.exec(header)?.[1]
  if (version === undefined) throw new ApiError('bad_request', 'If-Match is a version as in ETag: "3".')
  return Number(version)
}

const decodeQueryPart = (word: string): string | undefined => {
  try {
    return decodeURIComponent(word.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/**
 * The query string of a call. A value of the route's own that is not percent-encoded UTF-8 is `validation_error`: what it
 * would be read as is not what was asked.
 */
export function readSearchParams({ search, searchParams }: URL, { query }: Pick<Route, 'query'>): URLSearchParams {
  for (const pair of search.slice(1).split('&')) {
    const at = pair.indexOf('=')
    const name = decodeQueryPart(at < 0 ? pair : pair.slice(0, at))
    if (name === undefined || !Object.hasOwn(query?.shape ?? {}, name)) continue
    if (decodeQueryPart(at < 0 ? '' : pair.slice(at + 1)) === undefined)
      throw new ApiError('validation_error', `${name} is not percent-encoded UTF-8.`, name)
  }
  return searchParams
}

/** The query string as `schema` has it; an unknown parameter is ignored (contract 4). */
export const parseQuery = <T extends z.ZodObject>(call: Call, schema: T): z.output<T> =>
  validate(schema, Object.fromEntries(call.query))

/** The JSON body as `schema` has it; throws `bad_request` for what is not JSON, `validation_error` for what is wrong. */
export async function parseBody<T extends z.ZodType>(call: Call, schema: T): Promise<z.output<T>> {
  const text = await call.request.text()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ApiError('bad_request', 'The body is not JSON.', undefined, { cause })
  }
  return validate(schema, value)
}

/** A record, and which version of it this is. */
export const jsonWithEtag = (record: { readonly version: number }, status: 200 | 201 = 200): Response =>
  Response.json({ data: record }, { status, headers: { etag: `"${record.version}"` } })

/** An answer in the envelope (spec 2.3). */
export const jsonResponse = (data: unknown, meta?: unknown, status: 200 | 201 | 202 = 200): Response =>
  Response.json(meta === undefined ? { data } : { data, meta }, { status })
