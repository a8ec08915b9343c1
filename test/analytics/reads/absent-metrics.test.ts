import t from 'tap'
import { z } from 'zod'
import { WORLD } from '../../fixtures/world.js'
import { asker, DAY } from './world-reads.js'

const ask = await asker(WORLD)

const Warnings = z.array(z.object({ metric: z.string().optional(), code: z.string() })).default([])
const NAMES = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce', 'duration', 'views_per_session', 'events'],
  agent: [
    ...['fetches', 'pageviews', 'agents', 'verified', 'verified_fetches'],
    ...['spoofed', 'indeterminate', 'unverifiable', 'bytes'],
  ],
  all: ['pageviews'],
}
t.test('a metric without a meaning for the audience is absent with a warning', async (t) => {
  const absentIn = (warnings: unknown) =>
    Warnings.parse(warnings).flatMap(({ code, metric }) => (code === 'not_for_audience' ? [metric] : []))
  for (const audience of ['human', 'agent', 'all'] as const)
    for (const metric of new Set([...NAMES.human, ...NAMES.agent])) {
      const query = `${DAY}&granularity=day&audience=${audience}&metric=${metric}&compare=previous`
      const { data, meta } = await ask('stats/timeseries', query)
      const has = NAMES[audience].includes(metric)
      t.match(data, { metric, buckets: [{ t: '2026-10-24T22:00:00.000Z' }] }, `${audience} ${metric}`)
      if (!has) t.notMatch(JSON.stringify(data), '"value"', `${audience} ${metric}: no zero is substituted`)
      t.strictSame(absentIn(meta.warnings), has ? [] : [metric], `${audience} ${metric}: the warning`)
    }
  const page = [...NAMES.human.slice(0, 3), 'entries', 'exits', 'exit_rate', 'bounce', 'time_on_page', 'scroll_depth']
  const lists: [path: string, names: string[]][] = [
    ['stats/overview', NAMES.human],
    ['stats/breakdown', NAMES.human],
    ['stats/pages', page],
    ['stats/locations', [...NAMES.human, 'regions', 'cities']],
  ]
  for (const [path, names] of lists)
    for (const audience of ['human', 'agent', 'all'] as const) {
      const { data, meta } = await ask(path, `${DAY}&audience=${audience}&dimension=country`)
      const wanted = audience === 'human' ? [] : names.filter((name) => name !== 'pageviews')
      t.strictSame(absentIn(meta.warnings), wanted, `${path} ${audience}`)
      for (const name of wanted) t.notMatch(JSON.stringify(data), `"${name}"`, `${path} ${audience} ${name}`)
    }
  for (const [path, names, code] of [
    ['stats/sources', ['visitors', 'sessions', 'bounce', 'duration'], 'people_only'],
    ['stats/devices', NAMES.human.filter((name) => name !== 'pageviews'), 'agents_apart'],
  ] as const) {
    const { data, meta } = await ask(path, `${DAY}&audience=all`)
    t.strictSame(absentIn(meta.warnings), names, path)
    t.match(meta, { query: { audience: 'all' }, warnings: [{ code }] }, path)
    for (const name of names) t.notMatch(JSON.stringify(data), `"${name}"`, `${path} ${name}`)
  }
  const events = await ask('stats/events', `${DAY}&audience=all`)
  t.match(events.meta, { query: { audience: 'human' }, warnings: [{ code: 'agents_apart' }] }, "people's events")
  const steps = await ask('stats/journeys/steps', `${DAY}&audience=all&steps=/`)
  t.match(steps.meta, { query: { audience: 'human' }, warnings: [{ code: 'agents_apart' }] }, "people's ways")
  t.strictSame(events.data, (await ask('stats/events', DAY)).data)
  const fetches = await ask('agents/overview', `${DAY}&audience=human`)
  t.match(fetches.meta, { query: { audience: 'agent' }, warnings: [{ code: 'audience_fixed' }] }, 'always of agents')
  t.notOk((await ask('agents/overview', `${DAY}&audience=agent`)).meta.warnings, 'nothing to warn of')
})
