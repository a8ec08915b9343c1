import t from 'tap'
import { z } from 'zod'
import type { EventRow } from '../../../src/storage/rows.js'
import { filterQuery, openReads, sessionRows } from '../../fixtures/ask-reads.js'

const DAY = 'site=1&start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z'
const NOW = new Date('2026-10-11T01:00:00Z')
const at = (time: string) => `2026-10-${time}Z`
const custom = (event_name: string, props: unknown = null): Partial<EventRow> => ({
  ...{ kind: 'custom', event_name, props: props === null ? null : JSON.stringify(props) },
})
const of = (kind: string, props: unknown): Partial<EventRow> => ({ kind, props: JSON.stringify(props) })

const ann = sessionRows(1n, 1n, at('09T23:50:00'), { country: 'DE' })
const bob = sessionRows(2n, 2n, at('10T12:00:00'))
const zoe = sessionRows(1n, 1n, at('10T12:00:00'), { site_id: 2 })

const WORLD = {
  events: [
    ann(at('09T23:50:00'), '/'),
    ann(at('09T23:59:59.999'), '/', custom('signup', { plan: 'old' })),
    ann(at('10T00:00:00'), '/', custom('signup', { plan: 'pro', price: 9.5, trial: true, note: null })),
    ann(at('10T00:01:00'), '/b', custom('signup', { plan: 'pro', price: 20 })),
    bob(at('10T12:00:00'), '/', { props: '{"plan":"of a pageview"}' }),
    bob(at('10T12:01:00'), '/', custom('signup', { plan: 'free', seats: { most: [1, 'a'] } })),
    bob(at('10T12:02:00'), '/', custom('outbound', { plan: 'custom' })),
    bob(at('10T12:03:00'), '/', of('outbound', { url: 'https://a.example/' })),
    bob(at('10T12:04:00'), '/', of('outbound', { url: 'https://a.example/' })),
    bob(at('10T12:05:00'), '/', of('outbound', { url: 'https://b.example/' })),
    bob(at('10T12:06:00'), '/', of('file_download', { url: '/a.pdf' })),
    bob(at('10T12:07:00'), '/', of('form', { form: 'contact' })),
    bob(at('10T12:08:00'), '/', { kind: 'engagement', engaged_ms: 5000 }),
    bob(at('10T12:08:00'), '/', { kind: 'web_vitals' }),
    bob(at('10T12:08:00'), '/', { kind: 'error' }),
    bob(at('11T00:00:00'), '/', custom('signup', { plan: 'late' })),
    zoe(at('10T12:00:00'), '/', custom('secret', { plan: 'theirs' })),
    zoe(at('10T12:00:00'), '/', custom('signup', { plan: 'theirs' })),
  ],
  agent_events: [],
}
const signup = {
  ...{ name: 'signup', kind: 'custom', events: 3, visitors: 2 },
  properties: [
    {
      key: 'plan',
      values: [
        { value: 'pro', events: 2 },
        { value: 'free', events: 1 },
      ],
    },
    {
      key: 'price',
      values: [
        { value: '20', events: 1 },
        { value: '9.5', events: 1 },
      ],
    },
    { key: 'seats', values: [{ value: '{"most":[1,"a"]}', events: 1 }] },
    { key: 'trial', values: [{ value: 'true', events: 1 }] },
  ],
}
const outbound = {
  ...{ name: 'outbound', kind: 'outbound', events: 3, visitors: 1 },
  properties: [
    {
      key: 'url',
      values: [
        { value: 'https://a.example/', events: 2 },
        { value: 'https://b.example/', events: 1 },
      ],
    },
  ],
}
const plain = (name: string, kind: string, key: string, value: string) => ({
  ...{ name, kind, events: 1, visitors: 1, properties: [{ key, values: [{ value, events: 1 }] }] },
})
const named = plain('outbound', 'custom', 'plan', 'custom')

t.test('stats/events', async (t) => {
  const ask = await openReads(t, WORLD, NOW)
  const { data, meta } = await ask('events', DAY)
  t.strictSame(data, [
    signup,
    outbound,
    plain('file_download', 'file_download', 'url', '/a.pdf'),
    plain('form', 'form', 'form', 'contact'),
    named,
  ])
  t.match(meta, { rows: 5, total: 5, warnings: undefined }, 'nothing was cut')
  t.match((await ask('overview', DAY)).data, { events: 9 }, 'they add up to the metric')

  t.strictSame((await ask('events', `${DAY}&limit=1&page=2`)).data, [outbound], 'page by page')
  t.match((await ask('events', `${DAY}&limit=1&page=2`)).meta, { total: 5 })
  t.strictSame((await ask('events', `${DAY}&name=outbound`)).data, [outbound, named], 'of one name')
  t.strictSame((await ask('events', `${DAY}&name=Signup`)).data, [], 'in its case')
  t.match((await ask('events', `${DAY}&name=signup&property=price`)).data, [
    { events: 3, properties: { length: 1, 0: signup.properties[1] } },
  ])
  t.match((await ask('events', `${DAY}&property=plan`)).data, [
    { properties: [signup.properties[0]] },
    { name: 'outbound', kind: 'outbound', properties: { length: 0 } },
  ])
  t.match(
    (await ask('events', `${DAY}&name=signup&compare=previous`)).data,
    [{ comparison: { events: 1, visitors: 1 }, change: { events: 2, visitors: 1 } }],
    'with the day before',
  )
  t.match(
    (await ask('events', `${DAY}${filterQuery({ dimension: 'country', op: 'is', value: 'DE' })}`)).data,
    [{ name: 'signup', events: 2, visitors: 1, properties: [{ key: 'plan' }, { key: 'price' }, { key: 'trial' }] }],
    'of these people',
  )
  t.match(
    (await ask('events', `${DAY}${filterQuery({ dimension: 'prop:plan', op: 'is', value: 'free' })}`)).data,
    [{ name: 'signup', events: 1, properties: { length: 2 } }],
    'a filter on what a hit has is of that hit',
  )
  t.match((await ask('events', DAY.replace('site=1', 'site=2'))).data, [
    { name: 'secret', events: 1 },
    { name: 'signup', events: 1, properties: [{ values: [{ value: 'theirs' }] }] },
  ])
  for (const [query, field] of [
    ['name=', 'name'],
    ['property=', 'property'],
    [`property=${'x'.repeat(501)}`, 'property'],
    ['name=a&name=b', 'name'],
  ] as const) {
    await t.rejects(ask('events', `${DAY}&${query}`), { code: 'validation_error', field }, query.slice(0, 30))
  }
})

