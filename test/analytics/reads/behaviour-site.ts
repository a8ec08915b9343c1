import type { Test } from 'tap'
import { z } from 'zod'
import { type Meta, type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import type { EventRow } from '../../../src/storage/rows.js'
import { openStore } from '../../fixtures/open-store.js'
import { eventRow } from '../../fixtures/rows.js'

/** A Wednesday. The site is in Berlin, whose clocks went back on Sunday the 25th at 01:00 UTC. */
const NOW = new Date('2026-10-28T12:00:00Z')
export const at = (iso: string) => new Date(iso.length > 12 ? iso : `2026-10-${iso}Z`)
export const hex = (id: number) => id.toString(16).padStart(16, '0')

export const deps = (visitor_salt: 'day' | 'week' | 'month' | 'never'): Omit<ReadDependencies, 'store'> => ({
  now: () => NOW,
  site: async (id) => (id < 3 ? { id, timezone: 'Europe/Berlin', visitor_salt, owns: () => true } : undefined),
  segment: async () => undefined,
  catalog: [],
  assistants: [],
})

export async function asker(t: Test, events: EventRow[], salt: 'day' | 'week' | 'month' | 'never' = 'never') {
  const store = await openStore(t)
  await store.append({ events, agent_events: [] })
  return async (path: string, query: string): Promise<{ data: unknown; meta: Meta }> => {
    const [, name, id] = /^(\w+)(?:\/(.+))?$/.exec(path) ?? []
    const paths = [`/api/stats/${path}`, `/api/stats/${name}/{id}`]
    const read = reads.find((each) => paths.includes(each.path))
    if (!read) throw new Error(path)
    const words: Record<string, string> = id === undefined ? {} : { id }
    const answer = await runRead(read, new URLSearchParams(query), { ...deps(salt), store }, words)
    const parsed = z.strictObject({ data: read.data }).safeParse({ data: answer.data })
    t.ok(parsed.success, `${path}?${query} has the shape it declares ${parsed.error ?? ''}`)
    return answer
  }
}
export const filters = (value: unknown) => `&filters=${encodeURIComponent(JSON.stringify(value))}`
export const is = (dimension: string, value: unknown) => ({ dimension, op: 'is', value })

export type Hit = [at: string, pathname: string, more?: Partial<EventRow>]
export const session = (visitor: number, id: number, common: Partial<EventRow>, ...hits: Hit[]): EventRow[] =>
  hits.map(([time, pathname, more]) =>
    eventRow({
      ...{ visitor_id: BigInt(visitor), session_id: BigInt(id), session_start: at(hits[0]?.[0] ?? '') },
      ...{ entry_page: hits[0]?.[1] ?? null, ...common, timestamp: at(time), pathname, ...more },
    }),
  )
export const custom = (event_name: string, props: string | null = null) => ({ kind: 'custom', event_name, props })

const ann = { channel: 'Organic Search', source: 'Google', country: 'DE', browser: 'Firefox', os: 'Linux' }
export const WORLD: EventRow[] = [
  // A visitor long before the window.
  ...session(6, 70, {}, ['2026-06-01T10:00:00Z', '/']),
  ...session(4, 50, {}, ['23T21:50:00', '/'], ['23T22:05:00', '/pricing']),
  ...session(
    ...([1, 10, { ...ann, device_type: 'desktop', utm_campaign: 'issue-2' }] as const),
    ['24T08:00:00', '/', { country: null }],
    ['24T08:01:00', '/docs', { country: 'AT', screen_class: 'xl', language: 'de' }],
    ['24T08:02:00', '/docs'],
    ['24T08:03:00', '/'],
    ['24T08:04:00', '/pricing', { identified_id: 'ann', traits: '{"plan":"free","seats":1}' }],
    ['24T08:10:00', '/pricing', { kind: 'engagement', engaged_ms: 30_000, scroll: 70 }],
  ),
  // Over midnight in Berlin.
  ...session(2, 20, { country: 'US' }, ['24T21:50:00', '/'], ['24T22:10:00', '/docs']),
  // In the hour that the clocks show twice, and only an event.
  ...session(3, 40, {}, ['25T00:30:00', '/', custom('ping')]),
  ...session(6, 71, {}, ['25T10:00:00', '/pricing']),
  ...session(2, 30, { country: 'US' }, ['26T09:00:00', '/docs'], ['26T09:00:30', '/docs', custom('signup', '{"n":1}')]),
  // Ann under another visitor id, with a hit after the window.
  ...session(
    ...([5, 60, { country: 'FR', browser: 'Safari' }] as const),
    ['26T22:50:00', '/', { identified_id: 'ann', traits: '{"plan":"pro"}' }],
    ['26T23:20:00', '/docs'],
  ),
  // Another site's sessions, with every id that the first site has.
  ...session(1, 10, { site_id: 2, hostname: 'two.example' }, ['24T09:00:00', '/secret', { identified_id: 'ann' }]),
  ...session(2, 99, { site_id: 2, hostname: 'two.example' }, ['24T09:00:00', '/secret']),
]
/** Saturday, the long Sunday and Monday in Berlin. */
export const THREE = 'site=1&start=2026-10-23T22:00:00Z&end=2026-10-26T23:00:00Z'

const plain = { channel: 'Direct' }
export const SESSIONS = {
  60: {
    ...{
      id: hex(60),
      visitor_id: hex(5),
      started_at: '2026-10-26T22:50:00.000Z',
      ended_at: '2026-10-26T23:20:00.000Z',
    },
    ...{ duration: 1800, pageviews: 2, events: 0, entry_page: '/', exit_page: '/docs', ...plain },
    ...{ country: 'FR', browser: 'Safari', identified_id: 'ann' },
  },
  30: {
    ...{
      id: hex(30),
      visitor_id: hex(2),
      started_at: '2026-10-26T09:00:00.000Z',
      ended_at: '2026-10-26T09:00:30.000Z',
    },
    ...{ duration: 30, pageviews: 1, events: 1, entry_page: '/docs', exit_page: '/docs', ...plain, country: 'US' },
  },
  71: {
    ...{
      id: hex(71),
      visitor_id: hex(6),
      started_at: '2026-10-25T10:00:00.000Z',
      ended_at: '2026-10-25T10:00:00.000Z',
    },
    ...{ duration: 0, pageviews: 1, events: 0, entry_page: '/pricing', exit_page: '/pricing', ...plain },
  },
  40: {
    ...{
      id: hex(40),
      visitor_id: hex(3),
      started_at: '2026-10-25T00:30:00.000Z',
      ended_at: '2026-10-25T00:30:00.000Z',
    },
    ...{ duration: 0, pageviews: 0, events: 1, entry_page: '/', exit_page: '/', ...plain },
  },
  20: {
    ...{
      id: hex(20),
      visitor_id: hex(2),
      started_at: '2026-10-24T21:50:00.000Z',
      ended_at: '2026-10-24T22:10:00.000Z',
    },
    ...{ duration: 1200, pageviews: 2, events: 0, entry_page: '/', exit_page: '/docs', ...plain, country: 'US' },
  },
  10: {
    ...{
      id: hex(10),
      visitor_id: hex(1),
      started_at: '2026-10-24T08:00:00.000Z',
      ended_at: '2026-10-24T08:10:00.000Z',
    },
    ...{ duration: 600, pageviews: 5, events: 0, entry_page: '/', exit_page: '/pricing', channel: 'Organic Search' },
    ...{
      source: 'Google',
      utm_campaign: 'issue-2',
      country: 'AT',
      browser: 'Firefox',
      os: 'Linux',
      device_type: 'desktop',
      screen_class: 'xl',
      language: 'de',
      identified_id: 'ann',
    },
  },
}
export type Id = keyof typeof SESSIONS
export const all: readonly Id[] = [60, 30, 71, 40, 20, 10]
