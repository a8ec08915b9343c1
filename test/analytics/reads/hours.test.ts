import t from 'tap'
import { z } from 'zod'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import type { Recording } from '../../../src/analytics/query/recording.js'
import hours from '../../../src/analytics/reads/stats/hours.js'
import type { Rows } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { common } from './url-rows.js'

/** Clocks in Berlin went forward on Sunday 29 March 2026 at 01:00 UTC, and back on Sunday 25 October 2026 at 01:00 UTC. */
const since = new Date('2026-01-01T00:00:00Z')
const gap = (start: string, end: string) => ({
  start: new Date(start),
  end: new Date(end),
  reason: 'not_running' as const,
})

let next = 1n
const visit = (at: string, more = {}) => {
  const id = next++
  const timestamp = new Date(at)
  return eventRow({ visitor_id: id, session_id: id, timestamp, session_start: timestamp, ...more })
}
const read = (at: string, more = {}) => agentRow({ timestamp: new Date(at), is_pageview: true, ...more })

const Data = z.strictObject({
  measure: z.string(),
  left_out: z.int(),
  cells: z.array(
    z.strictObject({
      weekday: z.int(),
      hour: z.int(),
      hours: z.int(),
      count: z.int().optional(),
      average: z.number().optional(),
    }),
  ),
})

async function asker(rows: Partial<Rows>) {
  const store = await openStore(t)
  await store.append({ events: [], agent_events: [], ...rows })
  return async (query: string, recording: Recording = { since, gaps: [] }, now = '2026-11-20T12:00:00Z') => {
    const deps = { ...common, store, now: () => new Date(now), recording: async () => recording }
    const { data } = await runRead(hours, new URLSearchParams(`site=1&${query}`), deps)
    return Data.parse(data)
  }
}
type Answer = z.infer<typeof Data>
/** A cell as `[hours, count, average]`. */
const cell = ({ cells }: Answer, weekday: number, hour: number) => {
  const { hours: n, count, average } = cells[(weekday - 1) * 24 + hour] ?? {}
  return [n, count, average]
}

const BACK = 'tz=Europe/Berlin&start=2026-10-25&end=2026-10-25'
const FORWARD = 'tz=Europe/Berlin&start=2026-03-29&end=2026-03-29'

