import type { Observation } from '../../src/capture/observation.js'
import type { EventStore } from '../../src/storage/event-store.js'
import { sql } from '../../src/storage/sql.js'
import { GPTBOT } from '../fixtures/instance.js'
import { observation } from '../fixtures/observations.js'
import type { Random } from '../fixtures/random.js'

/*
 * Files, by people and by agents, and agents' pages, with or without an earlier 200. Nothing of these is a person's pageview:
 * the type, the extension or the script that asks shows that a response is a file, and an agent is not a person.
 */
type DrawnFile = readonly [pathname: string, type: string, destination: string]
const FILES: readonly [DrawnFile, ...DrawnFile[]] = [
  ['/report.pdf', 'application/pdf', 'document'],
  ['/feed.xml', 'application/rss+xml', 'document'],
  ['/photo.jpg', 'image/jpeg', 'document'],
  ['/feed', 'application/rss+xml', 'empty'],
]

/** Draws the exchanges beside a served page, at its time: files that a person asks for, and what an agent fetches. */
export function drawFiles(
  random: Random,
  { at, page, hostname, ip }: { at: number; page: string; hostname: string; ip: string },
): Observation[] {
  const timestamp = new Date(at).toISOString()
  const answer = (pathname: string, type: string, status: number) => ({
    ...{ hostname, timestamp, pathname, status, content_type: status === 304 ? '' : type },
    ...(status === 304 && { conditional: 1 as const }),
  })
  const [file, type, destination] = random.of(FILES)
  const headers = { 'sec-fetch-dest': destination }
  const ofPerson = observation({ ...answer(file, type, random.of([200, 304])), ip, headers })
  // Without `Sec-Fetch-Dest`, what an agent's 304 of `/feed` was is known by an earlier 200 only.
  const isFile = file !== '/feed' && random() < 0.5
  const fetched = isFile ? answer(file, type, random.of([200, 304])) : answer(page, 'text/html', random.of([200, 304]))
  const ofAgent = observation({ ...fetched, ip: '192.0.2.77', user_agent: GPTBOT, headers: {} })
  return [...(random() < 0.5 ? [ofPerson] : []), ...(random() < 0.3 ? [ofAgent] : [])]
}

interface Fetches {
  fetches: number
  pages: number
}
export const NO_FETCHES: Fetches = { fetches: 0, pages: 0 }

/** Counts a message that is an agent's. */
export const addFetch = ({ fetches, pages }: Fetches, { evidence }: { evidence: object }): Fetches =>
  'user_agent' in evidence && evidence.user_agent === GPTBOT && 'pathname' in evidence
    ? { fetches: fetches + 1, pages: pages + (FILES.some(([path]) => path === evidence.pathname) ? 0 : 1) }
    : { fetches, pages }

/** Counts what is stored of an agent. */
export async function countFetches(store: EventStore, site: number): Promise<Fetches> {
  const [row] = await store.query(
    sql`select count(*) as fetches, count(*) filter (where is_pageview) as pages from agent_events where site_id = ${site}`,
  )
  return { fetches: Number(row?.fetches), pages: Number(row?.pages) }
}
