import type { Agent, Catalog } from '../../agents/catalog.js'
import { createIdentify, UNKNOWN_AGENT } from '../../agents/identify.js'
import type { Policy } from '../../agents/policy/policy.js'
import { memoize } from '../../base/cache.js'
import { detachedCopy, MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import { parseCampaign } from '../../capture/campaign.js'
import { type DataPaths, isDelivered, type PathKind } from '../../capture/request-kind.js'
import { createLineReader } from '../../capture/response-type.js'
import { attributeVisit } from '../../capture/sources/channel.js'
import { parseReferrer } from '../../capture/sources/referrer.js'
import { sourceOfReferrer } from '../../capture/sources/source.js'
import type { LogEntry } from '../access-logs/log-format.js'
import { type AgentTally, addResponse, createAgentTallies } from './agent-tally.js'
import type { LogReport, ReadFile } from './report.js'
import { createSeries } from './series.js'
import { createTopCounter } from './top-counter.js'
import { createTrafficTally, type ReadReferrer } from './traffic-tally.js'
import { createVisitorTable, hashText } from './visitor-table.js'

export interface TallyOptions {
  catalog: Pick<Catalog, 'agents'>
  /** The robots.txt that requests are judged by, with its name. */
  robots?: { policy: Policy; source: string } | undefined
  /** Counts only the requests of this hostname; a line without one is not of it. */
  host?: string | undefined
  /** The paths of data; absent: the default ones. */
  isData?: DataPaths | undefined
  /** Returns the ISO code of the country of an address; absent: countries are not counted. */
  locate?: ((address: string) => string | undefined) | undefined
  /** Lists the addresses with most requests. */
  addresses?: boolean | undefined
  /** IANA name of the zone of the time line. */
  tz: string
}

/** Lists of the report have at most so many entries; agents and operators are all listed. */
const LIST_LENGTH = 100
const MAX_PATHS = 200_000
const MAX_ERRORS = 50_000
const MAX_CLIENTS = 50_000
/** An error names the agents that met it, the first ones. */
const MAX_NAMED_AGENTS = 4
/** Errors of these are not news: they look for holes, or are anyone's script. */
const NO_ERRORS_OF = new Set<Agent['purpose']>(['security', 'library', 'headless', 'other'])

interface PathCounts {
  count: number
  pageviews: number
  requests: number
  assistants: number
  arrivals: number
  /** Requests of people for it as an asset, with their bytes. */
  assets: number
  assetBytes: number
  bytes: number
}

export type Tally = ReturnType<typeof createTally>

/** Creates the counts of a report. Memory is bounded, but for 23 to 45 bytes a visitor. Long because a line is added to many counts. */
export function createTally(options: TallyOptions) {
  const { catalog, robots, host, isData, tz } = options
  const readReferrer = createReferrerReader()
  const counts = { ...createCounts(robots?.policy), traffic: createTrafficTally({ ...options, readReferrer }) }
  const { traffic } = counts
  const { tallies, visitors, series, paths, errors, unnamed, assistants, unknown, people, lines } = counts
  const readClient = createClientReader(catalog, tallies)
  const readAssistant = createAssistantReader(readReferrer)
  const kindOf = createLineReader(isData)
  let arrivals = 0
  let [first, last] = [Infinity, -Infinity]

  const addAgent = (tally: AgentTally, entry: LogEntry, pathname: string, kind: PathKind) => {
    const { status, timestamp, target } = entry
    addResponse(tally, status, entry.bytes ?? 0)
    if (timestamp < tally.first) tally.first = timestamp
    if (timestamp > tally.last) tally.last = timestamp
    series.at(timestamp).requests++
    tallies.judge(tally, target, pathname)
    if (tally.info === UNKNOWN_AGENT) unnamed.add(truncate(entry.userAgent, MAX_CHARACTERS.user_agent))
    const path = paths.add(pathname)
    path.requests++
    path.bytes += entry.bytes ?? 0
    const { purpose } = tally.info
    if (purpose === 'assistant' && isDelivered(status)) {
      if (kind !== 'asset' && pathname !== '/robots.txt') path.assistants++
    }
    if (status < 400 || NO_ERRORS_OF.has(purpose)) return
    const { agents } = errors.add(`${status} ${pathname}`)
    if (agents.size < MAX_NAMED_AGENTS) agents.add(tally.info.name)
  }

  const addPerson = (seed: number, entry: LogEntry, pathname: string, query: string, kind: PathKind) => {
    people.requests++
    people.bytes += entry.bytes ?? 0
    const path = paths.add(pathname)
    path.bytes += entry.bytes ?? 0
    if (kind === 'file') return
    if (kind === 'data') {
      if (entry.method === 'GET' && isDelivered(entry.status)) people.data_requests++
      return
    }
    const visitor = hashText(entry.address, seed)
    if (kind === 'asset') {
      path.assets++
      path.assetBytes += entry.bytes ?? 0
      traffic.addAsset(entry)
      return visitors.addAsset(visitor)
    }
    if (entry.method !== 'GET' || !isDelivered(entry.status)) return
    people.pageviews++
    path.pageviews++
    traffic.addPageview(entry)
    visitors.addPageview(visitor, Math.floor(entry.timestamp / 1000))
    series.at(entry.timestamp).pageviews++
    const assistant = readAssistant(entry.referrer, query)
    if (assistant === undefined) return
    path.arrivals++
    arrivals++
    assistants.add(assistant)
  }

  return {
    /** Adds what a parser returned for one line, of a log that has user agents or lacks them. */
    add(entry: LogEntry | 'skip' | undefined, lacksUserAgents = false): void {
      lines.read++
      if (entry === undefined) lines.broken++
      else if (entry === 'skip') lines.skipped++
      else if (host !== undefined && entry.host !== host) lines.other_hosts++
      else {
        const { timestamp, target } = entry
        if (timestamp < first) first = timestamp
        if (timestamp > last) last = timestamp
        const mark = target.indexOf('?')
        const pathname = truncate(mark < 0 ? target : target.slice(0, mark), MAX_CHARACTERS.pathname)
        if (lacksUserAgents) {
          unknown.add(entry, pathname)
          return
        }
        const { tally, seed } = readClient(entry.userAgent)
        // Asked of every line, because what a 304 confirmed is what the lines before it say.
        const kind = kindOf(entry)
        traffic.addResponse(entry, pathname, tally !== undefined)
        if (tally) addAgent(tally, entry, pathname, kind)
        else addPerson(seed, entry, pathname, mark < 0 ? '' : target.slice(mark + 1), kind)
      }
    },
    /** Returns the report of all lines that were added. */
    finish: (files: readonly ReadFile[]) => toReport(counts, { files, arrivals, first, last, tz, robots }),
  }
}

/** Creates what a report counts, but for the times and the arrivals. */
const createCounts = (policy: Policy | undefined) => ({
  tallies: createAgentTallies(policy),
  visitors: createVisitorTable(),
  series: createSeries(),
  paths: createTopCounter<PathCounts>(MAX_PATHS, () => ({
    count: 0,
    pageviews: 0,
    requests: 0,
    assistants: 0,
    arrivals: 0,
    assets: 0,
    assetBytes: 0,
    bytes: 0,
  })),
  errors: createTopCounter(MAX_ERRORS, () => ({ count: 0, agents: new Set<string>() })),
  unnamed: createTopCounter(MAX_CLIENTS, () => ({ count: 0 })),
  assistants: createTopCounter(MAX_CLIENTS, () => ({ count: 0 })),
  unknown: createUnknownReaders(),
  people: { requests: 0, bytes: 0, pageviews: 0, data_requests: 0 },
  lines: { read: 0, broken: 0, skipped: 0, other_hosts: 0 },
})

/** Creates a function that finds the agent of a user agent, and the seed of its visitors. */
function createClientReader(catalog: TallyOptions['catalog'], tallies: ReturnType<typeof createAgentTallies>) {
  const identify = createIdentify(catalog)
  let clients = new Map<string, { tally: AgentTally | undefined; seed: number }>()
  return (text: string) => {
    // As long as in the store: 50,000 of 8 KB each would be 400 MB.
    const userAgent = truncate(text, MAX_CHARACTERS.user_agent)
    const known = clients.get(userAgent)
    if (known !== undefined) return known
    if (clients.size >= MAX_CLIENTS) clients = new Map()
    const agent = identify(userAgent)
    const client = { tally: agent && tallies.tallyOf(agent, userAgent), seed: hashText(userAgent) }
    clients.set(detachedCopy(userAgent), client)
    return client
  }
}

interface ReportFrame extends Pick<TallyOptions, 'robots' | 'tz'> {
  files: readonly ReadFile[]
  arrivals: number
  /** The first and the last line, in milliseconds since 1970. */
  first: number
  last: number
}

type Counts = ReturnType<typeof createCounts> & { traffic: ReturnType<typeof createTrafficTally> }

function toReport(counts: Counts, frame: ReportFrame): LogReport {
  const { tallies, visitors, series, paths, errors, unnamed, assistants, unknown, people, lines, traffic } = counts
  const { files, arrivals, first, last, tz, robots } = frame
  const { withoutAssets, ...counted } = visitors.totals()
  const unknown_readers = unknown.finish()
  const top = (measure: (counts: PathCounts) => number) => paths.top(LIST_LENGTH, measure)
  return {
    files,
    lines: { ...lines },
    window: last < first ? null : { start: new Date(first).toISOString(), end: new Date(last).toISOString() },
    tz,
    people: { ...people, ...counted, without_assets: withoutAssets },
    ...(unknown_readers && { unknown_readers }),
    ...tallies.finish(),
    series: series.finish(first, last, tz),
    ...(robots && { robots: tallies.robotsReport(robots.source) }),
    errors: errors.top(LIST_LENGTH).map(([text, { count, agents }]) => {
      const [status = '', ...pathname] = text.split(' ')
      return { status: Number(status), pathname: pathname.join(' '), requests: count, agents: [...agents] }
    }),
    read_by_assistants: top(({ assistants }) => assistants).map(([pathname, { assistants: requests }]) => ({
      pathname,
      requests,
    })),
    arrivals: {
      pageviews: arrivals,
      assistants: assistants.top(LIST_LENGTH).map(([name, { count }]) => ({ name, pageviews: count })),
      pages: top(({ arrivals }) => arrivals).map(([pathname, { arrivals: pageviews }]) => ({
        pathname,
        pageviews,
      })),
    },
    pages: top(({ pageviews }) => pageviews).map(([pathname, { pageviews, requests }]) => ({
      pathname,
      pageviews,
      requests,
    })),
    ...traffic.finish(),
    hours: series.hours(tz),
    bandwidth: top(({ bytes }) => bytes).map(([pathname, { bytes, count }]) => ({ pathname, bytes, requests: count })),
    assets: top(({ assets }) => assets).map(([pathname, { assets, assetBytes }]) => ({
      pathname,
      requests: assets,
      bytes: assetBytes,
    })),
    unnamed: unnamed.top(LIST_LENGTH).map(([user_agent, { count }]) => ({ user_agent, requests: count })),
    lists_complete:
      unknown.isComplete() &&
      traffic.isComplete() &&
      [paths, errors, unnamed, assistants].every(({ isComplete }) => isComplete),
  }
}

const MAX_CACHED_REFERRERS = 8192

/** Creates a function that reads a referrer, for all who ask about it. */
const createReferrerReader = () =>
  memoize(MAX_CACHED_REFERRERS, (text): ReadReferrer => {
    const referrer = parseReferrer(text)
    return { referrer, source: referrer && sourceOfReferrer(referrer) }
  })

/** Creates a function that names the AI assistant that a pageview came from, by referrer and campaign; undefined if none. */
function createAssistantReader(
  readReferrer: (header: string) => ReadReferrer,
): (referrer: string, query: string) => string | undefined {
  return (text, query) => {
    const referrer = text === '' ? undefined : readReferrer(text).source
    // Nearly all pageviews have neither an assistant's referrer nor a campaign.
    if (query === '' && referrer?.category !== 'ai') return undefined
    const campaign = parseCampaign(query)
    const { channel, assistant } = attributeVisit(campaign, referrer)
    // A medium alone may say that it was an assistant, without a name.
    return assistant?.name ?? (channel === 'AI Assistants' ? (campaign.utm_medium ?? '') : undefined)
  }
}

/** Creates the counts of logs without user agents: people and agents cannot be told apart, so no number is either's. */
function createUnknownReaders() {
  const paths = createTopCounter(MAX_PATHS, () => ({ count: 0 }))
  const statuses = new Map<number, number>()
  const addresses = createVisitorTable()
  let requests = 0
  let bytes = 0
  return {
    add({ address, status, bytes: sent = 0, timestamp }: LogEntry, pathname: string): void {
      requests++
      bytes += sent
      paths.add(pathname)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      addresses.addPageview(hashText(address, 0), Math.floor(timestamp / 1000))
    },
    isComplete: () => paths.isComplete,
    /** Returns the counts; undefined without a request. */
    finish(): LogReport['unknown_readers'] {
      if (requests === 0) return undefined
      return {
        requests,
        bytes,
        addresses: addresses.totals().visitors,
        paths: paths.top(LIST_LENGTH).map(([pathname, { count }]) => ({ pathname, requests: count })),
        statuses: [...statuses]
          .map(([status, requests]) => ({ status, requests }))
          .sort((a, b) => b.requests - a.requests || a.status - b.status),
      }
    },
  }
}
