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
/** The aims of a read if nothing else runs, for the least of all runs. */
const AIM_MS = 300
const FILTERED_AIM_MS = 600
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
  ['agents/breakdown', `dimension=pathname&filters=${contains}`],
  ['agents/breakdown', 'dimension=agent_id'],
  ['agents/timeseries', ''],
  ['agents/coverage', ''],
  ['agents/coverage', `filters=${contains}`],
  ['agents/coverage', `filters=${german}`],
  ['citation-gap', ''],
  ['citation-gap/summary', ''],
  ['citation-gap/summary', `filters=${contains}`],
  ['policy/violations', ''],
  ['content/decay', ''],
  ['content/decay', `filters=${contains}`],
]

/**
 * `npm run bench -- reads [people] [agents] [URLs] [word]`: milliseconds of each read over so many hits of people and
 * fetches of agents (10,000,000 each) in 90 days and so many URLs (2,000): the first; median, p95, least and least CPU of
 * 15 more, with the aim of the least; then the peak of memory. Under a limit of 2 GB, on as many threads as in service; without HTTP. What
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
    // Without a scope: a result that is kept would be measured from the second time on.
    store: { dialect: store.dialect, query: (query, signal) => store.query(query, signal) },
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
    console.log('| read | first | median | p95 | least | CPU | aim | | rows |\n|---|---|---|---|---|---|---|---|---|')
    for (const [path, query] of ASKED.filter(([path]) => path.includes(word))) {
      const found = readOf(path)
      if (!found) continue
      const ask = async () => {
        const [from, cpu] = [performance.now(), process.cpuUsage()]
        const asked = new URLSearchParams(`site=1&range=90d&${query}`)
        const { meta } = await runRead(found.read, asked, deps, found.words)
        const { user, system } = process.cpuUsage(cpu)
        return { ms: performance.now() - from, cpu: (user + system) / 1000, rows: meta.total ?? meta.rows }
      }
      const first = await ask()
      const runs = []
      for (let i = 0; i < RUNS; i++) runs.push(await ask())
      const times = runs.map(({ ms }) => ms).sort((a, b) => a - b)
      const least = times[0] ?? 0
      const cpu = runs.reduce((a, each) => Math.min(a, each.cpu), Number.POSITIVE_INFINITY)
      const aim = query.includes('filters=') ? FILTERED_AIM_MS : AIM_MS
      const at = (share: number) => Math.round(times[Math.min(RUNS - 1, Math.floor(RUNS * share))] ?? 0)
      const name = `${path}${query && `?${decodeURIComponent(query)}`}`.replaceAll('|', '\\|')
      console.log(
        `| ${name} | ${Math.round(first.ms)} | ${at(0.5)} | ${at(0.95)} | ${Math.round(least)} | ${Math.round(cpu)} | ${aim} | ${least <= aim ? 'held' : 'missed'} | ${first.rows} |`,
      )
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
