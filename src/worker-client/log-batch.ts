import { z } from 'zod'

/** A list of numbers, checked as a whole: zod's check of each one took as long as reading the JSON. */
const numbers = z.custom<number[]>((list) => Array.isArray(list) && list.every((one) => typeof one === 'number'))
const numbersOrNull = z.custom<(number | null)[]>(
  (list) => Array.isArray(list) && list.every((one) => one === null || typeof one === 'number'),
)

/**
 * Lines as they are sent: a list for each field, which is a third shorter than objects, and each text once, because most
 * lines repeat those of others. Lists of texts have places in `texts`; no text stands at a place beyond its end.
 */
export const LineBatch = z
  .object({
    texts: z.array(z.string()),
    /** Milliseconds since 1970. */
    time: numbers,
    address: numbers,
    /** The empty text if the log has none, as for `type`. */
    host: numbers,
    method: numbers,
    /** Path and query as requested. */
    target: numbers,
    status: numbers,
    bytes: numbersOrNull,
    duration_ms: numbersOrNull,
    referrer: numbers,
    user_agent: numbers,
    type: numbers,
    /** 1 if the response was a page, else 0. */
    page: numbers,
    /** The number of the log: a line that two logs have is one request, a line that one has twice is two. */
    log: numbers,
    /** Headers of the request, by the line's place in the lists. */
    headers: z.record(z.string(), z.record(z.string(), z.string())),
  })
  .refine(
    ({ texts: _, headers: __, ...lists }) => Object.values(lists).every(({ length }) => length === lists.time.length),
    'All lists of a batch must have one length.',
  )
export type LineBatch = z.infer<typeof LineBatch>

/** One line of a log on its way from the command that reads it to the worker that stores it. */
export interface ImportedLine {
  time: number
  address: string
  host: string
  method: string
  target: string
  status: number
  bytes: number | null
  duration_ms: number | null
  referrer: string
  user_agent: string
  type: string
  page: boolean
  headers: Record<string, string> | null
  log: number
}

/** Collects lines to a batch. */
export function createBatch() {
  const batch: LineBatch = {
    texts: [],
    time: [],
    address: [],
    host: [],
    method: [],
    target: [],
    status: [],
    bytes: [],
    duration_ms: [],
    referrer: [],
    user_agent: [],
    type: [],
    page: [],
    log: [],
    headers: {},
  }
  const places = new Map<string, number>()
  const placeOf = (text: string): number => {
    let place = places.get(text)
    if (place === undefined) {
      place = batch.texts.push(text) - 1
      places.set(text, place)
    }
    return place
  }
  return {
    batch,
    /** Plain pushes: this runs for each line of a log. */
    add(line: ImportedLine): void {
      if (line.headers !== null) batch.headers[batch.time.length] = line.headers
      batch.time.push(line.time)
      batch.address.push(placeOf(line.address))
      batch.host.push(placeOf(line.host))
      batch.method.push(placeOf(line.method))
      batch.target.push(placeOf(line.target))
      batch.status.push(line.status)
      batch.bytes.push(line.bytes)
      batch.duration_ms.push(line.duration_ms)
      batch.referrer.push(placeOf(line.referrer))
      batch.user_agent.push(placeOf(line.user_agent))
      batch.type.push(placeOf(line.type))
      batch.page.push(line.page ? 1 : 0)
      batch.log.push(line.log)
    },
  }
}

/** Returns the line at a place of a batch. */
export function lineAt(batch: LineBatch, n: number): ImportedLine {
  const { texts } = batch
  const textOf = (places: readonly number[]): string => texts[places[n] ?? -1] ?? ''
  return {
    time: batch.time[n] ?? 0,
    address: textOf(batch.address),
    host: textOf(batch.host),
    method: textOf(batch.method),
    target: textOf(batch.target),
    status: batch.status[n] ?? 0,
    bytes: batch.bytes[n] ?? null,
    duration_ms: batch.duration_ms[n] ?? null,
    referrer: textOf(batch.referrer),
    user_agent: textOf(batch.user_agent),
    type: textOf(batch.type),
    page: batch.page[n] === 1,
    headers: batch.headers[n] ?? null,
    log: batch.log[n] ?? 0,
  }
}

/** Numbers of rows that an import has stored so far, and of lines that it has not. */
export const ImportCounts = z.object({
  human: z.int().describe('Rows of people.'),
  agent: z.int().describe('Rows of agents.'),
  known: z.int().describe('Requests that were stored before, by an import or as they happened.'),
  other_hosts: z.int().describe('Requests of hostnames that are not the site’s.'),
  dropped: z.int().describe('Requests of people that are not pageviews by the site’s settings.'),
  own_salts: z.boolean().describe('Whether visitors got ids that recorded ones do not have.'),
})
export type ImportCounts = z.infer<typeof ImportCounts>

/** Whether no line that was read is a request: each is broken, as with a format that is not the log's. */
export const hasNoRequest = (
  { broken, not_pages }: { broken: number; not_pages: number },
  { human, agent, known, other_hosts, dropped }: ImportCounts,
): boolean => broken > 0 && not_pages + human + agent + known + other_hosts + dropped === 0

/** How an import treats its lines. */
export const ImportOptions = z.object({
  /** Stores nothing. */
  dry_run: z.boolean(),
  /** Verifies agents by the addresses that operators publish at present, and by reverse DNS. */
  verify_now: z.boolean(),
  /** The hostname of lines without one. */
  host: z.string(),
  /** A robots.txt and since when it was served, in milliseconds since 1970. */
  robots: z.object({ body: z.string(), since: z.number() }).nullable(),
})
export type ImportOptions = z.infer<typeof ImportOptions>
