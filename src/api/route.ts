import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { Access, Grant } from './auth.js'
import { validate } from './validation.js'

/** The sender of a request: its address, for rate limits, and whether it came through the control socket. */
export interface Peer {
  ip: string
  operator: boolean
}

/** One authorised call of a route. */
export interface Call extends Grant {
  request: Request
  /** The client's address; empty through the control socket. */
  ip: string
  /** When the request arrived. */
  at: Date
  query: URLSearchParams
  /** The path parameters by name. */
  params: Readonly<Record<string, string>>
  /** Sends a further request of the same sender through the route table. */
  dispatch(request: Request): Promise<Response>
}

/** One entry of the route table: all that routing, authorisation and the OpenAPI document need. */
export type Route = RouteDescription & (HandlerRoute | DirectRoute)

interface HandlerRoute {
  /** Returns the `data` of the response; or a whole response, if `toResponse` cannot build it. */
  run(call: Call): Promise<unknown>
}

/** A route that writes its own headers and errors, and for which the body limit and CORS of the service do not apply. */
interface DirectRoute {
  /** Called for every method before anything else; returns undefined if the method is not one of this route's. */
  direct(request: Request, peer: Peer): Promise<Response> | undefined
}

interface RouteDescription {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** In OpenAPI's form: `/api/keys/{id}`. */
  path: string
  access: Access
  tag: string
  summary: string
  /** The type of the path parameters; `Id` if absent. */
  pathParameter?: z.ZodType
  query?: z.ZodObject
  body?: z.ZodType
  /** The media type of a body that is a file, and its beginning. */
  fileBody?: { type: string; example: string }
  /** The types of `data` and `meta` on success; absent for a response that does not use the envelope. */
  data?: z.ZodType
  meta?: z.ZodType
  /** The status of a success; 200 if absent. */
  status?: 200 | 201 | 202 | 204
  /** An existing record may prevent the change: 409. */
  mayConflict?: true
  /** The route reads its body itself and bounds it; every other body is limited to 64 KB. */
  readsOwnBody?: true
  /** The most bytes of the body; 64 KB if absent. */
  maxBodyBytes?: number
  /** Request headers that pages of any origin may send; if absent, only pages of `cors_origins` may call the route. */
  anyOriginHeaders?: readonly string[]
  /** Pages of any site may show the response as an image. */
  isImageForAnySite?: true
  /** The media type of a success that is not JSON. */
  contentType?: string
  /** Every response other than the success, by status, if it does not follow from the rest of the entry. */
  otherResponses?: Readonly<Record<number, string>>
}

/** An entry with a handler, which is every entry except the track endpoints. */
export type RouteWithHandler = RouteDescription & HandlerRoute

/** Returns a function that makes entries of the route table; `tag` groups them in the API document. */
export const routeMaker =
  (tag: string) =>
  (
    method: RouteDescription['method'],
    path: string,
    access: Access,
    details: Omit<RouteWithHandler, 'method' | 'path' | 'access' | 'tag'>,
  ): RouteWithHandler => ({ method, path, access, tag, ...details })

export const Id = z.coerce.number().int().positive().describe('The id.')

/** The query `?site=`. */
export const SiteQuery = z.object({ site: Id.describe('The site.') })

/** The `meta` of a list without pages. */
export const TotalMeta = z.object({ total: z.int().describe('Number of rows.') })

/** Reads a path parameter as an id. Text that cannot be an id is `not_found`. */
export function pathId({ params }: Call, name = 'id', message = 'Not found.'): number {
  const id = Id.safeParse(params[name])
  if (!id.success) throw new ApiError('not_found', message)
  return id.data
}

/**
 * Reads the version that `If-Match` names, as `ETag` gave it; undefined if the header is absent or `*`. Throws
 * `bad_request` for any other form.
 */
export function ifMatchVersion({ request }: Pick<Call, 'request'>): number | undefined {
  const header = request.headers.get('if-match')
  if (header === null || header.trim() === '*') return undefined
  const version = /^\s*"(\d{1,9})"\s*$/.exec(header)?.[1]
  if (version === undefined) throw new ApiError('bad_request', 'If-Match must be a version as in ETag, such as "3".')
  return Number(version)
}

const decodeQueryPart = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/**
 * Reads the query string. Throws `validation_error` if a parameter of the route is not percent-encoded UTF-8: a lenient
 * reading would be a different value from the one that was meant.
 */
export function readSearchParams({ search, searchParams }: URL, { query }: Pick<Route, 'query'>): URLSearchParams {
  for (const pair of search.slice(1).split('&')) {
    const at = pair.indexOf('=')
    const name = decodeQueryPart(at < 0 ? pair : pair.slice(0, at))
    if (name === undefined || !Object.hasOwn(query?.shape ?? {}, name)) continue
    if (decodeQueryPart(at < 0 ? '' : pair.slice(at + 1)) === undefined)
      throw new ApiError('validation_error', `${name} must be percent-encoded UTF-8.`, name)
  }
  return searchParams
}

/** Parses the query string by `schema`; unknown parameters are ignored. */
export const parseQuery = <T extends z.ZodObject>(call: Call, schema: T): z.output<T> =>
  validate(schema, Object.fromEntries(call.query))

/** Parses text as JSON; throws `bad_request` if it is not JSON. */
export function parseJsonBody(text: () => string): unknown {
  try {
    return JSON.parse(text())
  } catch (cause) {
    throw new ApiError('bad_request', 'The body is not JSON.', undefined, { cause })
  }
}

/** Parses the JSON body by `schema`; throws `bad_request` if it is not JSON, `validation_error` if a field is wrong. */
export async function parseBody<T extends z.ZodType>(call: Call, schema: T): Promise<z.output<T>> {
  const text = await call.request.text()
  return validate(
    schema,
    parseJsonBody(() => text),
  )
}

/** Whether the request declares a JSON body. */
export const hasJsonType = ({ headers }: Request): boolean =>
  /^application\/json *(;|$)/i.test(headers.get('content-type') ?? '')

/** Responds with `data` and `meta` in the envelope. */
export const jsonResponse = (data: unknown, meta?: unknown, status: 200 | 201 | 202 = 200): Response =>
  Response.json(meta === undefined ? { data } : { data, meta }, { status })

/** Responds with a record, and its version as `ETag`. */
export const jsonWithEtag = (record: { readonly version: number }, status: 200 | 201 = 200): Response =>
  Response.json({ data: record }, { status, headers: { etag: `"${record.version}"` } })

/** Builds a route's response: `data` in the envelope, with the route's status, and for a list its length as `meta.total`. */
export function toResponse({ status = 200, meta }: Pick<Route, 'status' | 'meta'>, data: unknown): Response {
  if (data instanceof Response) return data
  if (status === 204) return new Response(null, { status })
  return jsonResponse(data, meta === TotalMeta && Array.isArray(data) ? { total: data.length } : undefined, status)
}
