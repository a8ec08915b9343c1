import t from 'tap'
import { z } from 'zod'
import { DIMENSIONS } from '../../../src/analytics/query/dimensions.js'
import { filterQuery, openReads, sessionRows } from '../../fixtures/ask-reads.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

const DAY = 'site=1&start=2026-10-10T00:00:00Z&end=2026-10-11T00:00:00Z'
const at = (time: string) => `2026-10-${time}Z`
const search = { source: 'Google', channel: 'Organic Search' }
const spring = { utm_campaign: 'spring' }
const mac = { browser: 'Chrome', os: 'macOS', device_type: 'desktop', screen_class: 'lg' }
const windows = { browser: 'Firefox', os: 'Windows', device_type: 'desktop', screen_class: 'md' }
const phone = { browser: 'Safari', os: 'iOS', device_type: 'mobile', screen_class: 'sm' }

/** Began at the window's first instant. */
const ann = sessionRows(1n, 1n, at('10T00:00:00'), {
  ...{ ...search, ...mac, country: 'DE', region: 'Berlin', city: 'Berlin' },
})
const bob = sessionRows(2n, 2n, at('10T12:00:00'), {
  ...{ source: 'Google', channel: 'Paid Search', ...spring, utm_source: 'google', utm_medium: 'cpc' },
  ...{ ...windows, country: 'DE' },
})
const bobAgain = sessionRows(2n, 4n, at('10T20:00:00'), { ...search, ...windows, country: 'DE' })
/** Began before the window. */
const eve = sessionRows(3n, 3n, at('09T23:50:00'), {
  ...phone,
  country: 'US',
  region: 'California',
  city: 'San Francisco',
})
/** Began in the window's last millisecond, continued after it, and has no dimension's value. */
const cat = sessionRows(4n, 5n, at('10T23:59:59.999'), { channel: 'Email', ...spring })
/** Began at the window's end. */
const dan = sessionRows(5n, 6n, at('11T00:00:00'), { ...search, ...mac, utm_campaign: 'late', country: 'DE' })
/** A session of the other site with ann's ids. */
const zoe = sessionRows(1n, 1n, at('10T01:00:00'), {
  ...{ site_id: 2, source: 'Bing', channel: 'Organic Search', utm_campaign: 'other', country: 'FR', browser: 'Opera' },
})

const WORLD = {
  events: [
    ann(at('10T00:00:00'), '/'),
    ann(at('10T00:10:00'), '/a'),
    bob(at('10T12:00:00'), '/'),
    eve(at('09T23:50:00'), '/'),
    eve(at('10T00:05:00'), '/a'),
    bobAgain(at('10T20:00:00'), '/'),
    bobAgain(at('10T20:01:00'), '/', { kind: 'custom', event_name: 'signup', props: '{"plan":"pro"}' }),
    cat(at('10T23:59:59.999'), '/'),
    cat(at('11T00:29:59.999'), '/b'),
    dan(at('11T00:00:00'), '/'),
    zoe(at('10T01:00:00'), '/'),
  ],
  agent_events: [
    agentRow({ timestamp: new Date(at('10T03:00:00')), country: 'US', bytes: 10 }),
    agentRow({ timestamp: new Date(at('10T04:00:00')), country: 'US', bytes: 20, is_pageview: false, status: 404 }),
    agentRow({ timestamp: new Date(at('10T05:00:00')), bytes: 5 }),
    agentRow({ timestamp: new Date(at('11T00:00:00')), country: 'US' }),
    agentRow({ timestamp: new Date(at('10T05:00:00')), site_id: 2, country: 'FR' }),
  ],
}
const NOW = new Date(at('11T01:00:00'))
const none = { visitors: 0, sessions: 0, pageviews: 0 }
const one = { visitors: 1, sessions: 1, pageviews: 1 }
const organic = { visitors: 2, sessions: 2, pageviews: 3, bounce: 0, duration: 330 }
const direct = { visitors: 1, sessions: 0, pageviews: 1 }
const email = { ...one, bounce: 0, duration: 1800 }
const paid = { ...one, bounce: 1, duration: 0 }

