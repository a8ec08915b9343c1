import t from 'tap'
import type { AgentEventRow } from '../../../src/storage/rows.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { asker, BEFORE, day, IN, proven, search, spoofed, times, user } from './url-rows.js'

t.test('agents/coverage', async (t) => {
  const at = (date: Date, of: Partial<AgentEventRow>) => agentRow({ timestamp: date, ...of })
  const ask = await asker(
    {
      events: [
        ...times(3, (i) => eventRow({ timestamp: IN, pathname: '/read', session_id: BigInt(i) })),
        eventRow({ timestamp: BEFORE, pathname: '/once' }),
        eventRow({ timestamp: IN, pathname: '/guessed', kind: 'engagement' }),
        eventRow({ timestamp: IN, pathname: '/stale', suspected: true }),
      ],
      agent_events: [
        at(day(29), { pathname: '/a', status: 200, robots_allowed: true, llms_listed: 1, ...search, ...proven }),
        at(day(30), { pathname: '/a', status: 404, robots_allowed: false, llms_listed: 0, ...user }),
        at(day(40), { pathname: '/a', status: 500, robots_allowed: true, ...spoofed }),
        at(day(3), { pathname: '/stale', status: 200, robots_allowed: true }),
        at(day(2), { pathname: '/forgotten' }),
        at(day(35), { pathname: '/faked', ...spoofed }),
        at(day(60), { pathname: '/tomorrow' }),
        at(day(25), { pathname: '/twice', status: 200, robots_allowed: true, llms_listed: 1 }),
        at(day(25), { pathname: '/twice', status: 503, robots_allowed: false, llms_listed: 0 }),
        at(day(31), { pathname: '/a', site_id: 2 }),
      ],
    },
    {},
    [
      ['example.com', '/a'],
      ['example.com', '/listed'],
      ['example.com', '/listed'],
      ['two.example', '/theirs'],
    ],
  )
  const url = (pathname: string) => ({ hostname: 'example.com', pathname })
  const never = { fetches: 0, spoofed: 0, agents: [], pageviews: 0 }
  const a = {
    ...{ ...url('/a'), first_crawl: '2026-10-30T00:00:00.000Z', last_crawl: '2026-10-31T00:00:00.000Z' },
    ...{ freshness_gap: 20 * 86_400, fetches: 3, spoofed: 1, agents: ['bingbot', 'chatgpt-user'], last_status: 404 },
    ...{ robots_allowed: false, llms_listed: 0, in_sitemap: true, pageviews: 0 },
  }
  const twice = {
    ...{ ...url('/twice'), first_crawl: '2026-10-26T00:00:00.000Z', last_crawl: '2026-10-26T00:00:00.000Z' },
    ...{ freshness_gap: 25 * 86_400, fetches: 2, spoofed: 0, agents: ['gptbot'], last_status: 503 },
    ...{ robots_allowed: false, llms_listed: 0, in_sitemap: false, pageviews: 0 },
  }
  const faked = { ...url('/faked'), ...never, fetches: 1, spoofed: 1, in_sitemap: false }
  const read = { ...url('/read'), ...never, in_sitemap: false, pageviews: 3 }
  const listed = { ...url('/listed'), ...never, in_sitemap: true }
  const stale = {
    ...{ ...url('/stale'), ...never, last_crawl: '2026-10-04T00:00:00.000Z', freshness_gap: 47 * 86_400 },
    ...{ last_status: 200, robots_allowed: true, in_sitemap: false, pageviews: 1 },
  }
  const whole = await ask('agents/coverage')
  t.strictSame(whole.data, [a, twice, faked, read, stale, listed], 'fetched, then what is not, the most read first')
  t.match(whole.meta, { total: 6, query: { order: 'fetches', audience: 'agent' } })
  t.strictSame(
    (await ask('agents/coverage', 'order=stale')).data,
    [read, faked, listed, stale, twice, a],
    'never crawled, the most read first; then the longest ago',
  )
  t.strictSame((await ask('agents/coverage', 'order=stale&limit=2&page=2')).data, [listed, stale])
  t.match((await ask('agents/coverage', 'limit=2&page=9')).meta, { total: 6, rows: 0 })
  const filters = (value: unknown) => `filters=${encodeURIComponent(JSON.stringify(value))}`
  const by = async (value: unknown) => (await ask('agents/coverage', filters(value))).data
  t.match(await by([{ dimension: 'pathname', op: 'is', value: '/listed' }]), [listed], 'of the sitemap too')
  t.match(
    await by([{ dimension: 'suspected', op: 'is', value: false }]),
    [{}, {}, {}, read, listed],
    'of people alone: /stale was read by nobody then',
  )
  t.match(
    await by([{ dimension: 'agent_id', op: 'is', value: 'bingbot' }]),
    [
      { pathname: '/a', fetches: 1, agents: ['bingbot'] },
      { pathname: '/read' },
      { pathname: '/stale', last_crawl: undefined },
      listed,
    ],
    'what that agent has and has not',
  )
  await t.rejects(ask('agents/coverage', 'order=age'), { code: 'validation_error', field: 'order' })
})
