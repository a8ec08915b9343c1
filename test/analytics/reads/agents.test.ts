import t from 'tap'
import type { AgentEventRow } from '../../../src/storage/rows.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { asker, IN, proven, spoofed } from './url-rows.js'

t.test('warnings explain the verified share', async (t) => {
  const row = (of: Partial<AgentEventRow>) => agentRow({ timestamp: IN, ...of })
  const none = { verified_fetches: 0, spoofed: 0, indeterminate: 0, unverifiable: 0 }
  const nothing = { metric: 'verified', code: 'nothing_verified' }
  const open = { metric: 'verified', code: 'verification_indeterminate', message: /leaves out 2 / }
  const worlds: [rows: AgentEventRow[], wanted: object, warnings: object[] | undefined, why: string][] = [
    [
      [row(proven), row(spoofed)],
      { verified: 0.5, ...none, verified_fetches: 1, spoofed: 1 },
      undefined,
      'all is known',
    ],
    [[row(proven)], { verified: 1, ...none, verified_fetches: 1 }, undefined, 'all is well'],
    [[row(spoofed)], { verified: 0, ...none, spoofed: 1 }, undefined, 'nothing is true: a share of 0, not absent'],
    [[row({}), row({})], { ...none, indeterminate: 2 }, [nothing, open], 'nobody could say'],
    [
      [row(proven), row({}), row({})],
      { verified: 1, ...none, verified_fetches: 1, indeterminate: 2 },
      [open],
      'some could not be checked',
    ],
    [[row({ verification: 'unverifiable' })], { ...none, unverifiable: 1 }, [nothing], 'nothing is published'],
    [[], none, [nothing], 'nothing was fetched'],
  ]
  for (const [agent_events, wanted, warnings, why] of worlds) {
    // A person came before, so that the time of the fetches is known to be recorded.
    const ask = await asker({ events: [eventRow({ timestamp: new Date(IN.getTime() - 60_000) })], agent_events })
    for (const [path, more] of [['agents/overview'], ['stats/overview', 'audience=agent']] as const) {
      const { data, meta } = await ask(path, more)
      t.match(data, wanted, `${path}: ${why}`)
      t.equal(JSON.stringify(data).includes('"verified":'), 'verified' in wanted, 'there or not')
      // The summary of both audiences also says which metrics of people are absent.
      const own = meta.warnings?.filter(({ code }) => code !== 'not_for_audience') ?? []
      t.match(own, warnings ?? [], why)
      t.equal(own.length, warnings?.length ?? 0, 'said once')
    }
    const series = await ask('stats/timeseries', 'audience=agent&metric=verified&granularity=month')
    const { verified: value, ...counts } = { verified: undefined, unverifiable: 0, ...wanted }
    const { unverifiable, ...beside } = counts
    const bucket = { ...(value === undefined ? {} : { value }), ...beside }
    t.match(series.data, { buckets: { 0: bucket } }, `timeseries: the counts beside the share: ${why}`)
    const { data, meta } = await ask('agents/breakdown', 'dimension=operator')
    t.match(data, agent_events.length ? [{ value: 'OpenAI', ...wanted }] : [], `breakdown: ${why}`)
    if (agent_events.length) t.match(meta.warnings, warnings, why)
  }
})
