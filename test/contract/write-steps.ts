import { COLUMN_TYPES, VITAL_COLUMNS } from '../../src/storage/columns.js'
import type { EventStore, Placement, Removal, StoredChanges } from '../../src/storage/event-store.js'
import { PAGE_EDITION_TYPES, type PageEdition, type PageEditionChanges } from '../../src/storage/page-samples.js'
import type { Addition, Arrival, EventRow, Rows } from '../../src/storage/rows.js'
import { raw, sql } from '../../src/storage/sql.js'
import { agentRow, editionRow, eventRow } from '../fixtures/rows.js'

/** One thing that the worker has a store do; each may be repeated. */
export interface WriteStep {
  readonly name: string
  run(store: EventStore): Promise<unknown>
  /** A commit is repeated after an error without a question; after a crash, `run` asks whether it is stored. */
  readonly commit?: {
    retry(store: EventStore): Promise<unknown>
    /** As a writer does it that does not know how far the others are. */
    append(store: EventStore): Promise<unknown>
  }
}

const RUN = '00000000000000aa'
let sequences = 0

function commit(name: string, rows: Partial<Rows>, changes: StoredChanges = {}): WriteStep {
  const sequence = ++sequences
  const append = (store: EventStore, n: number) =>
    store.append(
      { events: [], agent_events: [], ...rows },
      { run: RUN, sequence: n, human: 0, agent: 0, drops: {} },
      changes,
    )
  return {
    name,
    async run(store) {
      if (((await store.lastCommit(RUN))?.sequence ?? 0) < sequence) await append(store, sequence)
    },
    commit: {
      retry: (store) => append(store, sequence),
      append: (store) => append(store, sequence + 1_000),
    },
  }
}

const remove = (name: string, removal: Removal): WriteStep => ({
  name,
  async run(store) {
    while ((await store.remove(removal)).more);
  },
})

/** A Saturday at the end of a month, so that some of what moves, moves to another part of the store. */
const at = (time: string) => new Date(`2026-10-31T${time}Z`)
const nextDay = (time: string) => new Date(`2026-11-01T${time}Z`)
const ARRIVAL: Arrival = {
  ...{ entry_page: '/first', referrer: 'https://x.example/', source: 'x.example', channel: 'Referral' },
  ...{ utm_source: 's', utm_medium: null, utm_campaign: 'it\'s "c"', utm_content: '\ud83d', utm_term: 'a\0b' },
}
const view = (session: bigint, start: string, time: string, given: Partial<EventRow> = {}) =>
  eventRow({ session_id: session, session_start: at(start), timestamp: at(time), ...given })
const report = (given: Partial<EventRow>) =>
  eventRow({ kind: 'engagement', recorded_by: 'browser', status: null, duration_ms: null, ...given })

const SAME: Partial<EventRow> = { visitor_id: 2n, pathname: '/same', os: null }
const same = (duration_ms: number) => view(20n, '12:00:00', '12:00:00.001', { ...SAME, duration_ms })
const half = (given: Partial<Addition>): Addition => ({
  to: { site_id: 1, visitor_id: 2n, timestamp: at('12:00:00.001'), hostname: 'example.com', pathname: '/same' },
  ...{ screen_class: null, language: null, timezone: null, identified_id: null, props: null, traits: null },
  ...{ vitals: null, status: null, duration_ms: null, ...given },
})

const looseKey: Placement['key'] = {
  ...{ site_id: 1, visitor_id: 6n, kind: 'engagement', hostname: 'example.com', pathname: '/loose' },
  ...{ reported_at: nextDay('00:10:00'), engaged_ms: 5_000 },
}
const asideKey: Placement['key'] = { ...looseKey, visitor_id: 60n, pathname: '/aside', engaged_ms: 0 }
const session = (id: bigint, start: string) => ({ session_id: id, session_start: at(start) })
const place = (id: bigint, timestamp: Date, given: Partial<Placement['to']> = {}): Placement['to'] => ({
  ...{ ...session(id, '23:30:00'), arrival: ARRIVAL, timestamp, visitor_id: 60n, pathname: '/aside' },
  ...{ reported_at: asideKey.reported_at, ...given },
})