t.test('stats/sources', async (t) => {
  const ask = await openReads(t, WORLD, NOW)
  const { data, meta } = await ask('sources', DAY)
  t.strictSame(data, {
    channels: [
      { channel: 'Organic Search', ...organic },
      { channel: 'Email', ...email },
      { channel: 'Paid Search', ...paid },
      { channel: 'Direct', ...direct },
    ],
    sources: [
      { source: 'Google', channel: 'Organic Search', ...organic },
      { source: 'Google', channel: 'Paid Search', ...paid },
      { channel: 'Email', ...email },
      { channel: 'Direct', ...direct },
    ],
    campaigns: [
      { ...spring, utm_source: 'google', utm_medium: 'cpc', ...paid },
      { ...spring, ...email },
    ],
  })
  t.match(meta, { rows: 10, total: undefined, query: { limit: 50 } })
  t.match((await ask('sources', `${DAY}&limit=1`)).data, {
    channels: { length: 1 },
    sources: { length: 1 },
    campaigns: { length: 1 },
  })
  await t.rejects(ask('sources', `${DAY}&limit=0`), { code: 'validation_error', field: 'limit' })
  const together = await ask('sources', `${DAY}&audience=all&limit=1`)
  t.strictSame(
    together.data,
    {
      channels: [{ channel: 'Organic Search', pageviews: 3 }],
      sources: [{ source: 'Google', channel: 'Organic Search', pageviews: 3 }],
      campaigns: [{ ...spring, utm_source: 'google', utm_medium: 'cpc', pageviews: 1 }],
    },
    'only what can be summed',
  )

  const before = { comparison: none, change: {} }
  const then = {
    comparison: { ...one, bounce: 0, duration: 900 },
    change: { visitors: 0, sessions: -1, pageviews: 0 },
  }
  t.match(
    (await ask('sources', `${DAY}&compare=previous`)).data,
    {
      channels: [
        { channel: 'Organic Search', ...before },
        { channel: 'Email', ...before },
        { channel: 'Paid Search', ...before },
        { channel: 'Direct', ...then },
      ],
      sources: [{ source: 'Google', ...before }, before, before, { channel: 'Direct', source: undefined, ...then }],
      campaigns: [before, before],
    },
    'every row of every list beside its own of the day before',
  )
  t.strictSame(
    (await ask('sources', `${DAY}${filterQuery({ dimension: 'pathname', op: 'is', value: '/a' })}`)).data,
    {
      channels: [
        { channel: 'Organic Search', ...one, duration: 600 },
        { channel: 'Direct', ...direct },
      ],
      sources: [
        { source: 'Google', channel: 'Organic Search', ...one, duration: 600 },
        { channel: 'Direct', ...direct },
      ],
      campaigns: [],
    },
    'a filter that one hit of a session passes; nobody entered there',
  )
  t.match((await ask('sources', DAY.replace('site=1', 'site=2'))).data, {
    channels: [{ channel: 'Organic Search', ...one }],
    sources: [{ source: 'Bing' }],
    campaigns: [{ utm_campaign: 'other' }],
  })
})

t.test('sources with unusual names stay separate', async (t) => {
  const names = ["a'b", 'a","b', 'a, b', 'NULL', '', '\u{1F600}', 'x'.repeat(500)]
  const events = names.map((source, i) => {
    const hit = sessionRows(BigInt(i), BigInt(i), at('10T01:00:00'), { source, channel: `b${source}` })
    return hit(at('10T01:00:00'), '/')
  })
  const ask = await openReads(t, { events, agent_events: [] }, NOW)
  const shape = z.object({ sources: z.array(z.object({ source: z.string(), channel: z.string(), visitors: z.int() })) })
  const { sources } = shape.parse((await ask('sources', `${DAY}&compare=year`)).data)
  t.strictSame(
    new Set(sources.map((row) => JSON.stringify(row))),
    new Set(names.map((source) => JSON.stringify({ source, channel: `b${source}`, visitors: 1 }))),
  )
})

t.test('stats/locations', async (t) => {
  const ask = await openReads(t, WORLD, NOW)
  const unknown = { ...email, views_per_session: 2, events: 0 }
  const american = { country: 'US' }
  t.strictSame((await ask('locations', DAY)).data, {
    countries: [
      {
        ...{ country: 'DE', visitors: 2, sessions: 3, pageviews: 4, bounce: 1 / 3, duration: 220 },
        ...{ views_per_session: 4 / 3, events: 1 },
      },
      unknown,
      { ...american, ...direct, events: 0 },
    ],
    regions: [
      {
        ...{ country: 'DE', visitors: 1, sessions: 2, pageviews: 2, bounce: 0.5, duration: 30 },
        ...{ views_per_session: 1, events: 1 },
      },
      {
        ...{ country: 'DE', region: 'Berlin', visitors: 1, sessions: 1, pageviews: 2, bounce: 0, duration: 600 },
        ...{ views_per_session: 2, events: 0 },
      },
      unknown,
      { ...american, region: 'California', ...direct, events: 0 },
    ],
    cities: [
      {
        ...{ country: 'DE', visitors: 1, sessions: 2, pageviews: 2, bounce: 0.5, duration: 30 },
        ...{ views_per_session: 1, events: 1 },
      },
      {
        ...{ country: 'DE', region: 'Berlin', city: 'Berlin', visitors: 1, sessions: 1, pageviews: 2 },
        ...{ bounce: 0, duration: 600, views_per_session: 2, events: 0 },
      },
      unknown,
      { ...american, region: 'California', city: 'San Francisco', ...direct, events: 0 },
    ],
  })
  const proof = { verified_fetches: 0, spoofed: 0, indeterminate: 2, unverifiable: 0 }
  t.strictSame(
    (await ask('locations', `${DAY}&audience=agent`)).data,
    {
      countries: [
        { ...american, fetches: 2, pageviews: 1, agents: 1, ...proof, bytes: 30 },
        { fetches: 1, pageviews: 1, agents: 1, ...proof, indeterminate: 1, bytes: 5 },
      ],
    },
    'of agents no more is known',
  )
  t.strictSame(
    (await ask('locations', `${DAY}&audience=all&compare=previous`)).data,
    {
      countries: [
        { country: 'DE', pageviews: 4, comparison: { pageviews: 0 }, change: {} },
        { country: 'US', pageviews: 2, comparison: { pageviews: 1 }, change: { pageviews: 1 } },
        { pageviews: 2, comparison: { pageviews: 0 }, change: {} },
      ],
    },
    'nothing that both have but pageviews',
  )
})

