import type { AgentEventRow } from '../../src/storage/rows.js'
import { type AnswerRow, rank } from './compare.js'
import type { ExpectedAnswer, ExpectedRead } from './expected-reads.js'
import { compareBytes, groupBy, type SiteView, siteView } from './site-rows.js'

/** Recounts `stats/journeys/steps` by walking through each visit, or each run of an agent's reads. */

const CHAINS: readonly [string[], ...string[][]] = [
  ['/'],
  ['/docs'],
  ['/', '/docs'],
  ['/docs', '/', '/docs'],
  ['/🦆'],
  ['/pricing', '/'],
]
const MAX_NAMED = 20
const MAX_VISITS = 5
const GAP_MS = 30 * 60_000

type Unit = 'sessions' | 'times'
interface Found {
  matched: number
  before: string | undefined
  after: string | undefined
}

export const JOURNEY_STEPS: Omit<ExpectedRead, 'audiences'> = {
  path: 'journeys/steps',
  ignoresComparison: true,
  expect: (rows, now, _, { pick }) => expectSteps(siteView(rows, now), pick),
}

export function expectSteps(view: SiteView, pick: number): ExpectedAnswer {
  const steps = CHAINS[pick % CHAINS.length] ?? CHAINS[0]
  const params = `steps=${encodeURIComponent(pick % 2 === 0 && steps.length === 1 ? `${steps[0]}` : JSON.stringify(steps))}`
  if (view.q.audience === 'agent') {
    const found = agentRuns(view).flatMap((run) => placesOf(run, steps))
    return { params, data: around(found, steps, 'times') }
  }
  const walks = view.sessionsInWindow.map(({ session }) => withoutRepeats(session.views.map((row) => row.pathname)))
  const found = walks.flatMap((walk) => {
    const places = placesOf(walk, steps)
    const most = Math.max(...places.map(({ matched }) => matched))
    return places.filter(({ matched }) => matched === most).slice(0, 1)
  })
  const whole = walks.map((walk) => walk.slice(0, 8)).filter((walk) => placesOf(walk, steps).some(isWhole(steps)))
  const visits = rank(
    [...groupBy(whole, (walk) => JSON.stringify(walk)).values()],
    (same) => [same.length],
    (same) => Array.from({ length: 8 }, (_, i) => same[0]?.[i] ?? ''),
  )
    .slice(0, MAX_VISITS)
    .map((same) => ({ pathnames: same[0], sessions: same.length }))
  return { params, data: { ...around(found, steps, 'sessions'), visits } }
}

const withoutRepeats = (paths: readonly string[]): string[] => paths.filter((path, i) => path !== paths[i - 1])
const isWhole =
  (steps: readonly string[]) =>
  ({ matched }: Found) =>
    matched === steps.length

/** Each place of a walk at which the chain begins, with how far it goes. */
const placesOf = (walk: readonly string[], steps: readonly string[]): Found[] =>
  walk.flatMap((path, at) => {
    if (path !== steps[0]) return []
    const miss = steps.findIndex((step, i) => walk[at + i] !== step)
    const matched = miss < 0 ? steps.length : miss
    return [{ matched, before: walk[at - 1], after: walk[at + steps.length] }]
  })

/** The reads of pages by one client with gaps of at most half an hour, if one of them passes the filters. */
function agentRuns({ fetches, within, passes }: SiteView): string[][] {
  const reads = fetches.filter((row) => within(row.timestamp) && row.is_pageview && row.verification !== 'spoofed')
  const clients = groupBy(reads, (row) => JSON.stringify([row.agent_id, row.user_agent, row.asn, row.country]))
  return [...clients.values()].flatMap((rows) => {
    const runs: AgentEventRow[][] = []
    for (const row of rows.toSorted(byTime)) {
      const last = runs.at(-1)?.at(-1)
      if (last && row.timestamp.getTime() - last.timestamp.getTime() <= GAP_MS) runs.at(-1)?.push(row)
      else runs.push([row])
    }
    return runs.filter((run) => run.some(passes)).map((run) => withoutRepeats(run.map((row) => row.pathname)))
  })
}

const byTime = (a: AgentEventRow, b: AgentEventRow): number =>
  a.timestamp.getTime() - b.timestamp.getTime() || compareBytes(a.pathname, b.pathname)

function around(found: readonly Found[], steps: readonly string[], unit: Unit): AnswerRow {
  const whole = found.filter(isWhole(steps))
  return {
    steps: steps.map((pathname, i) => ({ pathname, [unit]: found.filter(({ matched }) => matched > i).length })),
    before: neighbours(
      whole.map(({ before }) => before),
      unit,
    ),
    after: neighbours(
      whole.map(({ after }) => after),
      unit,
    ),
  }
}

function neighbours(paths: readonly (string | undefined)[], unit: Unit): AnswerRow[] {
  const pages = rank(
    [...groupBy(paths, (path) => path)].flatMap(([path, all]) => (path === undefined ? [] : [{ path, n: all.length }])),
    ({ n }) => [n],
    ({ path }) => [path],
  )
  const others = pages.slice(MAX_NAMED)
  const edge = paths.filter((path) => path === undefined).length
  return [
    ...pages.slice(0, MAX_NAMED).map(({ path, n }) => ({ kind: 'page', pathname: path, [unit]: n })),
    ...(others.length > 0
      ? [{ kind: 'other', pages: others.length, [unit]: others.reduce((sum, { n }) => sum + n, 0) }]
      : []),
    ...(edge > 0 ? [{ kind: 'edge', [unit]: edge }] : []),
  ]
}