t.test('properties with unusual names', async (t) => {
  const keys = [
    `it's`,
    'a"b',
    'a/b~c',
    '~1',
    '$.a',
    '*',
    'a.b',
    '[0]',
    '\u{1F600}',
    ' ',
    '\\',
    "' or 1=1 --",
    '__proto__',
  ]
  const hit = sessionRows(1n, 1n, at('10T12:00:00'))
  const events = [
    ...keys.map((key, i) => hit(at('10T12:00:00'), '/', custom('odd', Object.fromEntries([[key, `v${i}`]])))),
    // Text that is not an object, or no JSON to the engine, has no properties and breaks nothing.
    ...['', 'junk', '[1,2]', '"text"', '5', 'null', '{"a":"\\ud800"}', '{"\\udc00":1}', '{"a":', `{"z":1,"z":2}`].map(
      (props) => hit(at('10T12:00:00'), '/', { ...custom('odd'), props }),
    ),
  ]
  const ask = await openReads(t, { events, agent_events: [] }, NOW)
  const Rows = z.array(
    z.object({
      events: z.int(),
      properties: z.array(
        z.object({ key: z.string(), values: z.array(z.object({ value: z.string(), events: z.int() })) }),
      ),
    }),
  )
  const [all] = Rows.parse((await ask('events', DAY)).data)
  t.equal(all?.events, 23)
  const found = new Map(all?.properties.map(({ key, values }) => [key, values]))
  for (const [i, key] of keys.entries()) {
    t.strictSame(found.get(key), [{ value: `v${i}`, events: 1 }], key)
    const [alone] = Rows.parse((await ask('events', `${DAY}&property=${encodeURIComponent(key)}`)).data)
    t.strictSame(alone?.properties, [{ key, values: [{ value: `v${i}`, events: 1 }] }], `${key} alone`)
    const same = filterQuery({ dimension: `prop:${key}`, op: 'is', value: `v${i}` })
    t.match((await ask('events', `${DAY}${same}`)).data, [{ events: 1 }], 'and filters say the same of it')
  }
})

t.test('properties and values are limited', async (t) => {
  const hit = sessionRows(1n, 1n, at('10T12:00:00'))
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${String(i).padStart(5, '0')}`, 'v']))
  const events = [
    hit(at('10T12:00:00'), '/', custom('wide', wide)),
    ...Array.from({ length: 150 }, (_, i) =>
      hit(at('10T12:00:00'), '/', custom('tall', { id: i < 3 ? 'common' : `id ${String(i).padStart(3, '0')}` })),
    ),
    hit(at('10T12:00:00'), '/', custom('even', Object.fromEntries(Object.entries(wide).slice(0, 20)))),
    ...Array.from({ length: 10 }, (_, i) =>
      hit(at('10T12:00:00'), '/', custom('flat', { id: i, ...(i === 0 ? { a: 1 } : {}) })),
    ),
  ]
  const ask = await openReads(t, { events, agent_events: [] }, NOW)
  const Rows = z.array(
    z.object({ name: z.string(), properties: z.array(z.object({ key: z.string(), values: z.array(z.unknown()) })) }),
  )
  const { data, meta } = await ask('events', DAY)
  const rows = Rows.parse(data)
  t.strictSame(
    rows.map(({ name, properties }) => [name, properties.length, properties[0]?.values.length]),
    [
      ['tall', 1, 10],
      ['flat', 2, 10],
      ['even', 20, 1],
      ['wide', 20, 1],
    ],
  )
  t.strictSame(rows[0]?.properties[0]?.values[0], { value: 'common', events: 3 }, 'the most frequent first')
  t.match(meta.warnings, [{ metric: 'properties', code: 'properties_cut' }])
  for (const name of ['flat', 'even']) {
    t.notOk((await ask('events', `${DAY}&name=${name}`)).meta.warnings, `${name}: as many as are shown`)
  }
  const one = await ask('events', `${DAY}&name=tall&property=id`)
  t.equal(Rows.parse(one.data)[0]?.properties[0]?.values.length, 100, 'of one property more')
  t.match(one.meta.warnings, [{ code: 'properties_cut' }])
})