t.test('stats/locations without a region or city in any row', async (t) => {
  const at = NOW.getTime() - 60_000
  const visit = (id: bigint, country: string | null, more: { region?: string; city?: string } = {}) =>
    eventRow({ visitor_id: id, session_id: id, timestamp: new Date(at), country, ...more })
  const many = Array.from({ length: 3 }, (_, i) => visit(BigInt(i + 1), ['DE', 'FR', null][i] ?? null))
  for (const [events, query, regions, cities, warned, why] of [
    [many, '', 0, 0, ['no_city_data'], 'no row that only says unknown'],
    [[...many, visit(9n, 'US', { region: 'Ohio' })], '', 4, 0, ['no_city_data'], 'regions alone'],
    [[...many, visit(9n, 'US', { region: 'Ohio', city: 'Xenia' })], '&limit=1', 1, 1, [], 'named beyond the limit'],
    [[], '', 0, 0, [], 'without rows there is nothing to warn of'],
  ] as const) {
    const ask = await openReads(t, { events: [...events], agent_events: [] }, NOW)
    const { data, meta } = await ask('locations', `site=1&range=today${query}`)
    const lists = z.object({ regions: z.array(z.unknown()), cities: z.array(z.unknown()) }).parse(data)
    t.same([lists.regions.length, lists.cities.length], [regions, cities], why)
    t.same(
      (meta.warnings ?? []).map(({ code }) => code).filter((code) => code === 'no_city_data'),
      warned,
      why,
    )
  }
})

t.test('stats/devices', async (t) => {
  const ask = await openReads(t, WORLD, NOW)
  const unknown = { ...email, views_per_session: 2, events: 0 }
  const ofBob = { visitors: 1, sessions: 2, pageviews: 2, bounce: 0.5, duration: 30, views_per_session: 1, events: 1 }
  const ofAnn = { visitors: 1, sessions: 1, pageviews: 2, bounce: 0, duration: 600, views_per_session: 2, events: 0 }
  const ofEve = { ...direct, events: 0 }
  const { data, meta } = await ask('devices', DAY)
  t.strictSame(data, {
    browsers: [
      { browser: 'Firefox', ...ofBob },
      { browser: 'Chrome', ...ofAnn },
      unknown,
      { browser: 'Safari', ...ofEve },
    ],
    os: [{ os: 'Windows', ...ofBob }, { os: 'macOS', ...ofAnn }, unknown, { os: 'iOS', ...ofEve }],
    device_types: [
      {
        ...{ device_type: 'desktop', visitors: 2, sessions: 3, pageviews: 4, bounce: 1 / 3, duration: 220 },
        ...{ views_per_session: 4 / 3, events: 1 },
      },
      unknown,
      { device_type: 'mobile', ...ofEve },
    ],
    screen_classes: [
      { screen_class: 'md', ...ofBob },
      { screen_class: 'lg', ...ofAnn },
      unknown,
      { screen_class: 'sm', ...ofEve },
    ],
  })
  t.equal(meta.rows, 15)
  t.match((await ask('devices', `${DAY}${filterQuery({ dimension: 'os', op: 'is', value: 'iOS' })}`)).data, {
    browsers: { length: 1, 0: { browser: 'Safari' } },
    screen_classes: { length: 1 },
  })
})

t.test('breakdown accepts every dimension of people', async (t) => {
  const ask = await openReads(t, WORLD, NOW)
  const { data } = await ask('overview', DAY)
  const { pageviews } = z.object({ pageviews: z.int() }).parse(data)
  t.equal(pageviews, 6, 'six by hand')
  const Rows = z.array(z.object({ value: z.unknown().optional(), pageviews: z.int() }))
  const people = [...DIMENSIONS.filter((d) => d.tables.includes('events')), { name: 'prop:plan', optional: true }]
  for (const { name, optional } of people) {
    const found = Rows.parse((await ask('breakdown', `${DAY}&dimension=${name}`)).data)
    const sum = found.reduce((sum, row) => sum + row.pageviews, 0)
    if (optional) t.ok(found.every((row) => row.value !== undefined) && sum <= pageviews, name)
    else t.equal(sum, pageviews, `${name} adds up`)
    const of = z
      .object({ rows: z.array(z.unknown()) })
      .parse((await ask('performance', `${DAY}&dimension=${name}`)).data)
    t.strictSame(of.rows, [], `nothing was measured by ${name}`)
  }
})
