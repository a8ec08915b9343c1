import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createSectionFinder } from '../../src/analytics/query/found-sections.js'
import type { GoalCondition } from '../../src/analytics/query/goals.js'
import { type ReadDependencies, runRead } from '../../src/analytics/query/prepare-read.js'
import { reads } from '../../src/analytics/reads/index.js'
import { ASSISTANTS } from '../../src/base/assistants.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { EVENTS_SCHEMA } from '../../src/storage/duckdb/events-schema.js'
import type { Store } from '../../src/storage/store.js'
import { readThreads } from '../../src/worker-client/machine.js'
import { fillTraffic } from './traffic.js'

/** The end of the windows that reads ask for. */
export const END = new Date('2026-11-20T10:00:00Z')
/** Runs of a read after the first. */
const RUNS = 15
/** The aims of a read if nothing else runs, for the least of all runs. */
const AIM_MS = 300
const FILTERED_AIM_MS = 600
/** The aim of the least at ten times the rows, as a multiple. */
const MAX_GROWTH = 6
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

/** Patterns that an owner wrote; the folder of all pages is found beside. */
const SECTIONS = ['/page/1*', '/page/2*5', '/page/*7*', '/page/3', '/page/4*', '/page/5*']

/** Reads that are also asked without suspected sessions, right after the same with them. */
const ALSO_UNSUSPECTED =
  /^stats\/(?:overview|timeseries|pages|sources|breakdown|sessions|visitors|retention|goals)$|^citation-gap$/

/** The reads that are measured, over 90 days. */
const READS: readonly [path: string, query: string][] = [
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
  ['stats/sources', `filters=${contains}`],
  ['stats/locations', ''],
  ['stats/devices', ''],
  ['stats/devices', `filters=${contains}`],
  ['stats/breakdown', 'dimension=country'],
  ['stats/breakdown', 'dimension=entry_page'],
  ['stats/breakdown', 'dimension=exit_page'],
  ['stats/breakdown', 'dimension=pathname'],
  ['stats/breakdown', 'dimension=section'],
  ['stats/breakdown', 'dimension=pathname&audience=agent'],
  ['stats/breakdown', 'dimension=section&audience=agent'],
  // The second half of the time, because the read compares.
  ['stats/changes', 'start=2026-10-06&end=2026-11-19'],
  ['stats/changes', 'start=2026-10-06&end=2026-11-19&audience=agent'],
  ['stats/hours', 'range=30d'],
  ['stats/hours', 'range=30d&audience=agent'],
  ['stats/events', ''],
  ['stats/goals', ''],
  ['stats/funnel/1', ''],
  ['stats/funnel/2', ''],
  ['stats/journeys', ''],
  ['stats/journeys/steps', 'steps=/page/0'],
  ['stats/journeys/steps', 'steps=/page/0&audience=agent'],
  ['stats/retention', ''],
  ['stats/retention', `filters=${contains}`],
  ['stats/sessions', ''],
  ['stats/suspected', ''],
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
  ['agents/breakdown', `dimension=pathname&filters=${german}`],
  ['citation-gap', ''],
  ['citation-gap/summary', ''],
  ['citation-gap/summary', `filters=${contains}`],
  ['citation-gap/summary', `filters=${german}`],
  ['policy/violations', ''],
  ['content/decay', ''],
  ['content/decay', `filters=${contains}`],
  ['content/decay', `filters=${german}`],
]
export const MEASURED_READS = READS.flatMap(([path, query]): [path: string, query: string][] =>
  ALSO_UNSUSPECTED.test(path) && !query.includes('=')
    ? [
        [path, query],
        [path, 'suspected=exclude'],
      ]
    : [[path, query]],
)

/**
 * `npm run bench -- reads [people] [agents] [URLs] [word] [runs]`: each read over so many hits of people and fetches of agents
 * (10,000,000 each) in 90 days and so many URLs (2,000), and over a tenth of them. Prints milliseconds of its statements:
 * the first time; median, p95 and least of 15 (`runs`) more; the least CPU; the aim of the least; how many times the least of a tenth
 * that is, with the aim of 6; then the peak of memory with both files open. Under a limit of 2 GB, on as many threads as in service; without
 * HTTP. What it asks is kept in the temporary directory between runs. With `word`, only reads whose path has it; with
 * `suspected`, also those that are asked without suspected sessions.
 */