t.test('visits and reads by weekday and hour, by hand', async (t) => {
  const ask = await asker({
    events: [
      // 02:30 is shown twice in the night of 25 October; 03:30 once.
      visit('2026-10-25T00:30:00Z'),
      visit('2026-10-25T01:10:00Z'),
      visit('2026-10-25T01:50:00Z', { country: 'AT' }),
      visit('2026-10-25T02:30:00Z'),
      // 01:30 and 03:30 of the night without 02:30.
      visit('2026-03-29T00:30:00Z'),
      visit('2026-03-29T01:30:00Z'),
      // Four Mondays of November, 09:00 in Berlin: 2, 0, 1 and 3 visits.
      ...['2026-11-02T08:00:00Z', '2026-11-02T08:59:59.999Z', '2026-11-16T08:10:00Z'].map((at) => visit(at)),
      ...['2026-11-23T08:10:00Z', '2026-11-23T08:20:00Z', '2026-11-23T08:30:00Z'].map((at) => visit(at)),
      // At Lord Howe Island, whose clocks went back by half an hour at 15:00 UTC.
      visit('2026-04-04T15:10:00Z'),
    ],
    agent_events: [
      read('2026-11-02T08:30:00Z'),
      read('2026-11-09T08:30:00Z'),
      read('2026-11-09T08:31:00Z', { country: 'AT' }),
      read('2026-11-09T08:32:00Z', { is_pageview: false, status: 404 }),
    ],
  })
  const MONDAYS = 'tz=Europe/Berlin&start=2026-11-02&end=2026-11-29'
  const LATER = '2026-12-20T12:00:00Z'
  const AT = `&filters=${encodeURIComponent(JSON.stringify([{ dimension: 'country', op: 'is', value: 'AT' }]))}`
  const down = gap('2026-11-09T08:59:00Z', '2026-11-09T09:00:00Z')
  const cases: [
    query: string,
    at: [weekday: number, hour: number],
    expected: unknown[],
    why: string,
    recording?: Recording | undefined,
    now?: string,
  ][] = [
    [BACK, [7, 2], [2, 3, 1.5], 'an hour that clocks show twice is two hours'],
    [BACK, [7, 3], [1, 1, 1], 'the hour after it'],
    [BACK, [1, 2], [0, undefined, undefined], 'a weekday that the window does not have'],
    [FORWARD, [7, 2], [0, undefined, undefined], 'an hour that clocks skip was never recorded, which is not 0'],
    [FORWARD, [7, 1], [1, 1, 1], 'the hour before it'],
    [FORWARD, [7, 3], [1, 1, 1], 'the hour after it'],
    [FORWARD, [7, 4], [1, 0, 0], 'an hour without a visit is 0'],
    [MONDAYS, [1, 9], [4, 6, 1.5], 'four Mondays', undefined, LATER],
    [MONDAYS, [1, 9], [3, 6, 2], 'one minute of a Monday was not recorded', { since, gaps: [down] }, LATER],
    [`${MONDAYS}&audience=agent`, [1, 9], [4, 3, 0.75], 'agents: pages alone', undefined, LATER],
    [`${MONDAYS}&audience=agent`, [1, 9], [3, 1, 1 / 3], 'reads in the cut hour', { since, gaps: [down] }, LATER],
    [`${MONDAYS}&audience=agent${AT}`, [1, 9], [4, 1, 0.25], 'a filter', undefined, LATER],
    [`${BACK}${AT}`, [7, 2], [2, 1, 0.5], 'a filter does not change what was recorded'],
    [MONDAYS, [1, 9], [3, 3, 1], 'the hour that is not over is left out', undefined, '2026-11-23T08:59:59Z'],
    [
      MONDAYS,
      [1, 9],
      [3, 4, 4 / 3],
      'begun within an hour',
      { since: new Date('2026-11-02T08:00:01Z'), gaps: [] },
      LATER,
    ],
    [MONDAYS, [1, 9], [0, undefined, undefined], 'nothing recorded', { since: undefined, gaps: [] }, LATER],
    [
      'tz=Asia/Kolkata&start=2026-11-02&end=2026-11-02',
      [1, 13],
      [1, 1, 1],
      'a zone with half an hour',
      undefined,
      LATER,
    ],
    ['tz=UTC&start=2026-11-02T08:30:00Z&end=2026-11-02T10:00:00Z', [1, 8], [0, undefined, undefined], 'a cut hour'],
    [
      'tz=Australia/Lord_Howe&start=2026-04-05&end=2026-04-05',
      [7, 1],
      [1, 0, 0],
      'before clocks go back by half an hour',
    ],
  ]
  for (const [query, [weekday, hour], expected, why, recording, now] of cases)
    t.strictSame(cell(await ask(query, recording, now), weekday, hour), expected, why)

  const cut = await ask(MONDAYS, { since: new Date('2026-11-02T08:00:01Z'), gaps: [] }, LATER)
  t.equal(cut.left_out, 2, 'visits of the hour in which recording began')
  t.equal((await ask(MONDAYS, { since: undefined, gaps: [] }, LATER)).left_out, 6, 'all of them')
  t.equal(
    (await ask('tz=Australia/Lord_Howe&start=2026-04-05&end=2026-04-05')).left_out,
    1,
    'in the half hour shown twice',
  )
  const week = await ask(MONDAYS, undefined, LATER)
  t.strictSame(
    [week.measure, week.left_out, week.cells.length, week.cells.reduce((sum, { hours: n }) => sum + n, 0)],
    ['sessions', 0, 168, 4 * 168],
    'every hour of four weeks is in a cell',
  )
  await t.rejects(ask(`${MONDAYS}&audience=all`), { code: 'validation_error', field: 'audience' })
})

t.test(
  'a window with more gaps than a statement can name leaves out more, and never counts half of an hour',
  async (t) => {
    const days = Array.from({ length: 150 }, (_, i) => new Date(Date.UTC(2026, 0, 5 + i)).toISOString().slice(0, 10))
    const ask = await asker({ events: days.flatMap((day) => [visit(`${day}T12:10:00Z`), visit(`${day}T00:10:00Z`)]) })
    const gaps = days.map((day) => gap(`${day}T12:00:00Z`, `${day}T12:05:00Z`))
    const found = await ask('tz=UTC&start=2026-01-05&end=2026-06-03', { since, gaps })
    for (const weekday of [1, 2, 3, 4, 5, 6, 7]) {
      t.strictSame(cell(found, weekday, 12), [0, undefined, undefined], 'noon was never whole')
      const [n = 0, count, average] = cell(found, weekday, 0)
      t.ok(n > 0 && count === n && average === 1, `midnight of weekday ${weekday}: ${n} hours`)
    }
    t.equal(found.left_out, 300 - found.cells.reduce((sum, { count = 0 }) => sum + count, 0))
  },
)
