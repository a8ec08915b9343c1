import t from 'tap'
import type { Alert } from '../../../src/manage/alerts.js'
import { ago, alertEvaluation, fetches, MINUTE, pathname, visitors } from '../../fixtures/alert-evaluation.js'
import { editionRow } from '../../fixtures/rows.js'

t.test('an old edition is as old as the change that an operator with readers has not read', async (t) => {
  const [DAY, assistant] = [1_440, { operator: 'OpenAI', purpose: 'assistant' }]
  const sent = (n: number, of: string, source: string) =>
    visitors(n, 30, { pathname: of, entry_page: of, source, channel: 'AI Assistants' })
  const edition = (of: string, days: number) => [
    editionRow({
      pathname: of,
      first_seen: ago(90 * DAY),
      last_seen: ago(days * DAY + 10),
      replaced_at: ago(days * DAY),
    }),
    editionRow({ pathname: of, first_seen: ago(days * DAY), prior_seen: ago(days * DAY + 10), digest: 'new' }),
  ]
  const put = [...edition('/a', 3), ...edition('/b', 5), ...edition('/c', 9), ...edition('/d', 20)]
  const rows = {
    events: [...sent(2, '/a', 'chatgpt.com'), ...sent(1, '/b', 'claude.ai'), ...sent(4, '/c', 'chatgpt.com')],
    agent_events: [
      // Before the change, by an agent that is not for people, and a refusal: none of them is a read of the new text.
      ...fetches(1, 4 * DAY, { ...assistant, pathname: '/a' }),
      ...fetches(1, 60, { ...assistant, purpose: 'training', pathname: '/a' }),
      ...fetches(1, 60, { ...assistant, pathname: '/a', status: 404 }),
      ...fetches(1, 8 * DAY, { ...assistant, pathname: '/c' }),
    ],
  }
  // OpenAI has read /c since, Anthropic has never read /b, and no reader came to /d, the oldest.
  const cases: [why: string, alert: Partial<Alert>, value: number | undefined, details?: object[]][] = [
    [
      'the longest time counts',
      { value: 5 },
      5,
      [
        { operator: 'Anthropic', hostname: 'example.com', pathname: '/b', days: 5, readers: 1 },
        { operator: 'OpenAI', hostname: 'example.com', pathname: '/a', days: 3, readers: 2 },
      ],
    ],
    ['not yet', { value: 5.01 }, undefined],
    ['one page', { value: 3, filters: pathname('/a') }, 3],
    ['a page that was read again', { value: 0.01, filters: pathname('/c') }, undefined],
    ['a page without readers', { value: 0.01, filters: pathname('/d') }, undefined],
  ]
  for (const [missing, known] of [
    [0, 'all was recorded'],
    [59 * MINUTE, 'a read may be missing'],
  ] as const) {
    const world = await alertEvaluation(t)
    world.setMissing(missing)
    await world.writePageEditions({ put, remove: [] })
    await world.commit(rows)
    const made = []
    for (const [, alert] of cases) made.push(await world.make({ kind: 'old_edition', audience: 'agent', ...alert }))
    await world.tick()
    for (const [i, [why, , value, details]] of cases.entries()) {
      const event = await world.event(made[i]?.id ?? 0)
      t.equal(event?.value, missing > 0 ? undefined : value, `${known}: ${why}`)
      if (details && missing === 0) t.same(event?.details, details, why)
    }
    t.same(world.logged, [])
  }
})