/** The person has visitor ids 8 and 9 (one session under both), and was called Ann on the device of 10, who is Bob. */
const PEOPLE = [
  view(80n, '14:00:00', '14:00:00', { visitor_id: 8n, identified_id: 'ann', pathname: '/secret-of-ann' }),
  view(81n, '15:00:00', '15:00:00', { visitor_id: 8n, pathname: '/secret-of-ann' }),
  view(81n, '15:00:00', '15:05:00', { visitor_id: 9n, pathname: '/secret-of-ann' }),
  view(82n, '16:00:00', '16:00:00', { visitor_id: 10n, identified_id: 'ann', pathname: '/secret-of-ann' }),
  view(82n, '16:00:00', '16:05:00', { visitor_id: 10n, identified_id: 'bob', pathname: '/of-bob' }),
  view(83n, '14:00:00', '14:00:00', { visitor_id: 8n, site_id: 2, identified_id: 'ann' }),
]
/** On a television, by the name that its system had before. */
const TELEVISIONS = [1, 2, 3].map((n) =>
  view(90n, '17:00:00', `17:00:0${n}`, { visitor_id: 11n, os: 'webos', device_type: n === 3 ? null : 'desktop' }),
)
const fetchAt = (time: string) => ({ timestamp: at(time), ip_hash: 2n ** 63n + 1n })

/** The work of a worker on its store, in an order in which the later steps change what the earlier ones stored. */
const edition = (site_id: number, time: string, given: Partial<PageEdition> = {}) =>
  editionRow({ site_id, first_seen: at(time), ...given })
/** Sites 1, 2, 3 and 5 keep theirs, lose older ones, give theirs to another site, and are removed. */
const EDITIONS: readonly PageEditionChanges[] = [
  { put: [1, 2, 3, 5].map((site) => edition(site, '10:00:00')), remove: [] },
  {
    put: [
      edition(1, '10:00:00', { last_seen: at('10:30:00'), replaced_at: at('11:00:00'), samples: 4, title: "'ü' \\" }),
      edition(1, '11:00:00', { digest: 'next', prior_seen: at('10:30:00'), differing: 1, lang: 'de', first_line: '' }),
      edition(1, '12:00:00', { served_to: 'people', agent_seen: at('12:30:00'), agent_digest: 'x', agent_samples: 2 }),
      edition(2, '23:50:00', { pathname: '/late', varies: true, canonical: 'https://a.example/' }),
    ],
    remove: [],
  },
  { put: [edition(1, '12:00:00', { pathname: '/x' })], remove: [edition(1, '11:00:00')] },
]

