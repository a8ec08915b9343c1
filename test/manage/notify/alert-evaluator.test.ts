import t from 'tap'
import type { Alert } from '../../../src/manage/alerts.js'
import { alertEvaluation, fetches, visitors } from '../../fixtures/alert-evaluation.js'
import { deed } from '../../fixtures/audit-context.js'

const metric = 'visitors'

t.test('fires, resolves after two calm evaluations and keeps quiet for an hour', async (t) => {
  const world = await alertEvaluation(t)
  const { id } = await world.make({ metric: 'pageviews', window_minutes: 5, value: 1 })
  const many = await world.make({ metric: 'pageviews', window_minutes: 5, value: 1, enabled: false })
  await world.commit({ events: visitors(1, -2) })
  const heard: string[] = []
  for (let i = 0; i < 12; i++) {
    await world.tick(i)
    await world.tick(i)
    // The state outlives the process.
    if (i === 4) world.restart()
    const told = await world.events(id)
    if (told.length > heard.length) heard.push(`${told.at(-1)} at ${i}`)
  }
  // The hit of 10:02 is in the windows that end at 10:03 to 10:07; calm at 10:08 and 10:09.
  t.same(heard, ['fired 10:03 at 3', 'resolved 10:09 at 9'])
  t.match((await world.alerts.get(id)).last_fired_at, '2026-11-21T10:04:02.000Z')
  await world.commit({ events: visitors(1, -20) })
  await world.tick(21)
  t.equal((await world.events(id)).length, 2, 'it is quiet for an hour')
  await world.commit({ events: visitors(1, -64) })
  await world.tick(200)
  await world.tick(65)
  t.match((await world.events(id)).at(-1), 'fired 11:05', 'it fires again after the hour, even if the clock jumped')
  t.same(await world.events(many.id), [], 'a disabled alert does not fire')
  t.same(await world.outbox.list({ alert: many.id }), [])
})

t.test('what appears during the quiet period is sent after it, once', async (t) => {
  const world = await alertEvaluation(t)
  const { id } = await world.make({ kind: 'new_agent', audience: 'agent', window_minutes: 5 })
  await world.commit({ agent_events: fetches(1, 1) })
  await world.commit({ agent_events: fetches(1, -20, { agent_id: 'claudebot', operator: 'Anthropic' }) })
  for (const i of [0, 1, 2, 19, 21, 22, 40, 58, 59, 60, 61, 62, 80, 119, 120, 121, 130]) await world.tick(i)
  t.same(await world.events(id), ['fired 10:00', 'fired 11:00'])
  t.match((await world.event(id))?.details, [{ agent_id: 'claudebot', fetches: 1 }])
})

t.test('an alert that cannot be evaluated is logged once and does not hold up the others', async (t) => {
  const world = await alertEvaluation(t)
  await world.commit({ events: visitors(1, 1) })
  const goal: Alert['filters'] = [{ dimension: 'goal', op: 'is', value: 'deleted since' }]
  const broken = await world.make({ metric, filters: goal })
  const { id } = await world.make({ metric })
  for (let i = 0; i < 3; i++) await world.tick(i)
  t.match(world.logged, [{ alert: broken.id }])
  t.equal(world.logged.length, 1)
  t.same(await world.events(id), ['fired 10:00'])
})

t.test('a new definition starts afresh, a new name does not', async (t) => {
  const world = await alertEvaluation(t)
  await world.commit({ events: visitors(3, 1) })
  const { id } = await world.make({ metric })
  await world.tick()
  await world.alerts.change(id, async (now) => ({ ...now, name: 'Renamed' }), deed)
  await world.tick(1)
  t.equal((await world.events(id)).length, 1)
  await world.alerts.change(id, async (now) => ({ ...now, value: 2 }), deed)
  await world.tick(2)
  t.same(await world.events(id), ['fired 10:00', 'fired 10:02'])
})

t.test('an alert that changes during its measurement sends nothing for the old definition', async (t) => {
  for (const [why, change] of [
    ['another value', { value: 4 }],
    ['disabled', { enabled: false }],
    ['deleted', undefined],
  ] as const) {
    const world = await alertEvaluation(t)
    await world.commit({ events: visitors(3, 1) })
    const { id } = await world.make({ metric })
    world.duringNextQuery(() =>
      change ? world.alerts.change(id, async (now) => ({ ...now, ...change }), deed) : world.alerts.delete(id, deed),
    )
    await world.tick()
    t.same(await world.events(id), [], why)
    if (change) await world.alerts.change(id, async (now) => ({ ...now, value: 3, enabled: true }), deed)
    await world.tick(1)
    t.same(await world.events(id), change ? ['fired 10:01'] : [], 'the new definition is measured')
    t.same(world.logged, [])
  }
})
