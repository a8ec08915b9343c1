import t from 'tap'
import { DAY, MINUTE, NOW, openNotes } from '../../fixtures/notes.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

const row = (agent_id: string, at: number, verification = 'unverifiable') =>
  agentRow({ agent_id, timestamp: new Date(at), verification, pathname: `/${agent_id}` })
/** A person who was there `days` ago, with whom the site's rows begin. */
const person = (days: number) => ({ events: [eventRow({ timestamp: new Date(NOW - days * DAY) })] })

t.test('the first fetch of a catalogued agent is a note', async (t) => {
  const gptbot = 'first_visit -1 First visit of GPTBOT (Op)'
  const rows: [days: number, rows: ReturnType<typeof row>[], notes: string[], why: string][] = [
    [7, [row('gptbot', NOW - MINUTE)], [], 'the site is a minute too young'],
    [8, [row('gptbot', NOW - MINUTE)], [gptbot], 'unverifiable'],
    [8, [row('gptbot', NOW - MINUTE, 'ranges')], [gptbot], 'verified'],
    [8, [row('gptbot', NOW - MINUTE, 'spoofed')], [], 'spoofed'],
    [8, [row('gptbot', NOW - MINUTE, 'indeterminate')], [], 'not verified yet'],
    [8, [row('other', NOW - MINUTE), row('nobody', NOW - MINUTE)], [], 'not in the catalogue'],
    [
      8,
      [row('gptbot', NOW - 2 * MINUTE, 'spoofed'), row('gptbot', NOW - MINUTE)],
      [gptbot],
      'the first one that counts',
    ],
    [60, [row('gptbot', NOW - 30 * DAY), row('gptbot', NOW - MINUTE)], [], 'it was here before'],
    [8, [row('gptbot', NOW - MINUTE), row('gptbot', NOW)], [gptbot], 'twice'],
  ]
  for (const [days, agent_events, notes, why] of rows)
    await t.test(why, async (t) => {
      const { commit, pass, list, restart } = await openNotes(t)
      await commit({ ...person(days), agent_events })
      const agents = agent_events.map(({ agent_id }) => agent_id)
      for (let n = 0; n < 3; n++) {
        await pass(NOW + n, { agents })
        if (n === 1) restart()
      }
      t.same(await list(), notes)
    })
})

t.test('a note says who it was, and comes when the claim is verified', async (t) => {
  const { commit, pass, annotations, workerClient } = await openNotes(t)
  await commit({ ...person(30), agent_events: [row('gptbot', NOW, 'indeterminate')] })
  await pass(NOW + 1, { agents: ['gptbot'] })
  await commit({ agent_events: [row('gptbot', NOW + MINUTE, 'rdns')] })
  await pass(NOW + 14 * MINUTE, { agents: ['gptbot'] })
  const [note] = await annotations().list(1)
  t.match(note, {
    happened_at: new Date(NOW + MINUTE),
    data: { agent_id: 'gptbot', name: 'GPTBOT', operator: 'Op', verification: 'rdns', pathname: '/gptbot' },
  })
  let asked = 0
  const { query } = workerClient.events
  workerClient.events.query = (...parameters) => {
    asked += 1
    return query(...parameters)
  }
  await pass(NOW + 15 * MINUTE, { agents: ['gptbot'] })
  t.equal(asked, 0, 'the store is not asked about a known agent')
})

t.test('at most five a day are notes', async (t) => {
  const { commit, pass, list } = await openNotes(t)
  const ids = ['gptbot', 'claudebot', 'ccbot', 'bytespider', 'amazonbot', 'applebot']
  await commit({ ...person(30), agent_events: ids.map((id, i) => row(id, NOW + i * MINUTE)) })
  for (const [i, id] of ids.entries()) await pass(NOW + i * MINUTE, { agents: [id] })
  t.equal((await list()).length, 5)
  await commit({ agent_events: [row('bingbot', NOW + DAY + 6 * MINUTE)] })
  await pass(NOW + DAY + 7 * MINUTE, { agents: [...ids, 'bingbot'] })
  t.same(await list(NOW + DAY), ['first_visit 6 First visit of BINGBOT (Op)'], 'and the next day there is room again')
})
