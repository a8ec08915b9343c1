import t from 'tap'
import { costOf, type Prices, type Taken } from '../../../src/analytics/query/bill.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { all, asker, BEFORE, common, IN, proven, spoofed, times } from './url-rows.js'

const EACH: Prices = { price_per_gigabyte: 0.09, price_per_thousand_requests: 0.4, price_per_origin_second: 0.012 }
const took = (fetches: number, bytes: number, ms: number, of: Partial<Taken> = {}): Taken => ({
  ...{ fetches, bytes, ms, without_bytes: 0, without_duration: 0, ...of },
})

t.test('what fetches cost', async (t) => {
  const CASES: readonly [Taken, Prices, bigint | undefined, why: string][] = [
    [took(3_426, 18_400_000_000, 1_022_000), EACH, 15_290_400n, '1.656 + 1.3704 + 12.264'],
    [took(1, 0, 0), {}, undefined, 'no price'],
    [took(1_000, 0, 0), { price_per_gigabyte: 1 }, 0n, 'only what has a price'],
    [took(1, 500, 0), { price_per_gigabyte: 1 }, 1n, 'half a millionth is rounded up'],
    [took(1, 499, 0), { price_per_gigabyte: 1 }, 0n, 'less than half is rounded down'],
    [took(1, 9, 0), { price_per_gigabyte: 100_000.123456 }, 900n, 'a price of six digits'],
    [
      took(1_000_000, 9e15, 0),
      { price_per_gigabyte: 0.000001 },
      9_000_000n,
      'sums beyond what a double multiplies exactly',
    ],
    [took(5, 0, 0, { without_bytes: 5 }), { price_per_gigabyte: 1 }, undefined, 'no row says its size'],
    [took(5, 8e9, 0, { without_bytes: 4 }), { price_per_gigabyte: 1 }, 8_000_000n, 'one does'],
    [took(5, 0, 0, { without_duration: 5 }), EACH, 2_000n, 'five requests of which no row says a duration'],
    [took(0, 0, 0), EACH, 0n, 'nothing'],
  ]
  for (const [taken, prices, expected, why] of CASES) t.equal(costOf(taken, prices), expected, why)
})

const priced = (prices: Prices) => ({
  site: async (id: number) => {
    const site = await common.site(id)
    return site && { ...site, ...prices }
  },
})
const bing = { agent_id: 'bingbot', operator: 'Microsoft', purpose: 'search', ...proven }
const gpt = { agent_id: 'gptbot', operator: 'OpenAI', purpose: 'training', ...proven }
const fetched = (n: number, of: object) => ({ agent_events: times(n, () => agentRow({ timestamp: IN, ...of })) })
const came = (id: number, of: object) => ({
  events: [eventRow({ timestamp: IN, session_id: BigInt(id), duration_ms: 25, ...of })],
})
const world = all(
  fetched(2, { ...bing, bytes: 1_000_000, duration_ms: 50 }),
  fetched(2, { ...bing, bytes: 1_000_000, duration_ms: 50, timestamp: BEFORE }),
  fetched(4, { ...gpt, bytes: 2_000_000, duration_ms: 100 }),
  fetched(1, { ...gpt, bytes: 7, duration_ms: 9, action: 'block' }),
  fetched(1, { ...gpt, ...spoofed, bytes: 3, duration_ms: 25 }),
  came(1, { channel: 'Organic Search', source: 'Bing' }),
  came(2, { channel: 'Paid Search', source: 'Bing' }),
)

t.test('cost per reader, and why it is absent', async (t) => {
  const { data, meta } = await (await asker(world, priced({ price_per_gigabyte: 10 })))('bill', 'compare=previous')
  const [openai, microsoft, claimed] = Object(data).lines
  t.match(openai, { operator: 'OpenAI', cost: 0.08, readers: 0, no_cost_per_reader: 'no_reader_came' })
  t.match(microsoft, { operator: 'Microsoft', cost: 0.02, readers: 1, cost_per_reader: 0.02, share: 100 / 575 })
  t.match(microsoft.change, { cost: 0, fetches: 0 }, 'as much as before')
  t.match(openai.comparison, { fetches: 0, bytes: 0, cost: 0 }, 'nothing before')
  t.match(claimed, { kind: 'spoofed', fetches: 1, bytes: 3, no_cost_per_reader: 'no_operator' })
  t.match(data, {
    fetches: 7,
    bytes: 10_000_003,
    cost: 0.1,
    refused_fetches: 1,
    refused_bytes: 7,
    people_seconds: 0.05,
  })
  t.notMatch(data, { goals: Number }, 'the site has no goals')
  t.match(meta.warnings, [{ code: 'no_goals' }, { code: 'readers_are_a_floor' }])
})

t.test('without prices the amounts stay', async (t) => {
  const { data, meta } = await (await asker(world))('bill')
  const [openai] = Object(data).lines
  t.match(openai, { operator: 'OpenAI', bytes: 8_000_000, origin_seconds: 0.4, no_cost_per_reader: 'no_prices' })
  t.notOk('cost' in Object(data) || 'cost' in openai)
  t.match(meta.warnings, [{ code: 'no_prices', message: /^Set a price per gigabyte, request or second to see costs/ }])
})

t.test('rows that say neither size nor duration', async (t) => {
  const none = { ...bing, bytes: 0, duration_ms: 0 }
  const ask = await asker(all(fetched(2, none), fetched(1, { ...gpt, bytes: 0, status: 304 })), priced(EACH))
  const { data, meta } = await ask('bill')
  const lines: readonly { operator?: string; bytes?: number }[] = Object(data).lines
  const of = (name: string) => lines.find(({ operator }) => operator === name)
  t.match(of('Microsoft'), { fetches: 2, without_bytes: 2, without_duration: 2, cost: 0.0008 })
  t.notMatch(of('Microsoft'), { bytes: Number })
  t.match(of('OpenAI'), { bytes: 0, origin_seconds: 0.005 }, 'a 304 has no body')
  t.match(meta.warnings, [{ code: 'no_goals' }, { code: 'bytes_not_recorded' }, { code: 'durations_not_recorded' }])
})