export const WRITE_STEPS: readonly WriteStep[] = [
  commit(
    'rows of several sites',
    {
      events: [
        ...[view(11n, '10:00:00', '10:00:00'), view(11n, '10:00:00', '10:10:00', { pathname: '/b' })],
        ...[view(12n, '10:50:00', '10:50:00', { entry_page: '/x' }), view(12n, '10:50:00', '11:00:00')],
        ...[1, 2].map((site_id) => view(13n, '23:50:00', '23:50:00', { site_id, visitor_id: 5n })),
        ...[1, 2].map((site_id) => eventRow({ ...session(13n, '23:50:00'), site_id, timestamp: nextDay('00:05:00') })),
        ...[same(1), same(2), same(3)],
        view(30n, '12:00:00', '12:00:00', {
          ...{ visitor_id: 3n, recorded_by: 'browser', status: null, duration_ms: null, screen_class: 'large' },
        }),
        ...[3, 5].flatMap((site_id) => [
          view(50n, '11:00:00', '11:00:00', { site_id, visitor_id: 2n ** 64n - 1n }),
          view(50n, '11:00:00', '11:10:00', { site_id, vitals: { lcp: 1.5, cls: 0, inp: null, fcp: null, ttfb: 2 } }),
        ]),
        ...PEOPLE,
        ...TELEVISIONS,
      ],
      agent_events: [
        agentRow(fetchAt('09:00:00')),
        agentRow({ ...fetchAt('09:00:00'), pathname: '/again' }),
        agentRow({ ...fetchAt('09:00:00'), site_id: 2 }),
        agentRow({ ...fetchAt('09:00:01'), verification: 'spoofed', verified: false, hostname: 'other.example' }),
        agentRow({ ...fetchAt('09:00:02'), robots_allowed: false, robots_rule: '/', robots_line: 3 }),
        ...[3, 5].map((site_id) => agentRow({ ...fetchAt('09:00:03'), site_id, user_agent: 'Signed/1' })),
      ],
    },
    {
      deliveries: [1, 3, 5].map((site_id) => ({
        ...{
          site_id,
          signature: site_id === 1 ? null : 'x',
          sender: 'a',
          number: 2 ** 40,
          accepted_at: +at('09:00:00'),
        },
      })),
      loose: [
        ...[1, 2].map(() => report({ ...looseKey, timestamp: looseKey.reported_at, props: '{"a":1}' })),
        report({ ...looseKey, site_id: 3, timestamp: at('12:00:00'), session_id: 7n }),
        report({ ...looseKey, site_id: 5, timestamp: at('12:00:00') }),
      ],
    },
  ),
  commit(
    'a late hit joins two sessions, of one site',
    { events: [view(11n, '10:00:00', '10:30:00', ARRIVAL)] },
    {
      moves: [
        {
          ...{ site_id: 1, session_ids: [12n, 999n], first: at('10:50:00'), last: at('11:00:00') },
          to: { ...session(11n, '10:00:00'), arrival: ARRIVAL },
        },
        {
          ...{ site_id: 2, session_ids: [13n], first: at('23:50:00'), last: nextDay('00:05:00') },
          to: { ...session(14n, '23:40:00'), arrival: ARRIVAL },
        },
      ],
    },
  ),
  commit(
    'two of three equal views get their halves, and the fourth is of the commit itself',
    { events: [same(4)] },
    {
      additions: [
        half({ screen_class: 'a', language: 'de', vitals: { lcp: 1, cls: 0.25, inp: null, fcp: null, ttfb: null } }),
        half({ screen_class: 'b', identified_id: 'half \ud83d' }),
        half({
          to: { site_id: 1, visitor_id: 3n, timestamp: at('12:00:00'), hostname: 'example.com', pathname: '/' },
          ...{ status: 201, duration_ms: 7 },
        }),
        half({ to: { ...half({}).to, visitor_id: 77n }, screen_class: 'of no view' }),
      ],
    },
  ),
  commit('the third view gets its half', {}, { additions: [half({ screen_class: 'c', props: '{"b":"x"}' })] }),
  commit(
    'loose reports get a session, and one in a session is stored aside',
    {
      events: [
        report({
          ...{ ...session(60n, '23:30:00'), visitor_id: 60n, pathname: '/aside' },
          ...{ timestamp: at('23:59:00'), reported_at: asideKey.reported_at },
        }),
      ],
    },
    {
      placements: [
        {
          ...{ key: looseKey, from: undefined },
          to: place(61n, at('23:55:00'), { visitor_id: 66n, pathname: '/named', reported_at: null }),
        },
      ],
    },
  ),
  ...(
    [
      ['a report moves to another session and month', place(62n, nextDay('00:00:30'))],
      ['and back', place(60n, at('23:59:00'))],
      ['to another session at the same time', place(63n, at('23:59:00'))],
      ['for good, as another visitor', place(63n, at('23:59:30'), { visitor_id: 61n, reported_at: null })],
    ] as const
  ).map(([name, to]) => commit(name, {}, { placements: [{ key: asideKey, from: session(60n, '23:30:00'), to }] })),
  {
    name: 'late verdicts',
    run: (store) =>
      store.updateVerdicts(
        // More than a URL can have.
        [fetchAt('09:00:00'), fetchAt('09:00:01'), ...Array(500).fill(fetchAt('08:00:00'))].map((fetch) => ({
          ...{ ...fetch, site_id: 1, agent_id: 'gptbot', verified: true, verification: 'web_bot_auth' },
          ...{ proof: 'https://keys.example/directory', proof_at: at('07:00:00') },
        })),
      ),
  },
  {
    name: 'late judgements',
    run: (store) =>
      store.judgeFetches(
        { hostnames: ['example.com', "it's"], since: at('09:00:00'), until: at('10:00:00'), limit: 10 },
        async (fetches) =>
          fetches.map(({ pathname, timestamp }) => ({
            ...{ robots_allowed: timestamp > at('09:00:02') ? null : pathname === '/again', robots_rule: '/r' },
            ...{ robots_line: 1, robots_grace: false, llms_listed: timestamp > at('09:00:02') ? null : 1 },
          })),
      ),
  },
  {
    name: 'fetches are classified again',
    async run(store) {
      const describe: Parameters<EventStore['reclassify']>[1] = async (groups) =>
        groups.flatMap(({ user_agent, agent_id, signed }) => [
          {
            ...{ user_agent, agent_id, signed, to: user_agent === 'Signed/1' ? agent_id : 'newbot' },
            ...{ operator: 'New', purpose: 'search', verification: 'unverifiable' },
          },
        ])
      while ((await store.reclassify('newer', describe)).remaining > 0);
    },
  },
  {
    name: 'devices get their present names',
    async run(store) {
      for (const device_type of ['desktop', null])
        await store.renameDevice({ os: 'webos', device_type }, { os: 'webOS', device_type: 'tv' })
    },
  },
  ...(
    [
      ['one.example', ['/a', '/b']],
      ['two.example', ['/a']],
      ['one.example', ['/b', '/c']],
    ] as const
  ).map(([hostname, paths], n) => ({
    name: `a sitemap of ${hostname} is read`,
    run: (store: EventStore) =>
      store.replaceSitemap(
        hostname,
        paths.map((pathname) => ({ pathname, lastmod: n === 1 ? null : at(`0${n}:00:00`) })),
      ),
  })),
  ...EDITIONS.map((changes, n) => ({
    name: `editions of pages are written, time ${n}`,
    run: (store: EventStore) => store.writePageEditions(changes),
  })),
  {
    name: 'rows become those of another site',
    async run(store) {
      while ((await store.assign({ from: 3, to: 4 })).more);
    },
  },
  remove('a person is erased', { site: 1, key: 'one', visitor: 9n }),
  remove('sessions that began before a moment are removed', { site: 2, before: at('23:45:00') }),
  remove('a site is removed', { site: 5, key: 'two', hostnames: ['two.example'] }),
  { name: 'the removals are forgotten', run: (store) => store.forgetRemovals() },
  commit('rows after all of this', { events: [view(8n, '14:00:00', '14:00:00', { visitor_id: 8n })] }),
]

