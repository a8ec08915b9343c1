import type { paths } from '../client/index.js'
import { root } from './address.js'
import { request } from './client.js'
import { siteQuery } from './question.js'

/** The lists of records that belong to a site. */
export type RecordList =
  | '/api/alerts'
  | '/api/annotations'
  | '/api/flags'
  | '/api/funnels'
  | '/api/goals'
  | '/api/redirects'
  | '/api/reports'
  | '/api/rules'
  | '/api/segments'
  | '/api/shares'

type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer B } } } ? B : never
type CreatedBy<O> = O extends { responses: { 201: { content: { 'application/json': { data: infer D } } } } } ? D : never

export type CreatedOf<L extends RecordList> = CreatedBy<paths[L]['post']>
/** A change of a record; null takes a field away. */
export type ChangeOf<L extends RecordList> = BodyOf<paths[`${L}/{id}`]['patch']>
type Whole<New, Change> = {
  [K in keyof New as Exclude<K, 'site'>]: New[K] | (K extends keyof Change ? Extract<Change[K], null> : never)
}
/** The fields of a record in a form. */
export type InputOf<L extends RecordList> = Whole<BodyOf<paths[L]['post']>, ChangeOf<L>>

/** A record of a list; with a version, a change of another member in the meantime is a 409. */
interface Known {
  id: number
  version?: number | undefined
}

/** Sends a request about records and returns its data. Throws a `Problem`. */
async function ask(method: string, path: string, version?: number, body?: unknown): Promise<unknown> {
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(version === undefined ? {} : { 'if-match': `"${version}"` }),
  }
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  return Object(await request(`${root.href.replace(/\/$/, '')}${path}`, { method, headers, ...content })).data
}

/** Creates a record of the site on screen. It has no fields to take away, so null is left out. */
export async function create<L extends RecordList>(list: L, input: InputOf<L>): Promise<CreatedOf<L>> {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
  return (await ask('POST', list, undefined, { site: siteQuery.value.site ?? 0, ...given })) as CreatedOf<L>
}

/** Stores all of a record; returns it if it is new. */
export async function store<L extends RecordList>(
  list: L,
  input: InputOf<L>,
  known: Known | undefined,
): Promise<CreatedOf<L> | undefined> {
  if (known === undefined) return create(list, input)
  await ask('PATCH', `${list}/${known.id}`, known.version, input)
  return undefined
}

export const change = <L extends RecordList>(list: L, { id, version }: Known, changes: ChangeOf<L>): Promise<unknown> =>
  ask('PATCH', `${list}/${id}`, version, changes)

export const remove = (list: RecordList, { id, version }: Known): Promise<unknown> =>
  ask('DELETE', `${list}/${id}`, version)

/** Sends a message as an alert or a report would; returns whether all of it can go out: e-mail needs a mail server. */
export async function sendTest(list: RecordList, id: number): Promise<boolean> {
  const body = Object(await request(`${root.href.replace(/\/$/, '')}${list}/${id}/test`, { method: 'POST' }))
  const { warnings = [] }: { warnings?: { code: string }[] } = body.meta ?? {}
  return warnings.every(({ code }) => code !== 'no_mail_server')
}

/** Asks for a record as it is now. */
export const load = async <R>(list: RecordList | '/api/sites', id: number): Promise<R> =>
  (await ask('GET', `${list}/${id}`)) as R
