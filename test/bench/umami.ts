import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { EVENTS_SCHEMA } from '../../src/storage/duckdb/events-schema.js'
import { generatorExists, readGeneratedRows, runGenerator } from '../fixtures/event-generator.js'
import { cli, startInstance, startOrigin } from '../fixtures/instance.js'

const END = '2026-11-21T00:00:00Z'
const day = (n: number) => new Date(Date.parse(END) - n * 86_400_000).toISOString()
const over = (days: number) => `site=1&start=${day(days)}&end=${END}`
const RUNS = 7

/** Milliseconds of Umami 3.1 on PostgreSQL 15 for each read, warm medians at 1 M and 5 M events. */
const ASKED: readonly [what: string, path: string, at1M: number, at5M: number][] = [
  ['stats 90 d', `stats/overview?${over(90)}`, 988, 6_204],
  ['series 90 d', `stats/timeseries?${over(90)}&granularity=day`, 1_391, 7_028],
  ['paths 90 d', `stats/pages?${over(90)}`, 1_082, 5_244],
  ['country 90 d', `stats/breakdown?dimension=country&${over(90)}`, 1_243, 5_531],
  ['entry pages 90 d', `stats/breakdown?dimension=entry_page&${over(90)}`, 2_603, 23_705],
  ['channels 90 d', `stats/breakdown?dimension=channel&${over(90)}`, 10_985, 42_220],
  ['funnel 90 d', `stats/funnel/1?${over(90)}`, 498, 2_434],
  ['retention 90 d', `stats/retention?${over(90)}&granularity=week`, 3_986, 31_873],
  ['journey 90 d', `stats/journeys?${over(90)}`, 4_560, 33_858],
  ['stats 30 d', `stats/overview?${over(30)}`, 874, 4_892],
]
const FUNNEL = {
  name: 'signup',
  steps: ['/pricing', '/signup', '/welcome'].map((value) => ({
    type: 'page',
    match: { op: 'is', value },
    label: value,
  })),
}

/**
 * `npm run bench -- umami [events]`: the reads that Umami has too, through HTTP with a key, over the events (5,000,000)
 * that its own figures are of, and how many times faster they are. Its figures were taken on another day: it is not a pair.
 */
export async function run([events = '5000000']: string[]): Promise<void> {
  if (!generatorExists()) return console.log('no generator: ../shared/bench is not there')
  const at = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const data = join(at, 'data')
  mkdirSync(data)
  cpSync(await kept(Number(events)), join(data, 'events.duckdb'))
  const origin = await startOrigin()
  const app = await startInstance(origin.url, data)
  try {
    const made = await cli(
      'keys',
      'create',
      '--name',
      'bench',
      '--scopes',
      'stats:read,manage:write',
      '--data',
      data,
      '--json',
    )
    const { secret } = z.object({ secret: z.string() }).parse(JSON.parse(made.stdout))
    const headers = { authorization: `Bearer ${secret}` }
    const body = JSON.stringify({ site: 1, ...FUNNEL })
    const json = { ...headers, 'content-type': 'application/json' }
    const created = await fetch(`${app.admin}/api/funnels?site=1`, { method: 'POST', headers: json, body })
    if (!created.ok) throw new Error(await created.text())
    console.log(
      `${events} events; median ms of ${RUNS} warm runs, through HTTP\n| read | ms | Umami | times |\n|---|---|---|---|`,
    )
    for (const [what, path, at1M, at5M] of ASKED) {
      const times: number[] = []
      for (let run = 0; run <= RUNS; run++) {
        const from = performance.now()
        const answer = await fetch(`${app.admin}/api/${path}`, { headers })
        if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
        await answer.arrayBuffer()
        if (run > 0) times.push(performance.now() - from)
      }
      const ms = times.toSorted((a, b) => a - b)[RUNS >> 1] ?? Number.NaN
      const theirs = { '1000000': at1M, '5000000': at5M }[events]
      console.log(`| ${what} | ${ms.toFixed(0)} | ${theirs ?? '-'} | ${theirs ? (theirs / ms).toFixed(1) : '-'} |`)
    }
  } finally {
    await app.stop()
    await origin.close()
    rmSync(at, { recursive: true, force: true })
  }
}

/** Opens the store of this many generated events, and creates it if none of this schema exists. */
async function kept(events: number): Promise<string> {
  const folder = join(tmpdir(), 'readership-bench')
  const file = join(folder, `generated-${events}-v${EVENTS_SCHEMA.length}.duckdb`)
  if (existsSync(file)) return file
  const part = join(folder, 'generating')
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { recursive: true })
  runGenerator(part, events)
  const settings = { memory_limit: '2GB', threads: 2, temp_limit: '8GB' }
  const clock = () => performance.now()
  const made = join(part, 'events.duckdb')
  const store = await openEvents({ file: made, settings, now: () => new Date(), clock, log: console.error })
  for await (const rows of readGeneratedRows(part, 20_000)) await store.append({ events: rows, agent_events: [] })
  await store.aggregate(new Date(END))
  await store.close()
  renameSync(made, file)
  rmSync(part, { recursive: true, force: true })
  return file
}