export async function run([
  people = '10000000',
  agents = '10000000',
  paths = '2000',
  word = '',
  runs = `${RUNS}`,
]: string[]): Promise<void> {
  const threads = readThreads(availableParallelism())
  const open = async (share: number) => {
    const size = {
      people: Math.round(Number(people) * share),
      agents: Math.round(Number(agents) * share),
      paths: Number(paths),
    }
    const file = await openBenchFile(size)
    const settings = { memory_limit: '2GB', threads, temp_limit: '8GB' }
    return openEvents({ file, settings, now: () => END, clock: () => performance.now(), log: () => {} })
  }
  const [tenth, store] = [await open(0.1), await open(1)]
  const [measureTenth, measure] = [measureReads(tenth, Number(runs)), measureReads(store, Number(runs))]
  try {
    console.log(`${people} hits, ${agents} fetches, ${paths} URLs, ${threads} thread(s), 90 days, ms`)
    console.log('| read | first | median | p95 | least | CPU | aim | | growth | aim | | rows |')
    console.log(`|${'---|'.repeat(12)}`)
    for (const [path, query] of MEASURED_READS.filter(isChosen(word))) {
      const small = await measureTenth(path, query)
      const { first, at, least, cpu, rows } = await measure(path, query)
      const growth = least / small.least
      const aim = query.includes('filters=') ? FILTERED_AIM_MS : AIM_MS
      const name = `${path}${query && `?${decodeURIComponent(query)}`}`.replaceAll('|', '\\|')
      const times = [first, at(0.5), at(0.95), least, cpu].map((ms) => Math.round(ms)).join(' | ')
      console.log(
        `| ${name} | ${times} | ${aim} | ${held(least, aim)} | ${growth.toFixed(1)} | ${MAX_GROWTH} | ${held(growth, MAX_GROWTH)} | ${rows} |`,
      )
    }
    console.log(`peak RSS ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
  } finally {
    await store.close()
    await tenth.close()
  }
}

/** Chooses reads by a word of their path; `suspected` chooses those that are asked without suspected sessions too. */
const isChosen =
  (word: string) =>
  ([path, query]: (typeof MEASURED_READS)[number]) =>
    path.includes(word) ||
    (word === 'suspected' && ALSO_UNSUSPECTED.test(path) && /^(?:suspected=exclude)?$/.test(query))

const held = (value: number, aim: number) => (value <= aim ? 'held' : 'missed')

/**
 * Returns a function that measures a read on this store: milliseconds of its statements, the first
 * time and in more runs; and the data that it answers.
 */
export function measureReads(store: Pick<Store, 'query' | 'dialect'>, repetitions = RUNS) {
  let statementMs = 0
  const deps: ReadDependencies = {
    store: {
      dialect: store.dialect,
      // Without a scope: a result that is kept would be measured from the second time on.
      query: async (query, signal) => {
        const from = performance.now()
        try {
          return await store.query(query, signal)
        } finally {
          statementMs += performance.now() - from
        }
      },
    },
    now: () => END,
    site: async (id) => ({
      ...{ id, timezone: 'Europe/Berlin', visitor_salt: 'month', owns: () => true },
      sections: SECTIONS,
    }),
    foundSections: createSectionFinder(store),
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
  return async (path: string, query: string) => {
    const found = readOf(path)
    if (!found) throw new Error(`No read has the path ${path}.`)
    const ask = async () => {
      statementMs = 0
      const before = process.cpuUsage()
      const asked = new URLSearchParams(`site=1&range=90d&${query}`)
      const { data, meta } = await runRead(found.read, asked, deps, found.words)
      const { user, system } = process.cpuUsage(before)
      return { ms: statementMs, cpu: (user + system) / 1000, rows: meta.total ?? meta.rows, data }
    }
    const first = await ask()
    const runs = []
    for (let i = 0; i < repetitions; i++) runs.push(await ask())
    const times = runs.map(({ ms }) => ms).sort((a, b) => a - b)
    const at = (share: number) => times[Math.min(repetitions - 1, Math.floor(repetitions * share))] ?? 0
    const cpu = runs.reduce((a, each) => Math.min(a, each.cpu), Number.POSITIVE_INFINITY)
    return { first: first.ms, rows: first.rows, data: first.data, at, least: at(0), cpu }
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
  const name = `${size.people}-${size.agents}-${size.paths}-v${EVENTS_SCHEMA.length}-judged`
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
