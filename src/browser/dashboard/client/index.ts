import createClient, { type Client, type ClientOptions } from 'openapi-fetch'
import type { paths } from './schema.js'

export type { paths } from './schema.js'

/** The typed client of the API: `client.GET('/api/stats/overview', { params: { query: { site: 1 } } })`. */
export type ReadershipClient = Client<paths>

/** Paths that answer GET with JSON. */
export type ReadPath = {
  [P in keyof paths]: paths[P] extends { get: { responses: { 200: { content: { 'application/json': unknown } } } } }
    ? P
    : never
}[keyof paths]

type Get<P extends ReadPath> = paths[P] extends { get: infer G } ? G : never
type Success<P extends ReadPath> =
  Get<P> extends {
    responses: { 200: { content: { 'application/json': infer Body } } }
  }
    ? Body
    : never

/** The `data` of a read's response. */
export type DataOf<P extends ReadPath> = Success<P> extends { data: infer D } ? D : never
/** The `meta` of a read's response. */
export type MetaOf<P extends ReadPath> = Success<P> extends { meta?: infer M } ? M : undefined
/** The query parameters of a read. */
export type QueryOf<P extends ReadPath> = Get<P> extends { parameters: { query?: infer Q } } ? Q : never

/**
 * Makes a client. `baseUrl` is the address of the service (`https://analytics.example`, or a site's own
 * `https://site.example/_readership`), `key` an API key; without one the browser's session counts. Calls resolve to
 * `{ data, error, response }` and reject only if no response came. Throws a `TypeError` of one line without a `baseUrl`.
 */
export function createReadershipClient({
  baseUrl,
  key,
  ...options
}: ClientOptions & { baseUrl: string; key?: string }): ReadershipClient {
  if (typeof baseUrl !== 'string')
    throw new TypeError('readership: baseUrl is missing: write the service’s URL, such as https://stats.example.com')
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return createClient<paths>({ baseUrl: baseUrl.replace(/\/$/, ''), headers, ...options })
}
