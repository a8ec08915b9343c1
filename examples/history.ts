import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createDice, type Dice } from './dice.js'
import { CROWDS, disguisedShareOn, gapOf, paceOn, pagesOn, WAVES } from './past-events.js'
import { policyChangeOf } from './past-records.js'
import type { AgentVisitor } from './visitors.js'
import { createVisits, type Step, TRACK, type Visit } from './visits.js'

const DAY_MS = 86_400_000

/** How much history the demo writes: visits are those of an average day. */
export interface HistorySize {
  days: number
  people: number
  agents: number
}

interface HistoryOptions extends HistorySize {
  random: () => number
  /** The address that visitors use. */
  base: string
  /** The site itself, which is asked once for each path: the history has its statuses and types. */
  origin: string
  pages: readonly string[]
  tracked: boolean
  /** End of the history, in milliseconds since 1970. */
  until: number
}

/** A row as `POST /api/log/edge` takes it, and the list that it belongs to. */
interface Entry {
  at: number
  list: 'events' | 'agent_events' | 'hits'
  row: Record<string, unknown>
}

/** The share of a day's visits by its weekday, from Sunday. */
const WEEKDAYS = [0.7, 1.1, 1.2, 1.15, 1.1, 1, 0.75]
/** Crawlers read the changed robots.txt this long after the change. */
const POLICY_CACHE_MS = 9 * 3_600_000

/** Returns the midnight (UTC) with which a history of so many days begins. */
export const historyStart = (until: number, days: number): number => (Math.floor(until / DAY_MS) - days + 1) * DAY_MS

/** Makes the rows of past days, in the order of their times, from the same visitors as those of the running demo. */
export async function createHistory(options: HistoryOptions): Promise<Entry[]> {
  const { random, days, until } = options
  const { hostname } = new URL(options.base)
  const dice = createDice(random)
  const visits = createVisits(random, options)
  const responses = createResponses(options.origin)
  const entries: Entry[] = []
  const ruleKnown = policyChangeOf(until) + POLICY_CACHE_MS
  const gap = gapOf(until)
  const addAgent = (day: number, visitor?: AgentVisitor, { from, hours } = { from: 0, hours: 24 }) => {
    const hour = from + hours * random()
    return add(visits.agent(visitor, day + hour * 3_600_000 < ruleKnown), day, hour)
  }
  const add = async (visit: Visit, day: number, hour: number) => {
    let at = day + hour * 3_600_000
    for (const step of visit.steps) {
      at += step.wait
      const entry =
        at < until && (at < gap.start || at >= gap.end)
          ? await toEntry(step, visit, at, hostname, responses, dice)
          : undefined
      if (entry) entries.push(entry)
    }
  }
  // From a midnight (UTC), so that each day of the past is whole.
  for (let ago = days - 1; ago >= 0; ago--) {
    const day = historyStart(until, ago + 1)
    const growth = 1.25 - (0.5 * ago) / days
    const noise = 0.9 + 0.2 * random()
    const people = options.people * (WEEKDAYS[new Date(day).getUTCDay()] ?? 1) * growth * noise
    const past = { pages: pagesOn(ago, options.pages), pace: paceOn(ago) }
    for (let i = 0; i < people; i++) await add(visits.person(past), day, hourOfPerson(random))
    for (const { share, ...arrival } of CROWDS.filter(({ daysAgo }) => daysAgo === ago))
      for (let i = 0; i < share * options.people; i++)
        await add(visits.person({ ...past, arrival }), day, hourOfPerson(random))
    for (let i = 0; i < people * disguisedShareOn(ago); i++) await add(visits.disguised(), day, 24 * random())
    for (let i = 0; i < options.agents * growth * noise; i++) await addAgent(day)
    for (const { visitor, share, ...time } of WAVES.filter(({ daysAgo }) => daysAgo === ago))
      for (let i = 0; i < share * options.agents; i++) await addAgent(day, visitor, time)
  }
  return entries.sort((a, b) => a.at - b.at)
}

