import { useEffect, useRef, useState } from 'preact/hooks'
import { type isFilter, place } from '../../state/address.js'
import { type Problem, request } from '../../state/client.js'
import { leaves } from '../../state/filters.js'

/** One row of the feed: what a person did, or what an agent fetched. Fields that are unknown or not shown are absent. */
export interface FeedRow {
  /** Counts up, so that rows keep their elements. */
  id: number
  audience: 'human' | 'agent'
  t: string
  pathname: string
  kind?: string
  event_name?: string
  status?: number
  duration_ms?: number
  country?: string
  browser?: string
  source?: string
  channel?: string
  agent_id?: string
  operator?: string
  verification?: string
  verified?: boolean
  rule?: string
  line?: number
  severity?: string
}

const TEXTS = [
  'kind',
  'event_name',
  'country',
  'browser',
  'source',
  'channel',
  'agent_id',
  'operator',
  'verification',
  'rule',
  'severity',
] as const
const NUMBERS = ['status', 'duration_ms', 'line'] as const

let lastId = 0

/** Reads a row of the stream; undefined if it is not one. */
function readRow(json: string): FeedRow | undefined {
  const value: unknown = JSON.parse(json)
  if (typeof value !== 'object' || value === null) return undefined
  const field = (name: string): unknown => Reflect.get(value, name)
  const [audience, t, pathname] = [field('audience'), field('t'), field('pathname')]
  if (audience !== 'human' && audience !== 'agent') return undefined
  if (typeof t !== 'string' || typeof pathname !== 'string') return undefined
  lastId += 1
  const row: FeedRow = { id: lastId, audience, t, pathname }
  for (const name of TEXTS) {
    const text = field(name)
    if (typeof text === 'string') row[name] = text
  }
  const verified = field('verified')
  if (typeof verified === 'boolean') row.verified = verified
  for (const name of NUMBERS) {
    const number = field(name)
    if (typeof number === 'number') row[name] = number
  }
  return row
}

/** `lost`: the browser tries again by itself. `refused`: the server said no, and `problem` says why. */
type Connection = 'connecting' | 'open' | 'lost' | 'refused'

interface Feed {
  connection: Connection
  problem?: Problem
  /** Newest first, at most `MAX_ROWS`. */
  rows: readonly FeedRow[]
  /** Rows that came while the view was open, without the recent ones at its start. */
  total: number
  /** Rows that the server left out because this reader is slow. */
  missed: number
  /** The rows on screen while the feed is paused, and `total` at that moment. */
  held?: { rows: readonly FeedRow[]; total: number }
}

const MAX_ROWS = 100
const RETRY_MS = 5_000
const NOTHING: Feed = { connection: 'connecting', rows: [], total: 0, missed: 0 }

function add(feed: Feed, batch: readonly FeedRow[], restarted: boolean): Feed {
  const newest = feed.rows[0]?.t
  // A connection begins with the recent rows: they replace the list, and count only if they are new.
  const fresh = restarted ? (newest === undefined ? 0 : batch.filter(({ t }) => t > newest).length) : batch.length
  const rows = [...batch.toReversed(), ...(restarted ? [] : feed.rows)].slice(0, MAX_ROWS)
  return { ...feed, rows, total: feed.total + fresh }
}

/**
 * Follows the stream of rows at an address while the page is visible. Rows are drawn once per frame, however many come.
 * `address` undefined: nothing is followed.
 */
export function useFeed(address: string | undefined) {
  const [feed, setFeed] = useState<Feed>(NOTHING)
  const [turn, setTurn] = useState(0)
  const isFirst = useRef(true)
  useEffect(() => {
    setFeed((old) => ({ ...NOTHING, ...(isFirst.current ? {} : { held: old.held }) }))
    isFirst.current = false
    return address === undefined ? undefined : follow(address, setFeed)
  }, [address, turn])
  const setPaused = (paused: boolean) =>
    setFeed(({ held: _, ...now }) => (paused ? { ...now, held: { rows: now.rows, total: now.total } } : now))
  return { ...feed, setPaused, retry: () => setTurn((n) => n + 1) }
}

function follow(address: string, setFeed: (change: (feed: Feed) => Feed) => void): () => void {
  let source: EventSource | undefined
  let batch: FeedRow[] = []
  let frame = 0
  let restarted = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const connection = (now: Connection, problem?: Problem) =>
    setFeed(({ problem: _, ...feed }) => ({ ...feed, connection: now, ...(problem ? { problem } : {}) }))
  const draw = () => {
    const [rows, isRestart] = [batch, restarted]
    frame = 0
    batch = []
    restarted = false
    setFeed((feed) => add(feed, rows, isRestart))
  }
  const stop = () => {
    source?.close()
    clearTimeout(timer)
    cancelAnimationFrame(frame)
    frame = 0
    batch = []
  }
  const start = () => {
    stop()
    if (document.hidden) return
    const opened = new EventSource(address)
    source = opened
    opened.onopen = () => {
      batch = []
      restarted = true
      connection('open')
    }
    opened.addEventListener('row', ({ data }: MessageEvent<string>) => {
      const row = readRow(data)
      if (!row) return
      batch.push(row)
      frame ||= requestAnimationFrame(draw)
    })
    opened.addEventListener('missed', ({ data }: MessageEvent<string>) => {
      const rows: unknown = Reflect.get(Object(JSON.parse(data)), 'rows')
      if (typeof rows === 'number') setFeed((feed) => ({ ...feed, missed: feed.missed + rows }))
    })
    opened.onerror = () => {
      if (opened.readyState !== EventSource.CLOSED) return connection('lost')
      void reason(address).then((problem) => {
        if (source !== opened) return
        const passes = problem === undefined || problem.status === 0 || problem.status >= 429
        connection(passes ? 'lost' : 'refused', problem)
        if (passes && !document.hidden) timer = setTimeout(start, RETRY_MS)
      })
    }
  }
  start()
  document.addEventListener('visibilitychange', start)
  return () => {
    document.removeEventListener('visibilitychange', start)
    stop()
    source = undefined
  }
}

/** Asks without following why a stream was refused, because an event source shows no status. */
const reason = (address: string): Promise<Problem | undefined> =>
  request(`${address}&n=0&follow=0`).then(
    () => undefined,
    (problem: Problem) => problem,
  )

/** Filters that look at more than one row, which a feed of single rows cannot follow. */
const isOfSession = (node: Parameters<typeof isFilter>[0]): boolean =>
  /"has_(?:not_)?done":/.test(JSON.stringify(node)) ||
  leaves(node).some(
    ({ dimension, op }) => dimension === 'exit_page' || dimension === 'duration' || op.startsWith('matches'),
  )

/** The filters on screen that the feed follows, and those that it cannot. */
export function splitFilters() {
  const { filters } = place.value
  return { followed: filters.filter((node) => !isOfSession(node)), left: filters.filter(isOfSession) }
}
