import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { ASSISTANTS } from '../../src/capture/assistants.js'
import { openEvents } from '../../src/duckdb/event-store.js'
import { EVENTS_SCHEMA } from '../../src/duckdb/events-schema.js'
import { readThreads } from '../../src/engine/machine.js'
import type { GoalCondition } from '../../src/query/goals.js'
import { type ReadDependencies, runRead } from '../../src/query/read.js'
import { reads } from '../../src/reads/index.js'
import { fillTraffic } from './traffic.js'

const END = new Date('2026-11-20T10:00:00Z')
const RUNS = 15
const contains = encodeURIComponent(JSON.stringify([{ dimension: 'pathname', op: 'contains', value: '12' }]))
const german = encodeURIComponent(JSON.stringify([{ dimension: 'country', op: 'is', value: 'DE' }]))

const page = (value: string): GoalCondition => ({ type: 'page', match: { op: 'is', value } })
const event = (value: string): GoalCondition => ({ type: 'event', match: { op: 'is', value } })
const GOALS = [page('/page/7'), event('signup'), { type: 'scroll', match: { op: 'gte', value: 75 } } as const].map(
  (deed, i) => ({ ...deed, id: i + 1, name: `goal ${i + 1}` }),
)
/** From the page that is read most. */
const FUNNELS = [undefined, 60].map((window_minutes, i) => ({
  ...{ id: i + 1, name: `funnel ${i + 1}`, window_minutes },
  steps: [page('/page/0'), page('/page/1'), event('signup')].map((deed, n) => ({ ...deed, label: `step ${n + 1}` })),
}))

/** The reads that are measured, over 90 days. */
const ASKED: readonly [path: string, query: string][] = [
  ['stats/overview', ''],
  ['stats/overview', 'compare=previous'],
  ['stats/overview', `filters=${contains}`],
  ['stats/overview', `filters=${german}`],
  ['stats/timeseries', ''],
  ['stats/timeseries', 'metric=bounce'],
  ['stats/timeseries', `filters=${contains}`],
  ['stats/realtime', ''],
  ['stats/pages', ''],
  ['stats/pages', `filters=${contains}`],
  ['stats/pages', `filters=${german}`],
  ['stats/sources', ''],
  ['stats/locations', ''],
  ['stats/devices', ''],
  ['stats/breakdown', 'dimension=country'],
  ['stats/breakdown', 'dimension=entry_page'],
  ['stats/breakdown', 'dimension=exit_page'],
  ['stats/breakdown', 'dimension=pathname'],
  ['stats/events', ''],
  ['stats/goals', ''],
  ['stats/funnel/1', ''],
  ['stats/funnel/2', ''],
  ['stats/journeys', ''],
  ['stats/retention', ''],
  ['stats/sessions', ''],
  ['stats/visitors', ''],
  ['stats/performance', ''],
  ['stats/performance', 'dimension=pathname'],
  ['stats/errors', ''],
  ['agents/overview', ''],
  ['agents/breakdown', 'dimension=pathname'],
  ['agents/breakdown', 'dimension=agent_id'],
  ['agents/timeseries', ''],
  ['agents/coverage', ''],
  ['citation-gap', ''],
  ['citation-gap/summary', ''],
  ['policy/violations', ''],
  ['content/decay', ''],
]

/**
 * `npm run bench -- reads [people] [agents] [URLs] [word]`: milliseconds of each read over so many hits of people and
 * fetches of agents (10,000,000 each) in 90 days and so many URLs (2,000): the first, and median and p95 of 15 more; then
 * the peak of memory. Under a limit of 2 GB, on as many threads as in service; without HTTP. What
 * it asks is kept in the temporary directory between runs. With `word`, only reads whose name has it.
 */
export async function run([
  people = '10000000',
  agents = '10000000',
  paths = '2000',
  word = '',
]: string[]): Promise<void> {
  const size = { people: Number(people), agents: Number(agents), paths: Number(paths) }
  const file = await openBenchFile(size)
  const threads = readThreads(availableParallelism())
  const settings = { memory_limit: '2GB', threads, temp_limit: '8GB' }
  const store = await openEvents({ file, settings, now: () => END, clock: () => performance.now(), log: () => {} })
  const deps: ReadDependencies = {
    store,
    now: () => END,
    site: async (id) => ({ id, timezone: 'Europe/Berlin', visitor_salt: 'month', owns: () => true }),
    segment: async () => undefined,
    goals: async () => GOALS,
    funnel: async (id) => FUNNELS.find((each) => String(each.id) === id),
    catalog: listAgents(loadCatalog()),
    assistants: ASSISTANTS,
    blockedUrls: async () => ({
      candidates: [{ hostname: 'example.com', patterns: ['/page/1'] }],
      areBlocked: async (urls) => urls.map(({ pathname }) => pathname.startsWith('/page/12')),
    }),
  }
  try {
    console.log(`${people} hits, ${agents} fetches, ${paths} URLs, ${threads} thread(s), 90 days, ms`)
    console.log('| read | first | median | p95 | rows |\n|---|---|---|---|---|')
    for (const [path, query] of ASKED.filter(([path]) => path.includes(word))) {
      const found = readOf(path)
      if (!found) continue
      const ask = async () => {
        const from = performance.now()
        const asked = new URLSearchParams(`site=1&range=90d&${query}`)
        const { meta } = await runRead(found.read, asked, deps, found.words)
        return { ms: performance.now() - from, rows: meta.total ?? meta.rows }
      }
      const first = await ask()
      const times: number[] = []
      for (let i = 0; i < RUNS; i++) times.push((await ask()).ms)
      times.sort((a, b) => a - b)
      const at = (share: number) => Math.round(times[Math.min(RUNS - 1, Math.floor(RUNS * share))] ?? 0)
      const name = `${path}${query && `?${decodeURIComponent(query)}`}`.replaceAll('|', '\\|')
      console.log(`| ${name} | ${Math.round(first.ms)} | ${at(0.5)} | ${at(0.95)} | ${first.rows} |`)
    }
    console.log(`peak RSS ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
  } finally {
    await store.close()
  }
}

/** A read by its URL, and the words of it that are the path's. */
function readOf(path: string) {
  for (const read of reads) {
    const names = [...read.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
    const pattern = new RegExp(`^${read.path.replace(/\{\w+\}/g, '([^/]+)')}$`)
    const [, ...values] = pattern.exec(`/api/${path}`) ?? []
    if (pattern.test(`/api/${path}`)) {
      return { read, words: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])) }
    }
  }
  return undefined
}

/** Opens the file of that size, and creates it if none of this schema exists. */
export async function openBenchFile(size: { people: number; agents: number; paths: number }): Promise<string> {
  const folder = join(tmpdir(), 'readership-bench')
  const name = `${size.people}-${size.agents}-${size.paths}-v${EVENTS_SCHEMA.length}`
  const file = join(folder, `${name}.duckdb`)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  const part = join(folder, `${name}.part`)
  for (const rest of ['', '.wal']) rmSync(`${part}${rest}`, { force: true })
  const from = performance.now()
  await fillTraffic(part, size, END)
  renameSync(part, file)
  console.log(`made ${file} in ${Math.round((performance.now() - from) / 1000)} s`)
  return file
}