const rowColumns = (table: 'events' | 'agent_events') =>
  Object.keys(COLUMN_TYPES[table]).flatMap((name) => (name === 'vitals' ? VITAL_COLUMNS : [name]))
const TABLES = {
  events: rowColumns('events'),
  loose_reports: rowColumns('events'),
  agent_events: rowColumns('agent_events'),
  deliveries: ['site_id', 'signature', 'sender', 'number', 'accepted_at'],
  sitemap_urls: ['hostname', 'pathname', 'lastmod'],
  page_samples: Object.keys(PAGE_EDITION_TYPES),
}

/** All rows of a store, each as text with its table, in order. */
export async function readAll(store: Pick<EventStore, 'query'>): Promise<string[]> {
  const tables = Object.entries(TABLES).map(async ([table, columns]) => {
    const rows = await store.query(sql`select ${raw(columns.join(', '))} from ${raw(table)}`)
    return rows.map((row) => `${table} ${JSON.stringify(columns.map((name) => row[name]))}`)
  })
  return (await Promise.all(tables)).flat().sort()
}

/** The rows that only one of the lists has, so that a difference is short. */
export function compareRows(found: readonly string[], expected: readonly string[]): Record<string, string[]> {
  const without = (rows: readonly string[], others: readonly string[]) => {
    const left = [...others]
    return rows.filter((row) => {
      const place = left.indexOf(row)
      if (place >= 0) left.splice(place, 1)
      return place < 0
    })
  }
  return { missing: without(expected, found), unexpected: without(found, expected) }
}
