import t from 'tap'
import type { EventRow } from '../../../src/storage/rows.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'
import { all, asker, IN, user } from './url-rows.js'

/** A fetch of a page by ChatGPT-User, some seconds after midnight. */
const fetch = (seconds: number, pathname = '/a', of = {}) => ({
  agent_events: [agentRow({ ...user, pathname, timestamp: new Date(IN.getTime() + seconds * 1000), ...of })],
})
let sessions = 0n
/** A visit from ChatGPT that enters at a page, some seconds after midnight. */
const visit = (seconds: number, pathname = '/a', of: Partial<EventRow> = {}) => {
  sessions += 1n
  const timestamp = new Date(IN.getTime() + seconds * 1000)
  const from = { channel: 'AI Assistants', source: 'ChatGPT', session_id: sessions, visitor_id: sessions }
  return { events: [eventRow({ ...from, timestamp, pathname, entry_page: pathname, ...of })] }
}
const claude = { agent_id: 'claude-user', operator: 'Anthropic' }

t.test('answers: to which fetch an arrival belongs', async (t) => {
  const one = {
    fetches: 1,
    followed: 1,
    followed_same_page: 1,
    arrivals: 1,
    same_page: 1,
    other_page: 0,
    not_followed: 0,
  }
  const none = {
    fetches: 1,
    followed: 0,
    followed_same_page: 0,
    arrivals: 0,
    same_page: 0,
    other_page: 0,
    not_followed: 1,
  }
  const cases: [rows: Parameters<typeof all>, query: string, wanted: object[], why: string][] = [
    [[fetch(0), visit(41)], '', [{ pathname: '/a', ...one, delays: [41] }], 'the same page'],
    [[fetch(0), visit(0)], '', [{ ...one, delays: [0] }], 'in the same moment'],
    [[fetch(0), visit(600)], '', [{ ...one, delays: [600] }], 'exactly at the limit'],
    [[fetch(0), visit(600.001)], '', [none], 'just after the limit'],
    [[fetch(0), visit(61)], 'minutes=1', [none], 'after a shorter limit'],
    [[fetch(0), visit(61)], 'minutes=2', [{ ...one, delays: [61] }], 'within a longer one'],
    [[fetch(10), visit(9)], '', [none], 'an arrival before any fetch'],
    [[visit(9)], '', [], 'an arrival without a fetch'],
    [
      [fetch(0), visit(5), visit(9)],
      '',
      [{ ...one, arrivals: 2, same_page: 2, delays: [5, 9] }],
      'two after one fetch',
    ],
    [
      [fetch(0), visit(5, '/b'), visit(9)],
      '',
      [{ ...one, arrivals: 2, other_page: 1, delays: [5, 9] }],
      'one fetch, first a reader of another page and then one of the same',
    ],
    [
      [fetch(0), fetch(10), visit(20)],
      '',
      [{ ...one, fetches: 2, not_followed: 0.5, delays: [10] }],
      'one after two fetches follows the later',
    ],
    [
      [fetch(0), fetch(10, '/b'), visit(20)],
      '',
      [
        { pathname: '/a', ...one, delays: [20] },
        { pathname: '/b', ...none },
      ],
      'the same page goes before a later fetch of another',
    ],
    [
      [fetch(0, '/b'), fetch(10, '/c'), visit(20)],
      '',
      [
        { pathname: '/c', ...one, followed_same_page: 0, same_page: 0, other_page: 1, delays: [10] },
        { pathname: '/b', ...none },
      ],
      'another page: the latest',
    ],
    [
      [fetch(0), fetch(0, '/a', claude), visit(20), visit(30, '/a', { source: 'Claude' })],
      'by=operator',
      [
        { operator: 'Anthropic', ...one, delays: [30] },
        { operator: 'OpenAI', ...one, delays: [20] },
      ],
      'two operators at once',
    ],
    [[fetch(0, '/a', claude), visit(20)], '', [none], 'another operator sent the reader'],
    [[fetch(-30), visit(30)], '', [{ ...one, delays: [60] }], 'across midnight'],
    [[fetch(0), visit(20, '/a', { source: 'ChatGPT', channel: 'Direct' })], '', [none], 'no assistant'],
    [[fetch(0, '/a', { purpose: 'search' }), visit(20)], '', [], 'a crawler of an index'],
    [[fetch(0, '/a', { verification: 'spoofed' }), visit(20)], '', [], 'not the agent that it names'],
    [[fetch(0, '/a', { action: 'block' }), visit(20)], '', [], 'refused by a rule'],
    [[fetch(0, '/a', { is_pageview: false }), visit(20)], '', [], 'not a page'],
    [[fetch(0, '/a', { operator: 'Instapaper' })], '', [], 'an operator that is no known source'],
    [[fetch(0), fetch(0, '/a', claude), visit(9)], 'operator=OpenAI', [{ ...one, delays: [9] }], 'one operator alone'],
  ]
  for (const [worlds, query, wanted, why] of cases) {
    const { data } = await (await asker(all(...worlds)))('answers', query)
    t.match(data, wanted, why)
    t.equal(Array.isArray(data) && data.length, wanted.length, why)
  }
})

t.test('answers: few and enough arrivals', async (t) => {
  const follow = (n: number) => all(fetch(0), ...[2, 4, 30, 40, 50].slice(0, n).map((seconds) => visit(seconds)))
  const four = await (await asker(follow(4)))('answers')
  t.match(four.data, [{ arrivals: 4, delays: [2, 4, 30, 40], delay: undefined, stay: undefined }], 'listed singly')
  const ask = await asker(follow(5))
  t.match((await ask('answers')).data, [{ arrivals: 5, delays: undefined, delay: 30, stay: 0 }], 'a median')
  const { data, meta } = await ask('answers/summary')
  const by_delay = [
    { from: 0, to: 30, arrivals: 2, chance: 0 },
    { from: 30, to: 60, arrivals: 3 },
  ]
  t.match(data, { fetches: 1, followed: 1, chance: 0, by_delay })
  t.match(meta.warnings, [{ code: 'arrivals_are_a_floor' }])
  const empty = await (await asker(all()))('answers/summary')
  t.match(empty.data, { fetches: undefined, followed: undefined, chance: undefined }, 'nothing was recorded')
})

t.test('answers: by chance, and logs without referrers', async (t) => {
  const day = 86_400
  const moved = await (await asker(all(fetch(day), visit(9), visit(day + 40))))('answers/summary')
  t.match(moved.data, {
    arrivals: 1,
    ...{ chance: 1, chance_followed: 1, chance_followed_same_page: 1 },
    by_delay: [
      { arrivals: 0, chance: 1 },
      { arrivals: 1, chance: 0 },
    ],
  })
  const log = { import_id: 3 }
  const without = await (await asker(all(fetch(0, '/a', log), fetch(0, '/b'), visit(9, '/b', log))))('answers')
  t.match(without.data, [{ pathname: '/b', followed: 1 }], 'the fetch is left out')
  t.match(without.meta.warnings, [{}, { code: 'no_referrers_in_logs', message: /^1 fetches come from access logs/ }])
  const referrer = 'https://chatgpt.com/'
  const named = await (await asker(all(fetch(0, '/a', log), visit(9, '/a', { ...log, referrer }))))('answers')
  t.match(named.data, [{ pathname: '/a', followed: 1, delays: [9] }], 'a log with referrers is exact to a second')
})