/** Draws an hour of the day: few people come at night, most in the afternoon (UTC). */
function hourOfPerson(random: () => number): number {
  for (;;) {
    const hour = 24 * random()
    if (random() < 0.55 - 0.45 * Math.cos(((hour - 3.5) / 24) * 2 * Math.PI)) return hour
  }
}

interface Response {
  status: number
  type: string
  bytes: number
}
type Responses = (path: string) => Promise<Response>

/** Asks the site once for each path. */
function createResponses(origin: string): Responses {
  const answers = new Map<string, Promise<Response>>()
  const ask = async (path: string): Promise<Response> => {
    const response = await fetch(origin + path)
    const bytes = (await response.arrayBuffer()).byteLength
    return { status: response.status, type: response.headers.get('content-type') ?? '', bytes }
  }
  return (path) => {
    const response = answers.get(path) ?? ask(path)
    answers.set(path, response)
    return response
  }
}

/** Makes the row of one step; undefined for assets of pages, which are not rows. */
async function toEntry(
  step: Step,
  { isDisguised }: Visit,
  at: number,
  hostname: string,
  responses: Responses,
  dice: Dice,
): Promise<Entry | undefined> {
  const { 'x-forwarded-for': ip = '', 'user-agent': user_agent = '', referer: referrer, ...headers } = step.headers
  const common = { timestamp: new Date(at).toISOString(), user_agent, ip, headers }
  if (step.path === TRACK) return { at, list: 'hits', row: { ...common, payload: JSON.parse(step.body ?? '') } }
  const isPerson = 'sec-fetch-dest' in headers || isDisguised
  if (isPerson && !isDisguised && (headers['sec-fetch-dest'] !== 'document' || step.method !== 'GET')) return undefined
  const [pathname = '', query] = step.path.split('?')
  const { status, type, bytes } = await responses(pathname)
  const page = { ...common, hostname, pathname, query, referrer, status, duration_ms: dice.pause(9) }
  if (isPerson) return { at, list: 'events', row: page }
  const sent = step.method === 'HEAD' ? 0 : bytes
  return { at, list: 'agent_events', row: { ...page, method: step.method, bytes: sent, content_type: type } }
}

/** Rows in one delivery: the endpoint takes 500 of each list, and 2 MB. */
const DELIVERY_ROWS = 500

/**
 * Delivers the rows as another server would, one request after the other, and tells the share that is stored. `key` is
 * an API key with the scope `ingest:write`. Throws if the service refuses.
 */
export async function deliverHistory(
  entries: readonly Entry[],
  { admin, key, progress }: { admin: string; key: string; progress(share: number): void },
): Promise<void> {
  for (let from = 0; from < entries.length; from += DELIVERY_ROWS) {
    const body: Record<string, unknown> & Record<Entry['list'], Entry['row'][]> = {
      site_id: 1,
      events: [],
      agent_events: [],
      hits: [],
    }
    for (const { list, row } of entries.slice(from, from + DELIVERY_ROWS)) body[list].push(row)
    await request(`${admin}/api/log/edge`, key, 'POST', body)
    progress(Math.min(1, (from + DELIVERY_ROWS) / entries.length))
  }
}

const Refusal = z.object({ error: z.object({ message: z.string() }) })

/** Requests that are refused for the moment are sent again so often: a busy machine may hold the store up for a minute. */
const MAX_ATTEMPTS = 60

/** Sends one request to the API, and again while the service asks to wait: the same rows are stored once. */
export async function request(url: string, key: string, method: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const send = () => fetch(url, { method, headers, body: JSON.stringify(body) })
  let response = await send()
  for (let attempt = 1; attempt < MAX_ATTEMPTS && [429, 503].includes(response.status); attempt++) {
    await response.body?.cancel()
    await sleep(Number(response.headers.get('retry-after') ?? 1) * 1000)
    response = await send()
  }
  if (response.ok) return
  const refusal = Refusal.safeParse(await response.json().catch(() => undefined))
  throw new Error(refusal.success ? refusal.data.error.message : `${url}: status ${response.status}`)
}
