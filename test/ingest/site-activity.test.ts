import t from 'tap'
import { createSiteActivityCounter } from '../../src/ingest/site-activity.js'

const NOW = Date.UTC(2026, 10, 21, 10, 0, 30)
const MINUTE = 60_000

t.test('responses are counted by site and minute, and taken once', async (t) => {
  const { addResponse, addAgents, take } = createSiteActivityCounter(() => NOW)
  const responses: [site: number, status: number, secondsAgo: number][] = [
    [1, 200, 0],
    [1, 500, 30],
    [1, 503, 31],
    [1, 503, 32],
    [1, 404, 33],
    [2, 499, 0],
    // Late deliveries and clocks that are wrong.
    [1, 500, 600],
    [1, 500, -600],
    [1, 500, Number.NaN],
    [3, 500, 86_400],
  ]
  for (const [site, status, secondsAgo] of responses) addResponse(site, { status }, NOW - secondsAgo * 1_000)
  const rows: [agent: string, verification: string][] = [
    ['gptbot', 'ranges'],
    ['gptbot', 'unverifiable'],
    ['ccbot', 'unverifiable'],
    ['bytespider', 'spoofed'],
    ['claudebot', 'indeterminate'],
  ]
  addAgents(rows.map(([agent_id, verification]) => ({ site_id: 2, agent_id, verification })))
  t.same(take(), [
    {
      site: 1,
      minutes: [
        { at: NOW - 30_000, responses: 2, statuses: { 500: 1 } },
        { at: NOW - 30_000 - MINUTE, responses: 3, statuses: { 503: 2 } },
      ],
      agents: [],
    },
    { site: 2, minutes: [{ at: NOW - 30_000, responses: 1, statuses: {} }], agents: ['gptbot', 'ccbot'] },
  ])
  t.same(take(), [])
})
